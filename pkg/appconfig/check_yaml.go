package appconfig

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// maxYAMLBytes bounds the text that is parsed, maxTotalYAMLBytes the total of all texts, and maxDocuments the
// documents of a manifest. Anything larger is left to the deploy.
const (
	maxYAMLBytes      = 1 << 20
	maxTotalYAMLBytes = 16 << 20
	maxDocuments      = 2000
)

// checkValuesYAML checks that a file of Helm values is a table. A file with template expressions is
// only known once it is rendered.
func (c *checker) checkValuesYAML(f *fragment) {
	if !c.isCheckable(f.text) {
		return
	}
	var root yaml.Node
	err := yaml.Unmarshal([]byte(f.text), &root)
	switch {
	case err != nil:
		c.reportYAML(f, err)
	case !isTable(&root):
		c.errorf(ruleYAML, f.position(root.Content[0].Line, root.Content[0].Column, 0), "write key: value",
			"%s: Helm values are a table", f.path)
	}
}

// isTable reports whether a document is a mapping, or empty.
func isTable(root *yaml.Node) bool {
	return len(root.Content) == 0 || root.Content[0].Kind == yaml.MappingNode || root.Content[0].Tag == "!!null"
}

// checkManifestYAML checks the documents of a manifest.
func (c *checker) checkManifestYAML(f *fragment) {
	if !c.isCheckable(f.text) {
		return
	}
	documents := yaml.NewDecoder(strings.NewReader(f.text))
	objects := 0
	for range maxDocuments {
		var root yaml.Node
		err := documents.Decode(&root)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			c.reportYAML(f, err)
			return
		}
		if len(root.Content) == 0 || root.Content[0].Tag == "!!null" {
			continue
		}
		objects++
		c.checkObject(f, root.Content[0])
	}
	if objects == 0 && strings.TrimSpace(f.text) != "" {
		c.warnf(ruleManifest, f.position(1, 1, 0), "", "%s: there is no object in it, so that nothing is deployed", f.path)
	}
}

// checkObject requires the fields that every Kubernetes object has.
func (c *checker) checkObject(f *fragment, object *yaml.Node) {
	at := f.position(object.Line, object.Column, 0)
	if object.Kind != yaml.MappingNode {
		c.errorf(ruleManifest, at, "write apiVersion, kind and metadata",
			"%s: a document of a manifest is an object", f.path)
		return
	}
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(object.Content); i += 2 {
		values[object.Content[i].Value] = object.Content[i+1]
	}
	var missing []string
	for _, key := range []string{"apiVersion", "kind"} {
		if value := values[key]; value == nil || value.Kind != yaml.ScalarNode || value.Value == "" {
			missing = append(missing, key)
		}
	}
	if missing != nil {
		c.errorf(ruleManifest, at, "", "%s: the object has no %s", f.path, strings.Join(missing, " and no "))
	}
}

// isCheckable reports whether to check a text: it has no template expressions and is within the
// limits.
func (c *checker) isCheckable(text string) bool {
	if len(text) > maxYAMLBytes || strings.Contains(text, "{{") && strings.Contains(text, "}}") {
		return false
	}
	c.yaml += len(text)
	return c.yaml <= maxTotalYAMLBytes
}

// yamlLine matches the line number in an error of the YAML parser.
var yamlLine = lazyregexp.New(`line ([0-9]+): (.*)`)

// reportYAML reports an error of the parser, without the text that it quotes.
func (c *checker) reportYAML(f *fragment, err error) {
	line, message := 1, withoutQuotedText(strings.TrimPrefix(err.Error(), "yaml: "))
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		line, _ = strconv.Atoi(found[1])
		message = withoutQuotedText(found[2])
		if strings.HasPrefix(message, "did not find expected") {
			line++ // the parser counts from 0 in errors about blocks
		}
	}
	hint := ""
	if strings.HasPrefix(lineOf(f.text, line), "\t") ||
		strings.HasPrefix(strings.TrimLeft(lineOf(f.text, line), " "), "\t") {
		message, hint = "a tab cannot indent", "write spaces"
	}
	c.errorf(ruleYAML, f.position(line, 1, 0), hint, "%s is not YAML: %s", f.path, message)
}

// lineOf returns one line of a text, counted from 1.
func lineOf(text string, number int) string {
	for line := range strings.Lines(text) {
		if number--; number == 0 {
			return line
		}
	}
	return ""
}

// withoutQuotedText returns the part of a parser error before any quoted text.
func withoutQuotedText(message string) string {
	if end := strings.IndexAny(message, "\n`'\""); end >= 0 {
		message = strings.TrimSpace(message[:end])
	}
	if message == "" {
		return "it does not parse"
	}
	return message
}
