package kubernetes

import (
	"fmt"
	"strings"
)

// Limits for a manifest, in bytes except for maxDocuments. The largest object that an API
// server stores has 1.5 MiB.
const (
	maxText      = 32 << 20
	maxDocument  = 4 << 20
	maxDocuments = 5000
	// maxGrown bounds all documents with their aliases expanded.
	maxGrown = 4 * maxText
	// maxNested bounds how deeply a document may be nested.
	maxNested = 200
)

// document is one document of a stream.
type document struct {
	// number and line count from 1; line is the first line of text.
	number, line int
	text         string
}

// place returns the position of a document, with the line of its first content.
func (d document) place() string {
	line := d.line
	for text := range strings.Lines(d.text) {
		if !isBlank([]string{text}) {
			break
		}
		line++
	}
	return fmt.Sprintf("document %d (line %d)", d.number, line)
}

// split returns the documents of a stream that contain more than comments. A line that starts
// with --- always separates two documents: in no YAML text could it mean anything else.
func split(text string) ([]document, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the manifest has %d MiB, more than %d are not read; divide it into several components",
			len(text)>>20, maxText>>20)
	}
	var (
		found []document
		begun = 1
		lines []string
	)
	end := func(next int) {
		if body := strings.Join(lines, "\n"); !isBlank(lines) {
			found = append(found, document{number: len(found) + 1, line: begun, text: body})
		}
		begun, lines = next, nil
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if rest, ok := strings.CutPrefix(line, "---"); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			end(i + 1)
			line = strings.TrimLeft(rest, " \t") // a document may start on this line
		} else if line == "..." {
			end(i + 1)
			line = ""
		}
		lines = append(lines, line)
	}
	end(0)
	if len(found) > maxDocuments {
		return nil, fmt.Errorf("the manifest has %d documents, more than %d are not read; divide it into several components",
			len(found), maxDocuments)
	}
	for _, d := range found {
		if len(d.text) > maxDocument {
			return nil, fmt.Errorf("%s has %d MiB, and no API server stores so large an object; make it smaller",
				d.place(), len(d.text)>>20)
		}
	}
	return found, nil
}

// isBlank reports whether lines contain only comments and directives.
func isBlank(lines []string) bool {
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
