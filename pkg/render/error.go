package render

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Error is why a template was refused or could not be rendered. It holds no value, only words about the template, so it can be
// shown and logged.
type Error struct {
	Name    string // as given to Parse
	Line    int    // in the template's text, from 1; 0 if not known
	Column  int    // in bytes, from 1; 0 if not known
	Path    Path   // what was read there, as written; nil if it is not about a path
	Message string // what is wrong
	Hint    string // what to do about it; may be empty
}

// Error gives "name:line:column: message (hint)", without what is not known.
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

// parseError turns the parser's "template: name:line: words" into an Error.
func parseError(name string, err error) *Error {
	refused := &Error{Name: name, Message: "the template cannot be parsed"}
	words, ok := strings.CutPrefix(err.Error(), "template: "+parseName+":")
	if !ok {
		return refused
	}
	line, words, ok := strings.Cut(words, ":")
	if n, err := strconv.Atoi(line); ok && err == nil {
		refused.Line = n
		refused.Message = strings.TrimSpace(words)
	}
	missing, ok := strings.CutPrefix(refused.Message, "function ")
	if !ok {
		return refused
	}
	missing, _, _ = strings.Cut(strings.TrimPrefix(missing, `"`), `"`)
	refused.Message = fmt.Sprintf("there is no function %q", missing)
	if missing == "nuon" {
		refused.Hint = "write .nuon with a leading dot"
	} else {
		refused.Hint = "allowed are " + strings.Join(Functions(), ", ")
	}
	return refused
}

// runLocation finds where text/template says that it was.
var runLocation = regexp.MustCompile(`^template: ` + parseName + `:(\d+):(\d+): `)

// runError turns what text/template says about an execution into an Error. Its own words can quote values, so only words of ours
// are passed on.
func (t *Template) runError(err error) *Error {
	failed := &Error{Name: t.name, Message: "it cannot be evaluated with these values"}
	words := err.Error()
	label := "a value"
	if where := runLocation.FindStringSubmatch(words); where != nil {
		failed.Line, _ = strconv.Atoi(where[1])
		failed.Column, _ = strconv.Atoi(where[2])
		failed.Column++ // text/template counts bytes from 0 on
		if at, ok := t.sites[parseName+":"+where[1]+":"+where[2]]; ok {
			failed.Line, failed.Column, failed.Path, label = at.line, at.column, at.path, at.label
		}
	}
	var ours *functionError
	switch {
	case errors.Is(err, errTooMuchWork):
		failed.Message, failed.Hint = errTooMuchWork.Error(), "make loops and texts smaller"
	case errors.Is(err, errTooMuchOutput):
		failed.Message = errTooMuchOutput.Error()
	case errors.As(err, &ours):
		failed.Message = ours.Error()
	case strings.Contains(words, "map has no entry for key"):
		failed.Message, failed.Hint = label+" has no value", "`dig` and `hasKey` can ask for what may be missing"
	case strings.Contains(words, "nil pointer evaluating"), strings.Contains(words, "nil data"):
		failed.Message, failed.Hint = label+" has no value: what it looks into is null", "`dig` can ask for what may be missing"
	case strings.Contains(words, "can't evaluate field"):
		failed.Message = label + " has no value: what it looks into is not an object"
	}
	return failed
}
