package explain

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// page prints the explanation of a name for people. After an error it prints nothing more.
type page struct {
	console *console.Console
	w       io.Writer
	err     error
}

func (p *page) printf(form string, a ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, form, a...)
	}
}

// prose prints sentences, indented.
func (p *page) prose(text string) {
	const indent = 2
	p.printf("%s\n", p.console.Wrap(strings.Repeat(" ", indent)+text, indent))
}

func (p *page) found(a answer) {
	for _, k := range a.Kinds {
		p.kind(k)
	}
	switch {
	case len(a.Kinds) > 0 && len(a.Keys) > 0:
		p.printf("\nKeys with this name:\n\n")
		p.keys(a.Keys)
	case len(a.Keys) == 1:
		p.key(a.Keys[0])
	case len(a.Keys) > 1:
		p.keys(a.Keys)
	}
}

// kind prints a kind of file: its location and purpose, its keys and an example file.
func (p *page) kind(k kindAnswer) {
	where := strings.Join(k.Paths, ", ")
	if k.Component != "" {
		where += fmt.Sprintf(", type = %q", k.Component)
	}
	p.printf("%s  %s\n\n", k.Name, where)
	p.prose(k.Description)
	if k.NoEffectYet {
		p.prose(noEffect)
	}
	p.printf("\n")
	var rows [][]string
	for _, key := range shown(k) {
		rows = append(rows, []string{key.Path, key.Type.Describe(), requirement(key), brief(key)})
	}
	if p.err == nil && rows != nil {
		p.err = p.console.Table(p.w, []string{"KEY", "TYPE", "REQUIRED", "DESCRIPTION"}, rows)
	}
	p.printf("\n")
	p.code(k.TOML)
}

// noEffect is the note on a kind that has no effect yet.
const noEffect = "No effect yet: such files are accepted and checked, but not used."

// shown returns the keys of a kind with their descendants; for the single-file form
// only its own keys.
func shown(k kindAnswer) []format.Key {
	var all []format.Key
	walk(k.Keys, func(key format.Key) {
		if !key.Unsupported && !key.Removed && (k.Name != singleFile || !strings.Contains(key.Path, ".")) {
			all = append(all, key)
		}
	})
	return all
}

func requirement(k format.Key) string {
	if k.Required {
		return "yes"
	}
	return "-"
}

// brief describes a key for one table cell.
func brief(k format.Key) string {
	switch {
	case k.Unsupported || k.Removed:
		return "Not a key of the format: " + k.Hint + "."
	case k.NoEffectYet:
		return k.Description + " No effect yet."
	}
	return k.Description
}

// keys prints a table of several keys.
func (p *page) keys(all []keyAnswer) {
	var rows [][]string
	for _, k := range all {
		at := k.At[0]
		if n := len(k.At) - 1; n > 0 {
			at += fmt.Sprintf(" (and %d more)", n)
		}
		rows = append(rows, []string{at, k.Type.Describe(), brief(k.Key)})
	}
	if p.err == nil {
		p.err = p.console.Table(p.w, []string{"KEY", "TYPE", "DESCRIPTION"}, rows)
	}
}

// key prints all facts about one key.
func (p *page) key(k keyAnswer) {
	p.printf("%s\n\n", k.At[0])
	if k.Unsupported || k.Removed {
		p.prose(brief(k.Key))
		p.printf("\n")
	} else {
		p.prose(k.Description)
		p.printf("\n")
		for _, f := range facts(k) {
			p.fact(f[0], f[1])
		}
	}
	p.fact("in", strings.Join(k.Files, ", "))
	if len(k.At) > 1 {
		p.fact("also", strings.Join(k.At[1:], ", "))
	}
	if k.TOML != "" {
		p.printf("\n")
		p.code(k.TOML)
	}
}

// fact prints a label and, next to it, a text.
func (p *page) fact(word, text string) {
	const indent = 12
	lines := p.console.Wrap(strings.Repeat(" ", indent)+text, indent)
	p.printf("  %-*s%s\n", indent-2, word, lines[indent:])
}

// facts returns the facts about a key besides its description, as pairs of label and sentence.
func facts(k keyAnswer) [][2]string {
	all := [][2]string{{"type", k.Type.Describe()}}
	add := func(is bool, word, text string) {
		if is {
			all = append(all, [2]string{word, text})
		}
	}
	add(k.Required, "required", "yes, and not empty")
	add(k.Keys != nil, "keys", names(k.Key))
	add(k.Default != "", "default", k.Default)
	add(k.Values != nil, "one of", values(k.Values))
	add(k.Suggested != nil, "one of", values(k.Suggested))
	add(k.Format != "", "format", formats[k.Format])
	for _, old := range slices.Sorted(maps.Keys(k.OldValues)) {
		add(true, "older", fmt.Sprintf("%q for %q", old, k.OldValues[old]))
	}
	add(k.OldNames != nil, "was", strings.Join(k.OldNames, ", "))
	add(k.Template, "template", "rendered for each install; can read {{.nuon.…}} (see docs/config.md)")
	add(k.File, "file", "can be a reference to a file with the text: ./ ../ https:// git:: or file://, from the "+
		"directory of this file, else from "+base(k.kind))
	add(k.Unordered || k.SortedBy != "", "order", "not significant")
	add(k.NoEffectYet, "effect", "none yet: accepted with a warning")
	add(!k.NoEffectYet && k.kind.NoEffectYet, "effect", "none yet, like all keys of this kind of file")
	return all
}

// names lists the keys directly below a key.
func names(k format.Key) string {
	var all []string
	for _, below := range k.Keys {
		if !below.Unsupported && !below.Removed {
			all = append(all, below.Name)
		}
	}
	return strings.Join(all, ", ")
}

// formats describes the formats of texts.
var formats = map[string]string{
	format.FormatDuration: `a duration such as "90s", "5m" or "1h", at most an hour`,
	format.FormatCron:     `a schedule in UTC: minute, hour, day of the month, month, day of the week`,
	format.FormatRegexp:   "an RE2 regular expression",
	format.FormatURL:      "an http or https URL",
	format.FormatJSON:     "JSON",
}

func values(all []string) string {
	words := slices.Clone(all)
	for i, w := range words {
		if w == "" {
			words[i] = `""`
		}
	}
	return strings.Join(words, ", ")
}

// base describes the directory, besides the file's own, against which references of a
// kind of file are resolved: section 2.2 of the specification.
func base(k format.Kind) string {
	switch place, _, below := strings.Cut(k.Paths[0], "/"); {
	case k.Name == "permissions", strings.HasPrefix(k.Name, "break-glass"):
		return "permissions/"
	case below && slices.Contains([]string{"components", "actions", "permissions", "installs"}, place):
		return place + "/"
	}
	return "the root of the app"
}

// code prints TOML, indented.
func (p *page) code(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			line = "    " + line
		}
		p.printf("%s\n", line)
	}
}
