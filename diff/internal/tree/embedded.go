package tree

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// The formats of documents that Embedded finds, as Path.Into names them.
const (
	FormatJSON   = "json"
	FormatYAML   = "yaml"
	FormatBase64 = "base64"
)

// Bounds of what is looked into, in bytes. Parsing YAML costs much more than comparing lines, and a person reads neither.
const (
	maxJSON   = 1 << 20
	maxYAML   = 256 << 10
	maxBase64 = 1 << 20
	// minBase64 keeps ordinary words, which can also be read as base64, from being decoded.
	minBase64 = 16
)

// Embedded finds the documents that two different strings hold, or that the only one holds when the other one is empty (its value is then
// null, or an empty string for base64): a JSON object or list, a YAML mapping or list of more than one line, or base64 of readable text, where b and a are the decoded
// strings, which may hold documents in their turn. Both must be of one format.
//
// It is not ok when a comparison of the two values would lose something: when they are equal, so that only the spelling differs; when
// comments of YAML differ, or quotes that make a text of what is else a number or a boolean to some reader; when a name comes twice; and for whatever is too large, too deep or too clever (aliases that multiply, tags) to
// be looked into. Then the text itself is what there is to compare.
func Embedded(before, after string) (b, a raw.Value, format string, ok bool) {
	if before == after {
		return
	}
	for _, f := range []struct {
		name string
		read func(string) (document, bool)
	}{{FormatJSON, readJSONText}, {FormatYAML, readYAMLText}, {FormatBase64, readBase64}} {
		was, wasOK := side(before, f.read)
		if !wasOK {
			continue
		}
		is, isOK := side(after, f.read)
		if f.name == FormatBase64 {
			was, is = was.text(), is.text()
		}
		if before == "" && !isOK {
			continue
		}
		if !isOK || before != "" && after != "" && !was.comparable(is) || was.value.Equal(is.value) {
			return
		}
		return was.value, is.value, f.name, true
	}
	return
}

// Respelled says that two different strings hold equal documents, so that only white space, the order of keys or the like differs.
func Respelled(before, after string) bool {
	if before == "" || after == "" || before == after {
		return false
	}
	for _, read := range []func(string) (document, bool){readJSONText, readYAMLText} {
		if was, ok := read(before); ok {
			is, ok := read(after)
			return ok && was.comparable(is) && was.value.Equal(is.value)
		}
	}
	return false
}

// document is what a string holds.
type document struct {
	value raw.Value
	// comments are those of YAML, sorted, so that moving a key does not count.
	comments string
	spelling spelling
}

// comparable says that the values of two documents tell all that differs.
func (d document) comparable(after document) bool {
	return d.comments == after.comments && !d.spelling.requotes(after.spelling)
}

// text makes what base64 holds a string on either side.
func (d document) text() document {
	if d.value.IsNull() {
		d.value = raw.Of("")
	}
	return d
}

// side reads one of the two strings. An empty one holds nothing, in every format.
func side(text string, read func(string) (document, bool)) (document, bool) {
	if text == "" {
		return document{}, true
	}
	return read(text)
}

func readJSONText(text string) (document, bool) {
	start := strings.TrimLeft(text[:min(len(text), 64)], " \t\r\n")
	if len(text) > maxJSON || start == "" || start[0] != '{' && start[0] != '[' {
		return document{}, false
	}
	dec := jsontext.NewDecoder(strings.NewReader(text))
	v, err := ReadJSON(dec, MaxDepth)
	if err != nil || end(dec) != nil {
		return document{}, false
	}
	return document{value: v}, true
}

// readBase64 decodes the standard alphabet, also wrapped over lines.
func readBase64(text string) (document, bool) {
	if len(text) < minBase64 || len(text) > maxBase64 {
		return document{}, false
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || !readable(data) {
		return document{}, false
	}
	return document{value: raw.Of(string(data))}, true
}

// readable says that data is text that people write: UTF-8 of what prints, and white space.
func readable(data []byte) bool {
	if len(data) == 0 || !utf8.Valid(data) {
		return false
	}
	for _, r := range string(data) {
		if !strconv.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}
