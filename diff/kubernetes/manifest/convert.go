package manifest

import (
	"encoding/base64"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// converter converts YAML nodes to plain values like the clients of the
// Kubernetes API, which read YAML 1.1.
type converter struct {
	text text
	// oldWord is called with the place of each plain word that is a boolean
	// only in YAML 1.1; it may be nil.
	oldWord func(at place)
	// repeated is called with the place of each repeated key of a mapping; it
	// may be nil. The last one counts, as for kubectl and Helm.
	repeated func(at place)

	// count is the number of values so far, in which each alias counts as its
	// whole value, and limit the largest number allowed.
	count, limit int
	// anchors holds the values of aliases; an entry is nil while it is being built.
	anchors map[*yaml.Node]*anchored
}

// anchored is a value that aliases refer to. They share it: it is never changed.
type anchored struct {
	value         raw.Value
	count, height int
}

// value returns the value of a node, and its number of levels.
func (c *converter) value(n *yaml.Node, depth int) (v raw.Value, height int, err error) {
	if depth > maxDepth {
		return v, 0, c.errorAt(n, "nested more than 500 levels deep; flatten it")
	}
	c.count++
	switch n.Kind {
	case yaml.ScalarNode:
		v, err = c.scalar(n)
		return v, 1, err
	case yaml.SequenceNode:
		return c.sequence(n, depth)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.AliasNode:
		return c.alias(n, depth)
	}
	return v, 0, c.errorAt(n, "this is no YAML value; write it in a simpler way")
}

func (c *converter) sequence(n *yaml.Node, depth int) (raw.Value, int, error) {
	list, height := make([]raw.Value, len(n.Content)), 0
	for i, e := range n.Content {
		v, h, err := c.value(e, depth+1)
		if err != nil {
			return v, 0, err
		}
		list[i], height = v, max(height, h)
	}
	return raw.OfList(list), height + 1, nil
}

func (c *converter) mapping(n *yaml.Node, depth int) (raw.Value, int, error) {
	m, height := make(map[string]raw.Value, len(n.Content)/2), 0
	var merged map[string]bool // keys that exist only through a merge
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			if merged == nil {
				merged = map[string]bool{}
			}
			h, err := c.merge(value, depth, m, merged)
			if err != nil {
				return raw.Value{}, 0, err
			}
			height = max(height, h)
			continue
		}
		name, err := c.key(key)
		if err != nil {
			return raw.Value{}, 0, err
		}
		if _, twice := m[name]; twice && !merged[name] && c.repeated != nil {
			c.repeated(place{key.Line, key.Column})
		}
		v, h, err := c.value(value, depth+1)
		if err != nil {
			return v, 0, err
		}
		m[name], height = v, max(height, h)
		delete(merged, name)
	}
	return objectOf(m), height + 1, nil
}

func objectOf(m map[string]raw.Value) raw.Value {
	fields := make([]raw.Field, 0, len(m))
	for key, v := range m {
		fields = append(fields, raw.Field{Key: key, Value: v})
	}
	v, _ := raw.OfObject(fields) // the keys of a map are different
	return v
}

// isMerge recognizes the key <<, which merges the entries of another mapping.
func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Style == 0 || key.Tag == "!!merge")
}

// merge adds the entries of one mapping, or of several of which the first has priority. As for
// the API's clients, what is later in the mapping has priority, whether merged or written.
func (c *converter) merge(n *yaml.Node, depth int, into map[string]raw.Value, merged map[string]bool,
) (int, error) {
	from := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		from = n.Content
	}
	height := 0
	for i := len(from) - 1; i >= 0; i-- {
		v, h, err := c.value(from[i], depth)
		if err != nil {
			return 0, err
		}
		if !v.IsObject() || from[i].Kind == yaml.SequenceNode {
			return 0, c.errorAt(n, "'<<' merges a value that is not a mapping; use an alias of a mapping, or a list of aliases")
		}
		for _, f := range v.Fields() {
			if _, there := into[f.Key]; !there {
				merged[f.Key] = true
			}
			into[f.Key] = f.Value
		}
		height = max(height, h-1)
	}
	return height, nil
}

func (c *converter) alias(n *yaml.Node, depth int) (v raw.Value, height int, err error) {
	a, seen := c.anchors[n.Alias]
	switch {
	case n.Alias == nil || seen && a == nil:
		return v, 0, c.errorAt(n, "this alias is inside its own anchor; write the value out")
	case !seen:
		if c.anchors == nil {
			c.anchors = map[*yaml.Node]*anchored{}
		}
		c.anchors[n.Alias] = nil
		before := c.count
		if v, height, err = c.value(n.Alias, depth); err != nil {
			return v, 0, err
		}
		a = &anchored{value: v, count: c.count - before, height: height}
		c.anchors[n.Alias] = a
	default:
		c.count += a.count
	}
	if c.count > c.limit {
		return v, 0, c.errorAt(n,
			"the aliases up to here make the document many times larger than it is written; write the values out")
	}
	if depth+a.height-1 > maxDepth {
		return v, 0, c.errorAt(n, "nested more than 500 levels deep; flatten it")
	}
	return a.value, a.height, nil
}

// scalar returns the value of a scalar. Text in quotes and blocks is always a
// string, unless a tag defines another type.
func (c *converter) scalar(n *yaml.Node) (raw.Value, error) {
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		return c.tagged(n)
	case n.Style != 0:
		return raw.OfText(n.Value), nil
	}
	v := plain(n.Value)
	if c.oldWord != nil {
		if _, old := oldBoolean(n.Value); old {
			c.oldWord(place{n.Line, n.Column})
		}
	}
	return v, nil
}

// tagged returns the value of a scalar with a tag. The API's clients ignore unknown tags.
func (c *converter) tagged(n *yaml.Node) (raw.Value, error) {
	v := plain(n.Value)
	var fits bool
	switch n.Tag {
	case "!!int":
		fits = isNumber(v) && isInteger(n.Value)
	case "!!float":
		fits = isNumber(v) || isInfinite(n.Value)
	case "!!bool":
		_, kind := raw.Text(v)
		fits = kind == "bool"
	case "!!null":
		fits = v.IsNull()
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			return v, c.errorAt(n, "the !!binary value is not base64; write it in base64 or leave the tag out")
		}
		return raw.OfText(validText(string(data))), nil
	default:
		return raw.OfText(n.Value), nil
	}
	if !fits {
		return v, c.errorAt(n, "the value does not match its tag; change or remove the tag")
	}
	return v, nil
}

// validText replaces each byte that is not UTF-8, as the API's clients do with binary data.
func validText(s string) string {
	return strings.Map(func(r rune) rune { return r }, s)
}

// key returns the name of a mapping's key in JSON.
func (c *converter) key(n *yaml.Node) (string, error) {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		return "", c.errorAt(n, "a mapping or a list is no key in Kubernetes; use text")
	}
	v, err := c.scalar(n)
	if err != nil {
		return "", err
	}
	if s, ok := raw.String(v); ok && (n.Style != 0 || !isInfinite(s)) {
		return s, nil
	}
	name, ok := keyName(n.Value, v)
	if !ok {
		return "", c.errorAt(n, "null is no key in Kubernetes; put the key into quotes")
	}
	return name, nil
}

func (c *converter) errorAt(n *yaml.Node, words string) error {
	return c.text.errorAt(place{n.Line, n.Column}, words)
}
