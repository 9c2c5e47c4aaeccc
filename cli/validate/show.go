package validate

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic/excerpt"
)

// view prints diagnostics for people: one line each in a pipe; on a terminal, each
// with the source line that it is about.
type view struct {
	console *console.Console
	configs []config
	out     io.Writer
	err     error // the first error of out
}

func (v *view) print(out io.Writer) error {
	v.out = out
	for i := range v.configs {
		v.config(&v.configs[i])
	}
	if summary := summaryOf(findings(v.configs)); summary != "" {
		if v.console.OutIsTerminal {
			v.line("%s", v.ink(bold, summary))
		} else if v.err == nil {
			v.console.Messagef("%s", summary)
		}
	}
	return v.err
}

// config prints one config: its diagnostics, and a summary of its contents if it is valid.
func (v *view) config(c *config) {
	text := newSource(c.dir)
	defer text.close()
	if v.console.OutIsTerminal {
		v.idle(c) // first, so that the errors are next to the prompt
	}
	for _, d := range c.found {
		switch {
		case !v.console.OutIsTerminal:
			v.line("%s", console.Line(c.prefixed(d).String()))
		case !hasNoEffect(d):
			v.excerpt(c, d, text)
		}
	}
	if c.app == nil {
		return
	}
	name := ""
	if c.prefix != "" {
		name = console.Line(strings.TrimSuffix(c.prefix, "/")) + " is "
	}
	v.line("%s", v.console.Wrap(name+v.ink(good, "valid")+": "+contents(c.app), 2))
}

func (v *view) line(format string, args ...any) {
	if v.err == nil {
		_, v.err = fmt.Fprintf(v.out, format+"\n", args...)
	}
}

// Colors and styles as ANSI parameters, the text between "\x1b[" and "m". Only the
// sixteen standard colors are used.
const (
	bold  = "1"
	faint = "2"
	good  = "32"
	hint  = "36"
)

// inkOf returns the style of a severity.
func inkOf(s diagnostic.Severity) string {
	if s == diagnostic.Error {
		return "1;31"
	}
	return "33"
}

func (v *view) ink(code, text string) string {
	if !v.console.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// excerpt shows one diagnostic with the line that it is about:
//
//	metadata.toml:2:1: error: unknown key "displayname"
//	   2 | displayname = "Ledger"
//	     | ^^^^^^^^^^^
//	     did you mean "display_name"?
func (v *view) excerpt(c *config, d diagnostic.Diagnostic, text *source) {
	place := fmt.Sprintf("%s:%d:%d:", console.Line(c.prefix+d.File), d.Line, d.Column)
	v.line("%s", v.console.Wrap(v.ink(bold, place)+" "+
		v.ink(inkOf(d.Severity), string(d.Severity)+":")+" "+console.Line(d.Message), 4))
	const gutter = 4
	indent := gutter
	whole := d.Line == 1 && d.Column == 1 && d.Width == 0 // the diagnostic is about the whole file
	if line, ok := text.line(d.File, d.Line); ok && !whole {
		number := fmt.Sprintf("%*d", gutter, d.Line)
		indent = len(number) + 1
		shown := excerpt.Format(readable(line, d), d.Column, d.Width, v.console.Width-len(number)-len(" | "))
		v.line("%s %s", v.ink(faint, number+" |"), strings.TrimRight(shown.Text, " "))
		mark := strings.Repeat("^", shown.MarkWidth)
		v.line("%s %s%s", v.ink(faint, strings.Repeat(" ", len(number))+" |"), strings.Repeat(" ", shown.MarkStart),
			v.ink(inkOf(d.Severity), mark))
	}
	if d.Hint != "" {
		blank := strings.Repeat(" ", indent)
		v.line("%s", v.console.Wrap(blank+v.ink(hint, console.Line(d.Hint)), indent))
	}
	v.line("")
}

// hasNoEffect reports whether a diagnostic warns of a setting that is accepted but has no
// effect yet. This is not a mistake, and every file can have such a warning.
func hasNoEffect(d diagnostic.Diagnostic) bool {
	return d.Rule == "no-effect-yet" && d.Severity == diagnostic.Warning
}

// maxFiles is the maximum number of files that are named for one setting without effect.
const maxFiles = 3

// idle prints the settings without effect, one line for each, with the files that contain it.
func (v *view) idle(c *config) {
	var words []string
	files := map[string][]string{}
	for _, d := range c.found {
		if !hasNoEffect(d) {
			continue
		}
		if files[d.Message] == nil {
			words = append(words, d.Message)
		}
		files[d.Message] = append(files[d.Message], console.Line(c.prefix+d.File))
	}
	for _, word := range words {
		in := files[word]
		if more := len(in) - maxFiles; more > 1 {
			in = append(in[:maxFiles:maxFiles], fmt.Sprintf("and %d more", more))
		}
		v.line("%s", v.console.Wrap(v.ink(inkOf(diagnostic.Warning), "warning:")+" "+console.Line(word)+" "+
			v.ink(faint, "("+strings.Join(in, ", ")+")"), 4))
	}
	if words != nil {
		v.line("")
	}
}

// secretRules lists the rules about values that must not be printed, because they may be secrets.
var secretRules = []string{"sensitive-in-file", "secret-options", "repository", "url", "remote-file"}

// readable removes from a line what may be a secret: the value that a diagnostic is
// about, or what follows its key.
func readable(line string, d diagnostic.Diagnostic) string {
	from := d.Column - 1
	if !slices.Contains(secretRules, d.Rule) || from < 0 || from >= len(line) {
		return line
	}
	if before := line[:from]; strings.Contains(before, "=") {
		return before + "…"
	}
	if equals := strings.IndexByte(line, '='); equals >= 0 {
		return line[:equals+1] + " …"
	}
	return line
}

// summaryOf counts diagnostics, such as "3 errors, 2 warnings in 2 files". It returns
// "" if there are none.
func summaryOf(found appconfig.Diagnostics) string {
	files := map[string]bool{}
	for _, d := range found {
		files[d.File] = true
	}
	wrong, warned := found.Count()
	var parts []string
	if wrong > 0 {
		parts = append(parts, count(wrong, "error"))
	}
	if warned > 0 {
		parts = append(parts, count(warned, "warning"))
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ", ") + " in " + count(len(files), "file")
}

// kindWords are the words for the kinds of components in summaries.
var kindWords = []struct{ kind, word string }{
	{format.KindTerraformModule, "terraform"}, {format.KindHelmChart, "helm"}, {format.KindKubernetesManifest, "manifest"},
	{format.KindContainerImage, "image"}, {format.KindDockerBuild, "docker"}, {format.KindPulumi, "pulumi"},
}

// contents summarizes a config, such as "4 components (2 terraform, 2 helm), 3
// actions, 1 input (0123456789ab)".
func contents(app *appconfig.App) string {
	kinds := map[string]int{}
	for i := range app.Components {
		kinds[app.Components[i].Kind]++
	}
	var counted []string
	for _, k := range kindWords {
		if n := kinds[k.kind]; n > 0 {
			counted = append(counted, strconv.Itoa(n)+" "+k.word)
		}
	}
	parts := []string{count(len(app.Components), "component")}
	if counted != nil {
		parts[0] += " (" + strings.Join(counted, ", ") + ")"
	}
	for _, some := range []struct {
		n    int
		what string
	}{
		{len(app.Actions), "action"}, {len(app.Inputs), "input"}, {len(app.Secrets), "secret"},
		{len(app.Permissions) + len(app.BreakGlass), "role"},
		{len(app.Policies), "policy"}, {len(app.Runbooks), "runbook"}, {len(app.Installs), "install"},
	} {
		if some.n > 0 {
			parts = append(parts, count(some.n, some.what))
		}
	}
	return strings.Join(parts, ", ") + " (" + console.Short(app.Digest()) + ")"
}

// count returns a number with its noun in singular or plural.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, found := strings.CutSuffix(what, "y"); found {
		what = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
