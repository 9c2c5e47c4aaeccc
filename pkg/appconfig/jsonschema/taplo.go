package jsonschema

import (
	"fmt"
	"path"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// FileName is what the file with the schema of a kind is called.
func FileName(k format.Kind) string { return k.Name + ".json" }

// TaploRules is a .taplo.toml that gives every file of an app the schema of its kind, for Taplo and editors that are built on it. The
// schemas are in dir, with slashes, as it is seen from the .taplo.toml.
//
// No file matches two rules: all components have the schema of the kind component.
func TaploRules(dir string) string {
	var b strings.Builder
	b.WriteString("# Schemas of the app config format for Taplo. Made by `nuon schema`.\n")
	for _, k := range format.Kinds() {
		var globs []string
		for _, place := range k.Paths {
			if at(place).Name == k.Name {
				globs = append(globs, fmt.Sprintf("%q", glob(place)))
			}
		}
		if globs != nil {
			fmt.Fprintf(&b, "\n[[rule]]\ninclude = [%s]\n\n[rule.schema]\npath = %q\n", strings.Join(globs, ", "), path.Join(dir, FileName(k)))
		}
	}
	return b.String()
}

// at is the kind whose schema files at a place have, where many kinds can be: that of a component of any type, and of one thing alone
// rather than of a list of them.
func at(place string) format.Kind {
	var found format.Kind
	for _, k := range format.Kinds() {
		for _, p := range k.Paths {
			if p == place && k.Component == "" {
				found = k
			}
		}
	}
	return found
}

// glob is a place as Taplo has it: below any directory, and with any directories before the name.
func glob(place string) string {
	return "**/" + strings.Replace(place, "/*", "/**/*", 1)
}
