package sbom

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// tree holds the files that state packages, by their path. Its operations take time for what they change and for the
// depth of the path, however many other files there are.
type tree struct {
	root branch
	// dropped is called for each file that is removed.
	dropped func(name string, f file)
}

// branch is a directory, or a file, or a file that became a directory.
type branch struct {
	children map[string]*branch
	file     *file
	layer    int // that has the file
	emptied  int // the last layer that removed what those below it have here
}

// split returns the parts of a path.
func split(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}

// line returns the branches from the root to a path; nil if the tree has nothing there.
func (t *tree) line(parts []string) []*branch {
	made := append(make([]*branch, 0, len(parts)+1), &t.root)
	for _, part := range parts {
		next := made[len(made)-1].children[part]
		if next == nil {
			return nil
		}
		made = append(made, next)
	}
	return made
}

// find returns the file with a path; nil if the tree does not have it.
func (t *tree) find(name string) *file {
	line := t.line(split(name))
	if line == nil {
		return nil
	}
	return line[len(line)-1].file
}

// put stores a file of a layer in the place of another one.
func (t *tree) put(name string, layer int, f file) {
	t.removeFile(name)
	at := &t.root
	for _, part := range split(name) {
		next := at.children[part]
		if next == nil {
			if at.children == nil {
				at.children = map[string]*branch{}
			}
			next = &branch{}
			at.children[strings.Clone(part)] = next
		}
		at = next
	}
	at.file, at.layer = &f, layer
}

// remove removes a file, or a directory with all that is in it.
func (t *tree) remove(name string) {
	parts := split(name)
	t.removeIf(parts, t.line(parts), func(*branch) bool { return true })
}

// removeFile removes a file, and nothing below its name.
func (t *tree) removeFile(name string) {
	parts := split(name)
	if line := t.line(parts); line != nil && line[len(line)-1].file != nil {
		t.drop(parts, line)
	}
}

// removeOlder removes what the layers below a layer have at a path and below it.
func (t *tree) removeOlder(name string, layer int) {
	parts := split(name)
	line := t.line(parts)
	if line == nil || line[len(line)-1].emptied == layer { // an archive may say it often
		return
	}
	line[len(line)-1].emptied = layer
	t.removeIf(parts, line, func(b *branch) bool { return b.layer != layer })
}

// removeIf removes the files at the end of a line and below it, of which it is true.
func (t *tree) removeIf(parts []string, line []*branch, is func(*branch) bool) {
	if line == nil {
		return
	}
	var gone [][]string
	line[len(line)-1].each(parts, func(parts []string, b *branch) {
		if is(b) {
			gone = append(gone, slices.Clone(parts))
		}
	})
	for _, parts := range gone {
		t.drop(parts, t.line(parts))
	}
}

// drop removes the file at the end of a line, and the directories that have no other.
func (t *tree) drop(parts []string, line []*branch) {
	last := line[len(line)-1]
	t.dropped(strings.Join(parts, "/"), *last.file)
	last.file = nil
	for n := len(line) - 1; n > 0 && line[n].file == nil && len(line[n].children) == 0; n-- {
		delete(line[n-1].children, parts[n-1])
	}
}

// each calls use for the branch's file and for those below, in the order of their names.
func (b *branch) each(at []string, use func(parts []string, b *branch)) {
	if b.file != nil {
		use(at, b)
	}
	for _, name := range sorted(b.children) {
		b.children[name].each(append(at, name), use)
	}
}

// all returns the files in the order of their paths.
func (t *tree) all() iter.Seq2[string, file] {
	return func(yield func(string, file) bool) {
		ended := false
		t.root.each(nil, func(parts []string, b *branch) {
			ended = ended || !yield(strings.Join(parts, "/"), *b.file)
		})
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
