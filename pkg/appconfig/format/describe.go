package format

import (
	_ "embed"
	"strings"
	"sync"
)

// descriptions.txt holds the comments of the types and fields of this package: a line for each, with a tab between its name and its
// text. `make generate` writes it (package generate); a test says when it is stale.
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

// describe is the comment of a type, or of a field as Type.Field, in one line; empty, if it has none.
func describe(name string) string { return comments()[name] }
