package render

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// explain replaces the parser's message by one for people who write configs, with a hint how to fix
// the template. Where possible it determines the column, because the parser reports only the line.
// Messages without a better wording are left unchanged.
func (e *Error) explain(text string) {
	switch said := e.Message; {
	case strings.HasPrefix(said, "unclosed action"), strings.HasPrefix(said, "unclosed comment"):
		e.Message, e.Hint = "an expression is not closed", "write }} behind it"
		e.point(text, notClosed(text))
	case said == "unexpected EOF":
		what, at := notEnded(text)
		e.Message, e.Hint = what+" is not ended", "write {{end}} where it ends"
		e.point(text, at)
	case strings.HasPrefix(said, "unexpected {{end}}"):
		e.Message, e.Hint = "there is an {{end}} too many", "remove it, or write the if, range or with that it ends"
	case strings.HasPrefix(said, "unexpected {{else"):
		e.Message, e.Hint = "there is an {{else}} without an if, range or with before it", "remove it"
	case strings.HasPrefix(said, "unclosed left paren"):
		e.Message, e.Hint = "a parenthesis is not closed", "write ) behind it"
	case strings.HasPrefix(said, "unterminated"):
		e.Message, e.Hint = "a text in an expression is not closed", "write its quote behind it"
	case strings.HasPrefix(said, "malformed character constant"):
		e.Message, e.Hint = "a text in an expression stands in double quotes", `write "text"`
	case strings.HasPrefix(said, "undefined variable"):
		name := strings.Trim(strings.TrimPrefix(said, "undefined variable "), `"`)
		e.Message, e.Hint = "there is no variable "+name, "set it before: {{ "+name+" := … }}"
	case strings.HasPrefix(said, `unexpected "="`):
		e.Message, e.Hint = "an expression does not compare with =",
			`write eq A B, such as {{ if eq .nuon.install.name "acme" }}`
	case strings.HasPrefix(said, "non executable command in pipeline"):
		e.Message, e.Hint = "what stands behind a | must be a function", "write A | FUNCTION"
	case strings.HasPrefix(said, "missing value for command"):
		e.Message, e.Hint = "an expression is empty", "write what it should give, or remove it"
	case strings.HasPrefix(said, "missing value for "):
		e.Message, e.Hint = strings.TrimPrefix(said, "missing value for ")+" says nothing to look at",
			"write an expression behind it"
	case strings.Contains(said, "U+002D '-'"):
		e.dashed(text)
	}
}

// point sets the position, if it is known.
func (e *Error) point(text string, at span) {
	if at.start < 0 {
		return
	}
	place := linesOf(text).place(at)
	e.Line, e.Column, e.Width = place.Line, place.Column, place.Width
}

// nowhere is an unknown position.
var nowhere = span{-1, -1}

// dashedPath matches a path with a name that contains a dash.
var dashedPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\.nuon(?:\.[A-Za-z0-9_]+)*)\.([A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)+)((?:\.[A-Za-z0-9_]+)*)`)
})

// dashed explains a name with a dash, which the parser reads as a minus that it does not support.
func (e *Error) dashed(text string) {
	e.Message, e.Hint = "a name with a dash cannot stand behind a dot", `write index PATH "NAME"`
	for _, found := range dashedPath().FindAllStringSubmatchIndex(text, -1) {
		at := span{found[0], found[1]}
		if linesOf(text).place(at).Line != e.Line {
			continue
		}
		before, name, rest := text[found[2]:found[3]], text[found[4]:found[5]], text[found[6]:found[7]]
		whole := "index " + before + " " + strconv.Quote(name)
		if rest != "" {
			whole = "(" + whole + ")" + rest
		}
		e.Hint = printable("write " + whole)
		e.point(text, at)
		return
	}
}

// notClosed returns the first expression that is not closed.
func notClosed(text string) span {
	for at, closed := range actions(text) {
		if !closed {
			first, _, _ := strings.Cut(text[at.start:at.end], "\n")
			return span{at.start, at.start + len(first)}
		}
	}
	return nowhere
}

// notEnded returns the innermost if, range or with that has no end.
func notEnded(text string) (what string, at span) {
	type block struct {
		what string
		at   span
	}
	var open []block
	for at, closed := range actions(text) {
		if !closed {
			continue
		}
		switch word := firstWord(text[at.start+len("{{") : at.end]); word {
		case "if", "range", "with", "block", "define":
			open = append(open, block{word, at})
		case "end":
			open = open[:max(len(open)-1, 0)]
		}
	}
	if len(open) == 0 {
		return "an if, range or with", nowhere
	}
	last := open[len(open)-1]
	return last.what, last.at
}

// actions iterates over the spans of all {{ }} of a text, and whether each is closed. One that is
// not closed extends to the end of the text.
func actions(text string) func(yield func(at span, closed bool) bool) {
	return func(yield func(span, bool) bool) {
		for at := 0; ; {
			open := strings.Index(text[at:], "{{")
			if open < 0 {
				return
			}
			start := at + open
			for at = start + len("{{"); at < len(text) && !strings.HasPrefix(text[at:], "}}"); {
				width, _ := token(text[at:])
				at += width
			}
			if at >= len(text) {
				yield(span{start, len(text)}, false)
				return
			}
			at += len("}}")
			if !yield(span{start, at}, true) {
				return
			}
		}
	}
}

// firstWord returns the first word of an action.
func firstWord(action string) string {
	action = strings.TrimLeft(strings.TrimPrefix(action, "-"), " \t\r\n")
	end := strings.IndexFunc(action, func(r rune) bool { return r < 'a' || r > 'z' })
	if end < 0 {
		return action
	}
	return action[:end]
}
