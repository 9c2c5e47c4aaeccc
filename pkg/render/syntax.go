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
	switch parserMessage := e.Message; {
	case strings.HasPrefix(parserMessage, "unclosed action"), strings.HasPrefix(parserMessage, "unclosed comment"):
		e.Message, e.Hint = "an expression is not closed", "write }} behind it"
		e.setPosition(text, unclosedAction(text))
	case parserMessage == "unexpected EOF":
		what, at := unendedBlock(text)
		e.Message, e.Hint = what+" is not ended", "write {{end}} where it ends"
		e.setPosition(text, at)
	case strings.HasPrefix(parserMessage, "unexpected {{end}}"):
		e.Message, e.Hint = "there is an {{end}} too many", "remove it, or write the if, range or with that it ends"
	case strings.HasPrefix(parserMessage, "unexpected {{else"):
		e.Message, e.Hint = "there is an {{else}} without an if, range or with before it", "remove it"
	case strings.HasPrefix(parserMessage, "unclosed left paren"):
		e.Message, e.Hint = "a parenthesis is not closed", "write ) behind it"
	case strings.HasPrefix(parserMessage, "unterminated"):
		e.Message, e.Hint = "a text in an expression is not closed", "write its quote behind it"
	case strings.HasPrefix(parserMessage, "malformed character constant"):
		e.Message, e.Hint = "a text in an expression stands in double quotes", `write "text"`
	case strings.HasPrefix(parserMessage, "undefined variable"):
		name := strings.Trim(strings.TrimPrefix(parserMessage, "undefined variable "), `"`)
		e.Message, e.Hint = "there is no variable "+name, "set it before: {{ "+name+" := … }}"
	case strings.HasPrefix(parserMessage, `unexpected "="`):
		e.Message, e.Hint = "an expression does not compare with =",
			`write eq A B, such as {{ if eq .nuon.install.name "acme" }}`
	case strings.HasPrefix(parserMessage, "non executable command in pipeline"):
		e.Message, e.Hint = "what stands behind a | must be a function", "write A | FUNCTION"
	case strings.HasPrefix(parserMessage, "missing value for command"):
		e.Message, e.Hint = "an expression is empty", "write what it should give, or remove it"
	case strings.HasPrefix(parserMessage, "missing value for "):
		e.Message, e.Hint = strings.TrimPrefix(parserMessage, "missing value for ")+" says nothing to look at",
			"write an expression behind it"
	case strings.Contains(parserMessage, "U+002D '-'"):
		e.explainDash(text)
	}
}

// setPosition sets the position, if it is known.
func (e *Error) setPosition(text string, at span) {
	if at.start < 0 {
		return
	}
	place := linesOf(text).place(at)
	e.Line, e.Column, e.Width = place.Line, place.Column, place.Width
}

// noSpan is an unknown position.
var noSpan = span{-1, -1}

// dashedPath matches a path with a name that contains a dash.
var dashedPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\.nuon(?:\.[A-Za-z0-9_]+)*)\.([A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)+)((?:\.[A-Za-z0-9_]+)*)`)
})

// explainDash explains a name with a dash, which the parser reads as a minus that it does not support.
func (e *Error) explainDash(text string) {
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
		e.setPosition(text, at)
		return
	}
}

// unclosedAction returns the first expression that is not closed.
func unclosedAction(text string) span {
	for at, closed := range actions(text) {
		if !closed {
			first, _, _ := strings.Cut(text[at.start:at.end], "\n")
			return span{at.start, at.start + len(first)}
		}
	}
	return noSpan
}

// unendedBlock returns the innermost if, range or with that has no end.
func unendedBlock(text string) (what string, at span) {
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
		return "an if, range or with", noSpan
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
