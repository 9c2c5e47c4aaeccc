package manifest

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// syntaxError returns an error with the cause, the place and the remedy. It only
// matches the library's text and never shows it, because that may quote the document.
func (t text) syntaxError(err error) error {
	line, message := libraryError(err)
	if at := t.firstBroken(message); at > 0 {
		line = at
	}
	line = max(line, 1)
	return t.errorAt(place{line, t.columnIn(line, message)}, remedy(message))
}

// libraryError splits the library's "yaml: line 3: words". Line 0 means unknown.
func libraryError(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(message, "line "); found {
		if number, words, found := strings.Cut(rest, ": "); found {
			line, _ = strconv.Atoi(number)
			message = words
		}
	}
	return line, message
}

// searchBelow is the size in bytes up to which a broken document is parsed
// repeatedly to find the line that breaks it.
const searchBelow = 256 << 10

// firstBroken finds the line that causes the error: the library often names
// the start of the mapping around it. It is the last line of the shortest
// prefix of the document with the same error. It returns 0 if it finds none.
func (t text) firstBroken(message string) int {
	if len(t.data) > searchBelow || strings.Contains(message, "unexpected end of stream") ||
		strings.Contains(message, "could not find expected ':'") {
		return 0
	}
	low, high := 0, bytes.Count(t.data, []byte{'\n'})+1
	for low+1 < high {
		middle := (low + high) / 2
		if t.broken(middle, message) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// broken reports whether the first lines of a text have the same error as the whole.
func (t text) broken(lines int, message string) bool {
	end := 0
	for range lines {
		end = lineEnd(t.data, end)
	}
	_, found := libraryError(decodeAll(t.data[:end]))
	return found == message
}

var errNothing = errors.New("")

// decodeAll returns the first error in a stream.
func decodeAll(data []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = errNothing
		}
	}()
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var node yaml.Node
		switch err := dec.Decode(&node); {
		case errors.Is(err, io.EOF):
			return errNothing
		case err != nil:
			return err
		}
	}
}

// columnIn returns the most likely column of the error in a line: that of a
// tab or a quote if these cause it, otherwise the first character.
func (t text) columnIn(line int, message string) int {
	start := 0
	for range line - 1 {
		start = lineEnd(t.data, start)
	}
	content := t.data[start:lineEnd(t.data, start)]
	if tab := bytes.IndexByte(content, '\t'); tab >= 0 && aboutTabs(message) {
		return placeAt(content, tab).column
	}
	if quote := bytes.IndexAny(content, `"'`); quote >= 0 && strings.Contains(message, "unexpected end of stream") {
		return placeAt(content, quote).column
	}
	return len(content) - len(bytes.TrimLeft(content, " \t")) + 1
}

func aboutTabs(message string) bool {
	return strings.Contains(message, "tab character") || strings.Contains(message, "cannot start any token")
}

// remedies are the remedies for the library's errors, by a part of their text.
var remedies = []struct{ part, words string }{
	{"cannot start any token",
		"a tab, or a character that is reserved (@ " +
			"`), where a value begins; indent with spaces, or put the text into quotes"},
	{"tab character", "a tab in the indentation; indent with spaces"},
	{"mapping values are not allowed",
		"a ':' where no value can begin; put the text into quotes, or check the indentation"},
	{"could not find expected ':'", "a key without ':'; add it, or indent the line as part of the text above"},
	{"did not find expected key", "this line does not belong to the mapping above; check its indentation"},
	{"did not find expected '-' indicator", "this line does not belong to the list above; check its indentation"},
	{"did not find expected ',' or", "a list or mapping in brackets is not closed here; add a comma or the bracket"},
	{"unexpected end of stream", "the quotes that begin here never end; close them"},
	{"unexpected document indicator", "a document ends inside quotes; close them"},
	{"unknown escape character", "an unknown escape in double quotes; write the backslash twice"},
	{"escape code", "an escape that is no character in double quotes; check its digits"},
	{"hexdecimal number", "an escape without its digits in double quotes; write the backslash twice"},
	{"unknown anchor", "an alias of an anchor that is not in this document above it; anchors end with their document"},
	{"undefined tag handle", "a tag that is not defined in this document; leave the tag out"},
	{"exceeded max depth", "nested too deeply; flatten it"},
	{"document start", "text follows the end of the document; put '---' on a separate line between documents"},
	{"control characters", "a control character; remove it, or escape it in double quotes"},
	{"block sequence entries are not allowed", "a list starts where none is allowed; put it on a separate line"},
	{"node content", "a value is missing here; add it, or put the text into quotes"},
	{"incompatible YAML document", "Kubernetes reads YAML 1.1 only; leave the %YAML directive out"},
}

func remedy(message string) string {
	for _, r := range remedies {
		if strings.Contains(message, r.part) {
			return r.words
		}
	}
	return "this is not valid YAML; check this line"
}
