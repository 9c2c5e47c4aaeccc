package tree

import (
	"encoding/json"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// maxNodes bounds the number of nodes in a YAML document after its aliases are expanded.
const maxNodes = 100_000

// readYAMLText parses one YAML document. It rejects a document with anything
// that JSON cannot express, so that nothing is lost.
func readYAMLText(text string) (document, bool) {
	if len(text) > maxYAML || !looksLikeYAML(text) {
		return document{}, false
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	var root, more yaml.Node
	if dec.Decode(&root) != nil || root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return document{}, false
	}
	if kind := root.Content[0].Kind; kind != yaml.MappingNode && kind != yaml.SequenceNode || dec.Decode(&more) == nil {
		return document{}, false
	}
	r := yamlReader{left: maxNodes}
	r.comment(&root)
	v, ok := r.value(root.Content[0], MaxDepth)
	if !ok {
		return document{}, false
	}
	sort.Strings(r.comments)
	return document{value: raw.Of(v), comments: strings.Join(r.comments, "\n"), spelling: r.spelling}, true
}

// looksLikeYAML is a cheap check for more than one line, and a first line
// that starts a list or a mapping and is neither empty nor prose.
func looksLikeYAML(text string) bool {
	if !strings.Contains(strings.TrimRight(text, "\r\n"), "\n") || strings.HasPrefix(text, "#!") {
		return false
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '%' || line == "---" {
			continue
		}
		return line == "-" || strings.HasPrefix(line, "- ") || strings.HasSuffix(line, ":") || strings.Contains(line, ": ")
	}
	return false
}

type yamlReader struct {
	left     int
	comments []string
	spelling spelling
}

func (r *yamlReader) comment(n *yaml.Node) {
	for _, c := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		if c != "" {
			r.comments = append(r.comments, c)
		}
	}
}

func (r *yamlReader) value(n *yaml.Node, depth int) (any, bool) {
	if r.left--; r.left < 0 || depth < 0 {
		return nil, false
	}
	r.comment(n)
	switch n.Kind {
	case yaml.ScalarNode:
		v, ok := scalar(n)
		if text, isText := v.(string); isText {
			r.spelling.note(n, text)
		}
		return v, ok
	case yaml.AliasNode:
		return r.value(n.Alias, depth-1)
	case yaml.SequenceNode:
		return r.list(n, depth-1)
	case yaml.MappingNode:
		return r.object(n, depth-1)
	}
	return nil, false
}

func (r *yamlReader) list(n *yaml.Node, depth int) (any, bool) {
	if n.ShortTag() != "!!seq" {
		return nil, false
	}
	out := make([]any, 0, len(n.Content))
	for _, e := range n.Content {
		v, ok := r.value(e, depth)
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// object reads a mapping. A merge key stays a key like any other: what it merges is shown below it.
func (r *yamlReader) object(n *yaml.Node, depth int) (any, bool) {
	if n.ShortTag() != "!!map" {
		return nil, false
	}
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		r.comment(key)
		v, ok := r.value(n.Content[i+1], depth)
		if _, twice := out[key.Value]; !ok || twice || key.Kind != yaml.ScalarNode {
			return nil, false
		}
		out[key.Value] = v
	}
	return out, true
}

// scalar returns the value of a plain or quoted scalar. A number that JSON
// cannot express stays text.
func scalar(n *yaml.Node) (any, bool) {
	switch n.ShortTag() {
	case "!!null":
		return nil, true
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), true
	case "!!int", "!!float":
		if number(n.Value) {
			return json.Number(n.Value), true
		}
		return n.Value, true
	case "!!str", "!!timestamp":
		return n.Value, true
	}
	return nil, false
}

func number(text string) bool {
	v := jsontext.Value(text)
	return v.Kind() == '0' && strings.TrimSpace(text) == text && v.IsValid()
}
