package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// EncodeJSON returns data as JSON with a newline at the end. It escapes all characters in strings that are not
// printable, so that they cannot control a terminal; the values stay the same. An empty indent gives one line.
func EncodeJSON(data any, indent string) ([]byte, error) {
	document, err := encodeJSON(data, indent)
	return escape(document, func(r rune) string {
		text := ""
		for _, unit := range utf16.Encode([]rune{r}) {
			text += yamlEscape(rune(unit))
		}
		return text
	}), err
}

func encodeJSON(data any, indent string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	err := e.Encode(data)
	return out.Bytes(), err
}

// EncodeYAML returns data as YAML. Like [EncodeJSON], it escapes what is not printable and keeps the values.
func EncodeYAML(data any) ([]byte, error) {
	plain, err := toYAML(data)
	if err != nil || !bytes.ContainsFunc(plain, isHidden) {
		return plain, err
	}
	// The encoder does not escape all of these characters. Escapes need double quotes.
	var document yamlnode.Node
	if err := yamlnode.Unmarshal(plain, &document); err != nil {
		return nil, err
	}
	quoteHidden(&document)
	var out bytes.Buffer
	e := yamlnode.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&document); err != nil {
		return nil, err
	}
	return escape(out.Bytes(), yamlEscape), nil
}

// toYAML converts data to JSON and that to YAML. In between it replaces what a YAML parser does not accept: pairs of
// escapes for one character, and some control characters.
func toYAML(data any) ([]byte, error) {
	document, err := encodeJSON(data, "")
	if err != nil {
		return nil, err
	}
	var decoded any
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	if err := d.Decode(&decoded); err != nil {
		return nil, err
	}
	if document, err = encodeJSON(decoded, ""); err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(escape(document, yamlEscape))
}

// yamlEscape returns a character as it is escaped in YAML and, up to U+FFFF, in JSON.
func yamlEscape(r rune) string {
	if r > 0xFFFF {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// quoteHidden puts double quotes around the keys and values that contain characters that are not printable.
func quoteHidden(n *yamlnode.Node) {
	if n.Kind == yamlnode.ScalarNode && strings.ContainsFunc(n.Value, isHidden) {
		n.Style = yamlnode.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		quoteHidden(child)
	}
}

// isHidden reports whether a character is neither printable nor a newline or tab.
func isHidden(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }

// escape replaces the hidden characters of an encoded document.
func escape(document []byte, as func(rune) string) []byte {
	if !bytes.ContainsFunc(document, isHidden) {
		return document
	}
	out := make([]byte, 0, len(document)+64)
	for _, r := range string(document) {
		if isHidden(r) {
			out = append(out, as(r)...)
			continue
		}
		out = append(out, string(r)...)
	}
	return out
}
