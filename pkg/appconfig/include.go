package appconfig

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

const (
	// maxIncludes bounds the depth of includes.
	maxIncludes = 8
	// maxIncluded bounds the number of all includes; without it a few files could expand without
	// limit.
	maxIncluded = 500
)

// include merges the files that a document names in source over it, or adds them in inputs. An
// included file is no longer read as a document, wherever it is in the directory.
func (l *loader) include(d *document) {
	if d.table == nil || !mayInclude(*d) {
		return
	}
	merged := l.withIncludes(*d, d.table, []string{d.file})
	if merged != d.table && !l.withinMaxValues(d.file, merged) {
		l.included[d.file] = true // so that it is not read further
	}
	d.table = merged
}

// mayInclude reports whether documents of a section can include others: section 2.3 of the format.
func mayInclude(d document) bool {
	switch d.section {
	case "components", "sandbox", "runner", "installer":
		return true
	}
	return d.section == "inputs" && !d.single
}

// withIncludes returns a table merged with the files that it includes. above are the files that are being
// read, the innermost last.
func (l *loader) withIncludes(d document, table *syntax.Table, above []string) *syntax.Table {
	for _, source := range sourcesOf(d, table) {
		name, _ := source.Text()
		file, other := l.includedFile(d, source.At, name, above)
		if other == nil {
			continue
		}
		if l.includes++; l.includes > maxIncluded {
			l.errorf(ruleInclude, source.At, "include less, or split the app",
				"files include others more than %d times", maxIncluded)
			return table
		}
		inner := d
		inner.file = file
		other = l.withIncludes(inner, other, append(slices.Clone(above), file))
		table = mergeTables(d, table, other)
	}
	return table
}

// sourcesOf returns the values that name files to include.
func sourcesOf(d document, table *syntax.Table) []*syntax.Node {
	var sources []*syntax.Node
	if n := table.Get("source"); isText(n) {
		sources = append(sources, n)
	}
	if items, ok := table.Get("sources").Items(); ok && d.section == "inputs" {
		for _, item := range items {
			if isText(item) {
				sources = append(sources, item)
			}
		}
	}
	return sources
}

func isText(n *syntax.Node) bool {
	text, ok := n.Text()
	return ok && text != ""
}

// mergeTables merges an included table over the one that includes it. The source key of the outer file
// stays.
func mergeTables(d document, table, other *syntax.Table) *syntax.Table {
	merged := table.Clone()
	if d.section == "inputs" {
		for _, list := range []string{"group", "input"} {
			// Longer lists are reported as too long.
			if items, _ := merged.Get(list).Items(); len(items) <= maxDeclared {
				merged.Extend(other, list)
			}
		}
		other = other.Without("group").Without("input")
	}
	merged.Overlay(other.Without("source").Without("sources"))
	return merged
}

// includedFile finds and parses the file that an include names.
func (l *loader) includedFile(d document, at syntax.Position, name string, above []string) (string, *syntax.Table) {
	switch {
	case l.full():
		return "", nil
	case isRemote(name):
		l.errorf(ruleInclude, at, "put the file beside the config and write ./name",
			"a file from elsewhere cannot be included")
		return "", nil
	case len(above) > maxIncludes:
		l.errorf(ruleInclude, at, "", "files include each other more than %d levels deep", maxIncludes)
		return "", nil
	}
	tried := candidates(d, name)
	for _, file := range tried {
		if i := slices.Index(above, file); i >= 0 {
			l.errorf(ruleInclude, at, "remove one of them",
				"files include each other in a circle: %s", strings.Join(append(slices.Clone(above[i:]), file), " -> "))
			return "", nil
		}
		if _, err := fs.Stat(l.fsys, file); err == nil {
			l.included[file] = true
			return file, l.parse(file)
		}
	}
	message, hint := l.missingFile(name, tried)
	l.errorf(ruleInclude, at, hint, "%s", message)
	return "", nil
}
