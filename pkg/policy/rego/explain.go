package rego

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// explain rewords a message of the parser or compiler in the style of the other diagnostics, and
// adds a hint.
func explain(e *ast.Error) (message, hint string) {
	message, hint = splitHint(e.Message)
	switch e.Code {
	case ast.ParseErr:
		return explainSyntax(message, hint)
	case ast.UnsafeVarErr:
		return explainUnbound(message)
	case ast.RecursionErr:
		return sanitize(message), "break the circle: a rule may not need its own value"
	}
	if name, ok := strings.CutPrefix(message, "undefined function "); ok {
		return "there is no function " + sanitize(name), nearestFunction(name)
	}
	if name, ok := strings.CutPrefix(message, "undefined ref: "); ok {
		return sanitize(name) + " can never have a value", "check the name against what the rule gives"
	}
	if strings.Contains(message, "has arity") {
		return sanitize(message), "give as many arguments as the function takes"
	}
	if name, ok := strings.CutSuffix(message, ": invalid argument(s)"); ok {
		return sanitize(name) + " cannot take a value of this type", parametersOf(name)
	}
	if strings.HasPrefix(message, "conflicting rules") {
		return sanitize(message), "give the rule one form: `contains`, or one value"
	}
	if message == "match error" {
		return "the two sides can never be equal: they are of different types", "compare values of one type"
	}
	if hint == "" {
		hint = "change the rule; the name and position say which part of it is meant"
	}
	return sanitize(message), sanitize(hint)
}

func explainSyntax(message, hint string) (string, string) {
	switch {
	case message == "package expected":
		return "a policy begins with its package", "write `package " + Package + "` in the first line"
	case strings.HasPrefix(message, "unexpected eof token"):
		return "the text ends in the middle of a rule", "close what was opened with {, [ or ("
	case strings.Contains(message, "`if` keyword is required"):
		return sanitize(message), "write `if` before the {"
	case strings.Contains(message, "`contains` keyword is required"):
		return sanitize(message), "write `deny contains msg if { … }` for `deny[msg] { … }`"
	case hint == "":
		hint = "look at the end of the line before, too: what is missing there is noticed here"
	}
	return sanitize(message), sanitize(hint)
}

// explainUnbound explains a variable without a value, which is most often a misspelled name.
func explainUnbound(message string) (string, string) {
	if name, ok := strings.CutPrefix(message, "var "); ok {
		name, _, _ = strings.Cut(name, " ")
		return "nothing gives " + sanitize(name) + " a value",
			"check the name, or bind it first: `" + sanitize(name) + " := input.…` or `some " + sanitize(name) + " in …`"
	}
	return sanitize(message), "bind each variable before it is used under `not`, or as an argument"
}

// splitHint splits a message of the parser from the advice that follows it in parentheses.
func splitHint(message string) (what, hint string) {
	what, hint, _ = strings.Cut(message, " (hint: ")
	return what, strings.TrimSuffix(hint, ")")
}

// parametersOf describes the parameters of a function of the language.
func parametersOf(name string) string {
	b := ast.BuiltinMap[name]
	if b == nil {
		return "give it values of the types that it takes"
	}
	return sanitize("it takes " + b.Decl.FuncArgs().String())
}

func nearestFunction(name string) string {
	var known []string
	for _, b := range Capabilities(V1).Builtins {
		if b.Infix == "" && !strings.HasPrefix(b.Name, "internal.") {
			known = append(known, b.Name)
		}
	}
	if hint := diagnostic.DidYouMean(name, known); hint != "" {
		return hint
	}
	return "define it in this policy, or use one of OPA's own functions"
}

// sanitize makes text from a policy safe to show: on one line, without control sequences, and of
// limited length.
func sanitize(message string) string {
	const longest = 200
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, message)
	return truncate.Text(strings.Join(strings.Fields(message), " "), longest)
}

// countOf formats a count.
func countOf(n int, what string) string { return fmt.Sprintf("%d %s", n, what) }
