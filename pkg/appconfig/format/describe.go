package format

import (
	_ "embed"
	"strings"
	"sync"
)

// descriptions.txt has the comments of the types and fields of this package: one line each, with a tab
// between the name and the text. `make generate` writes it (package generate); a test fails when it
// is out of date.
//
//go:embed descriptions.txt
var commentLines string

var comments = sync.OnceValue(func() map[string]string {
	all := make(map[string]string, strings.Count(commentLines, "\n"))
	for line := range strings.Lines(commentLines) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all[name] = text
	}
	return all
})

// describe returns the comment of a type, or of a field as Type.Field, on one line, or an empty
// string if it has none.
func describe(name string) string { return comments()[name] }
