package render

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// Error reports why a template was rejected or could not be rendered. It contains no value, only
// text about the template, so it can be shown and logged.
type Error struct {
	Name    string // as passed to Parse
	Line    int    // in the template's text, from 1; 0 if unknown
	Column  int    // in bytes, from 1; 0 if unknown
	Width   int    // length in bytes of the affected part of that line; 0 if unknown
	Path    Path   // the path that was read there, as written; nil if the error is not about a path
	Message string // what is wrong
	Hint    string // how to fix it; may be empty
}

// Error returns "name:line:column: message (hint)", without the parts that are unknown.
func (e *Error) Error() string {
	var out strings.Builder
	out.WriteString(e.Name)
	if e.Line > 0 {
		fmt.Fprintf(&out, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&out, ":%d", e.Column)
		}
	}
	out.WriteString(": " + e.Message)
	if e.Hint != "" {
		out.WriteString(" (" + e.Hint + ")")
	}
	return out.String()
}

// parseError converts the parser's "template: name:line: text" to an Error.
func parseError(name, text string, err error) *Error {
	rejected := &Error{Name: name, Message: "the template cannot be parsed"}
	words, ok := strings.CutPrefix(err.Error(), "template: "+parseName+":")
	if !ok {
		return rejected
	}
	line, words, ok := strings.Cut(words, ":")
	if n, err := strconv.Atoi(line); ok && err == nil {
		rejected.Line = n
		rejected.Message = printable(strings.ReplaceAll(strings.TrimSpace(words), " "+parseName+":", " line "))
	}
	if missing, ok := strings.CutPrefix(rejected.Message, "function "); ok {
		missing, _, _ = strings.Cut(strings.TrimPrefix(missing, `"`), `"`)
		rejected.explainMissingFunction(text, missing)
		return rejected
	}
	rejected.explain(text)
	return rejected
}

// explainMissingFunction reports that a function does not exist, and points to the first place from the
// line on that calls it.
func (e *Error) explainMissingFunction(text, missing string) {
	e.Message, e.Hint = fmt.Sprintf("there is no function %q", missing), missingFunctionHint(missing)
	lines := linesOf(text)
	for at := range words(text) {
		word, _, _ := strings.Cut(text[at.start:at.end], ".")
		if place := lines.place(at); word == missing && place.Line >= e.Line {
			e.Line, e.Column, e.Width = place.Line, place.Column, len(word)
			return
		}
	}
}

// missingFunctionHint returns the hint for a function that does not exist.
func missingFunctionHint(missing string) string {
	switch missing {
	case "nuon":
		return "write .nuon with a leading dot"
	case "now", "date", "dateInZone", "ago", "env", "expandenv", "getHostByName", "uuidv4", "randAlphaNum",
		"randAlpha", "randNumeric",
		"randAscii", "randInt", "randBytes", "shuffle", "genPrivateKey", "genCA", "genSelfSignedCert",
		"genSignedCert", "bcrypt", "htpasswd":
		return "take it out: a template gives the same text every time, so nothing reads the clock, the environment, the " +
			"network or randomness"
	case "toYaml", "mustToYaml":
		return "write toPrettyJson: YAML reads JSON"
	case "include", "tpl", "required", "lookup":
		return "it reads the cluster or the chart, which is for Helm to do: put it into a template of the chart"
	case "until", "untilStep", "seq":
		return "range over a list or an object instead"
	case "set", "unset":
		return "make a new object with merge, dict or omit: a template changes no value"
	}
	known := Functions()
	if i := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, missing) }); i >= 0 {
		return "write " + known[i]
	}
	if name, ok := diagnostic.Nearest(missing, known); ok {
		return "write " + name
	}
	return "allowed are " + strings.Join(known, ", ")
}

// runLocation matches the position at the start of an execution error of text/template.
var runLocation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^template: ` + parseName + `:(\d+):(\d+): `)
})

// runError converts an execution error of text/template to an Error. The original text can quote
// values, so only messages of this package are used.
func (t *Template) runError(err error, root Tree) *Error {
	failed := &Error{Name: t.name, Message: "it cannot be evaluated with these values"}
	message := err.Error()
	label := "a value"
	if location := runLocation().FindStringSubmatch(message); location != nil {
		failed.Line, _ = strconv.Atoi(location[1])
		failed.Column, _ = strconv.Atoi(location[2])
		failed.Column++ // text/template counts bytes from 0 on
		label = t.locate(failed, label)
	}
	var functionErr *functionError
	switch {
	case errors.Is(err, errTooMuchWork):
		failed.Message, failed.Hint = errTooMuchWork.Error(), "make loops and texts smaller"
	case errors.Is(err, errTooMuchOutput):
		failed.Message = errTooMuchOutput.Error()
	case errors.As(err, &functionErr):
		failed.Message = functionErr.Error()
	case strings.Contains(message, "map has no entry for key"):
		failed.Message, failed.Hint = label+" has no value", "`dig` and `hasKey` can ask for what may be missing"
		if near, ok := root.nearest(failed.Path); ok && len(failed.Path) > 0 {
			failed.Hint = printable("the nearest that has one is .nuon." + near.String())
		}
	case strings.Contains(message, "nil pointer evaluating"), strings.Contains(message, "nil data"):
		failed.Message, failed.Hint = label+" has no value: what it looks into is null",
			"`dig` can ask for what may be missing"
	case strings.Contains(message, "can't evaluate field"):
		failed.Message = label + " has no value: what it looks into is not an object"
	}
	return failed
}

// locate converts text/template's position to the start of the expression, and returns a label for
// the value that is read there.
func (t *Template) locate(failed *Error, fallback string) (label string) {
	lines := linesOf(t.text)
	at, known := t.positions[lines.offset(failed.Line, failed.Column)]
	if !known {
		return fallback
	}
	place := lines.place(at.at)
	failed.Line, failed.Column, failed.Width, failed.Path = place.Line, place.Column, place.Width, at.path
	if at.path == nil {
		return printable(place.Written)
	}
	return printable(".nuon." + at.path.String())
}

// maxMessage bounds how many bytes of a template an error repeats.
const maxMessage = 2000

// printable makes text from a template safe to show in a terminal.
func printable(words string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, truncate.Text(words, maxMessage))
}
