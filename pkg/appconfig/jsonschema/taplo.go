package jsonschema

import (
	"fmt"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// FileName returns the name of the schema file of a kind.
func FileName(k format.Kind) string { return k.Name + ".json" }

// TaploRules returns a .taplo.toml that assigns each file of an app the schema of its kind, for
// Taplo and editors that use it. dir is the directory of the schemas, with slashes, relative to
// the .taplo.toml.
//
// No file matches two rules: all components have the schema of the kind component.
func TaploRules(dir string) string {
	var b strings.Builder
	b.WriteString("# Schemas of the app config format for Taplo. Made by `nuon schema`.\n")
	for _, k := range format.Kinds() {
		var globs []string
		for _, path := range k.Paths {
			if kindOfPath(path).Name == k.Name {
				globs = append(globs, fmt.Sprintf("%q", glob(path)))
			}
		}
		if globs != nil {
			fmt.Fprintf(&b, "\n[[rule]]\ninclude = [%s]\n\n[rule.schema]\npath = %q\n", strings.Join(globs, ", "),
				path.Join(dir, FileName(k)))
		}
	}
	return b.String()
}

// kindOfPath returns the kind whose schema applies to a path that several kinds share: the kind component
// over those of one type, and a single declaration over a list.
func kindOfPath(path string) format.Kind {
	var found format.Kind
	for _, k := range format.Kinds() {
		for _, p := range k.Paths {
			if p == path && k.Component == "" {
				found = k
			}
		}
	}
	return found
}

// glob returns a path as a Taplo pattern: below any directory, and with any directories before
// the name.
func glob(path string) string {
	return "**/" + strings.Replace(path, "/*", "/**/*", 1)
}
