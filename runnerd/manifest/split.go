package manifest

import (
	"fmt"
	"strings"
)

// Bounds of a manifest. The largest that an API server stores is 1.5 MiB an object.
const (
	maxText      = 32 << 20
	maxDocument  = 4 << 20
	maxDocuments = 5000
	// maxGrown is what all documents come to when their aliases are written out.
	maxGrown = 4 * maxText
	// maxNested is how deep a document may be nested.
	maxNested = 200
)

// document is one document of a stream.
type document struct {
	// number and line are counted from 1; the line is that of the first of text.
	number, line int
	text         string
}

// place says where a document is: by the first of its lines that says something.
func (d document) place() string {
	line := d.line
	for text := range strings.Lines(d.text) {
		if !blank([]string{text}) {
			break
		}
		line++
	}
	return fmt.Sprintf("document %d (line %d)", d.number, line)
}

// split finds the documents of a stream that hold more than comments. A line that begins with --- separates two of them wherever it stands:
// YAML has no text in which it could mean something else.
func split(text string) ([]document, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the manifest has %d MiB, more than %d are not read; divide it into several components", len(text)>>20, maxText>>20)
	}
	var (
		found []document
		begun = 1
		lines []string
	)
	end := func(next int) {
		if body := strings.Join(lines, "\n"); !blank(lines) {
			found = append(found, document{number: len(found) + 1, line: begun, text: body})
		}
		begun, lines = next, nil
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if rest, ok := strings.CutPrefix(line, "---"); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			end(i + 1)
			line = strings.TrimLeft(rest, " \t") // a document may begin on this line
		} else if line == "..." {
			end(i + 1)
			line = ""
		}
		lines = append(lines, line)
	}
	end(0)
	if len(found) > maxDocuments {
		return nil, fmt.Errorf("the manifest has %d documents, more than %d are not read; divide it into several components", len(found), maxDocuments)
	}
	for _, d := range found {
		if len(d.text) > maxDocument {
			return nil, fmt.Errorf("%s has %d MiB, and no API server stores so large an object; make it smaller", d.place(), len(d.text)>>20)
		}
	}
	return found, nil
}

// blank says that lines hold nothing but comments and directives.
func blank(lines []string) bool {
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
