package tree

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// The formats of documents that Embedded finds, as in Path.Into.
const (
	FormatJSON   = "json"
	FormatYAML   = "yaml"
	FormatBase64 = "base64"
)

// Limits of the strings that are parsed, in bytes. Parsing YAML costs much
// more than comparing lines, and a person reads neither at that size.
const (
	maxJSON   = 1 << 20
	maxYAML   = 256 << 10
	maxBase64 = 1 << 20
	// minBase64 keeps ordinary words, which are also valid base64, from being decoded.
	minBase64 = 16
)

// Embedded parses the documents inside two different strings: a JSON object or list, a
// YAML mapping or list of more than one line, or base64 of readable text (b and a are then
// the decoded strings, which may hold documents in turn). Both must have the same format.
// One of the strings may be empty: its value is then null, or an empty string for base64.
//
// It returns not ok if a comparison of the two values would miss something: if the
// values are equal, so that only the spelling differs; if YAML comments differ, or
// quotes around a text that some reader takes for a number or a boolean; if a key
// occurs twice; and for a document that is too large, too deep or too complex
// (aliases that multiply, tags). The caller then compares the texts themselves.
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

// Respelled reports whether two different strings hold equal documents, so
// that only white space, the order of keys or the like differs.
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

// document is the parsed content of a string.
type document struct {
	value raw.Value
	// comments are those of YAML, sorted, so that moving a key makes no difference.
	comments string
	spelling spelling
}

// comparable reports whether the values of two documents show every difference between them.
func (d document) comparable(after document) bool {
	return d.comments == after.comments && !d.spelling.requotes(after.spelling)
}

// text replaces the null value of an empty string with an empty text, for base64.
func (d document) text() document {
	if d.value.IsNull() {
		d.value = raw.Of("")
	}
	return d
}

// side parses one of the two strings. An empty one is valid in every format.
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

// readBase64 decodes the standard alphabet, including base64 wrapped over lines.
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

// readable reports whether data is plain text: UTF-8 with only printable
// characters and white space.
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
