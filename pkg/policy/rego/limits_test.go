package rego_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/rego"
	"github.com/nuon-toolkit/nuon/pkg/policy/source/sourcetest"
)

const intricate = "the policy is too intricate to be checked: "

// messages returns the messages of what is reported of a policy.
func messages(t *testing.T, text string) []string {
	t.Helper()
	found := rego.Check("p.rego", text)
	sourcetest.CheckUsable(t, text, found)
	var all []string
	for _, d := range found {
		all = append(all, d.Message)
	}
	return all
}

// TestLimits checks that a policy at each limit is accepted, and that one beyond it is reported as too intricate,
// with the reason.
func TestLimits(t *testing.T) {
	repeat := strings.Repeat
	for name, test := range map[string]struct {
		most int
		text func(n int) string
		what string
	}{
		"brackets": {100, func(n int) string { return "x := " + repeat("[", n) + repeat("]", n) },
			"brackets are nested more than 100 deep"},
		"brackets in a comment": {1000, func(n int) string { return "# " + repeat("[", n) }, ""},
		"brackets in texts": {1000, func(n int) string {
			return "x := \"" + repeat("[", n) + "\\\"" + repeat("[", n) + "\"\ny := `" + repeat("{", n) + "\n(`"
		}, ""},
		"brackets after each other": {1000, func(n int) string { return "x := [" + repeat("[], ", n) + "1]" }, ""},
		"digits": {100, func(n int) string { return "x := 1" + repeat("0", n-1) },
			"a number has more than 100 digits"},
		"digits of a fraction": {100, func(n int) string { return "x := 0." + repeat("1", n-2) },
			"a number has more than 100 digits"},
		"letters and digits of a name": {1000, func(n int) string { return "x" + repeat("1", n) + " := 1" }, ""},
		"slow numbers": {100, func(n int) string { return "x := [" + repeat("1.5, ", n) + "1]" },
			"more than 100 numbers have a fraction, an exponent or more than 15 digits"},
		"numbers with an exponent": {100, func(n int) string { return "x := [" + repeat("1e5, ", n) + "1]" },
			"more than 100 numbers have a fraction, an exponent or more than 15 digits"},
		"long numbers": {100, func(n int) string { return "x := [" + repeat("1234567890123456, ", n) + "1]" },
			"more than 100 numbers have a fraction, an exponent or more than 15 digits"},
		"numbers of 15 digits": {1000, func(n int) string { return "x := [" + repeat("123456789012345, ", n) + "1]" }, ""},
		"rules": {1000, func(n int) string { return repeat("a if input.plan.x\n", n-1) },
			"more than 1000 rules"}, // with that which every text has
		"comprehensions": {6, func(n int) string { return "x := " + repeat("[y | y := ", n) + "1" + repeat("]", n) },
			"comprehensions or template strings more than 6 deep"},
		"set comprehensions": {6, func(n int) string { return "x := " + repeat("{y | y := ", n) + "1" + repeat("}", n) },
			"comprehensions or template strings more than 6 deep"},
		"object comprehensions": {6, func(n int) string {
			return "x := " + repeat("{\"a\": y | y := ", n) + "1" + repeat("}", n)
		}, "comprehensions or template strings more than 6 deep"},
		"comprehensions after each other": {100, func(n int) string {
			return "x := [" + repeat("[y | y := 1], ", n) + "1]"
		}, ""},
		"literals": {4999, func(n int) string { return "x := [" + repeat("[],", n) + "1]" },
			"more than 5000 objects, arrays and sets"},
		"conditions": {200, func(n int) string { return "a if {" + repeat("input.plan.x\n", n) + "}" }, ""},
	} {
		text := func(n int) string { return "package nuon\ndeny contains \"x\" if input.plan.a\n" + test.text(n) + "\n" }
		if got := messages(t, text(test.most)); len(got) > 0 {
			t.Errorf("%s at the limit: %q", name, got)
		}
		if test.what == "" {
			continue
		}
		if diff := cmp.Diff([]string{intricate + test.what}, messages(t, text(test.most+1))); diff != "" {
			t.Errorf("%s beyond the limit: %s", name, diff)
		}
	}
}

// TestPlaceOfALimit checks that what is too much is shown where it becomes too much.
func TestPlaceOfALimit(t *testing.T) {
	for text, want := range map[string]string{
		"package nuon\nx := 1\ny := " + strings.Repeat("[",
			101): "3:106+1",
		"package nuon\nx := 1\ny := 1" + strings.Repeat("0",
			200): "3:206+1",
		"package nuon\na := 1\nb if { x := " + strings.Repeat("[y | y := ", 7) + "1" + strings.Repeat("]", 7) +
			" }": "3:1+92",
	} {
		found := rego.Check("p.rego", text)
		sourcetest.CheckUsable(t, text, found)
		if len(found) != 1 || fmt.Sprintf("%d:%d+%d", found[0].Line, found[0].Column, found[0].Width) != want ||
			found[0].Rule != "rego-limit" || found[0].Hint != "split it into simpler rules or into several policies" {
			t.Errorf("%.60q: %s, want it at %s", text, sourcetest.Format(found), want)
		}
	}
}

// TestExplanations checks the words for errors of OPA's parser and compiler, and the hint for each.
func TestExplanations(t *testing.T) {
	for body, want := range map[string]struct{ message, hint string }{
		"deny contains m if { m := lowr(input.plan.x) }": {"there is no function lowr", `did you mean "lower"?`},
		"deny contains m if { m := whatnot.it(input.plan.x) }": {"there is no function whatnot.it",
			"define it in this policy, or use one of OPA's own functions"},
		"f(x) := x\ndeny contains m if { m := f(1, 2, 3) }": {"function data.nuon.f has arity 1, got 3 arguments",
			"give as many arguments as the function takes"},
		"deny contains m if { m := upper(1) }": {"upper cannot take a value of this type", "it takes (string)"},
		"f(x) := upper(x)\ndeny contains m if { m := f(1) }": {"data.nuon.f cannot take a value of this type",
			"give it values of the types that it takes"},
		"deny contains m if { m := {\"a\": \"x\"}.b }": {"", ""},
		"deny contains \"x\" if { \"a\" == 1 }": {"the two sides can never be equal: they are of different types",
			"compare values of one type"},
		"deny contains \"x\" if { x == 1 }": {"nothing gives x a value",
			"check the name, or bind it first: `x := input.…` or `some x in …`"},
		"deny contains \"x\" if { x := 1; x := 2; x }": {"var x assigned above",
			"change the rule; the name and position say which part of it is meant"},
		"deny := \"x\"\ndeny := \"y\" if input.plan.x\ndeny(a) := a": {"conflicting rules data.nuon.deny found",
			"give the rule one form: `contains`, or one value"},
		"deny contains \"x\" {\n\tinput.plan.x\n}": {"`if` keyword is required before rule body",
			"write `if` before the {"},
		"deny[m] if {\n\tm := \"x\"\n}\nwarn contains m if { m := \"y\" }": {"", ""},
		"deny contains \"x\" if {\n\tinput.plan.x\n": {"the text ends in the middle of a rule",
			"close what was opened with {, [ or ("},
		"deny contains \"x\" if input.plan.x ==": {"the text ends in the middle of a rule",
			"close what was opened with {, [ or ("},
		"default deny := x": {"", ""},
	} {
		found := rego.Check("p.rego", "package nuon\n"+body+"\n")
		sourcetest.CheckUsable(t, "package nuon\n"+body+"\n", found)
		if want.message == "" {
			continue // it must be shown well, whichever of its mistakes is reported
		}
		if len(found) == 0 || found[0].Message != want.message || want.hint != "" && found[0].Hint != want.hint {
			t.Errorf("%s\n%swant %s\n\t%s", body, sourcetest.Format(found), want.message, want.hint)
		}
	}
}

// TestLongMessages checks that a message repeats only the start of a long name of the policy, on one line.
func TestLongMessages(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 5000), strings.Repeat("é", 2000)} {
		found := rego.Check("p.rego",
			"package nuon\ndeny contains \"a\" if data.nuon[\""+name+"\"] == input.plan.x\nb if { x := 1; b.c }")
		sourcetest.CheckUsable(t,
			"package nuon\ndeny contains \"a\" if data.nuon[\""+name+"\"] == input.plan.x\nb if { x := 1; b.c }", found)
		for _, d := range found {
			if len(d.Message) > 300 {
				t.Errorf("a message of %d bytes: %.80q", len(d.Message), d.Message)
			}
		}
		found = rego.Check("p.rego", "package nuon\ndeny contains \"a\" if data[\""+name+"\"]\n")
		if len(found) != 1 || !strings.HasPrefix(found[0].Message, "data."+name[:100]) ||
			!strings.HasSuffix(found[0].Message, "… is never there: a policy sees its input and its own rules") {
			t.Errorf("a long name of data: %.400s", sourcetest.Format(found))
		}
	}
}

// TestMisspelledRules checks which rule is suggested for a policy that has none of those that are evaluated.
func TestMisspelledRules(t *testing.T) {
	for rule, want := range map[string]string{
		"violation contains \"x\" if input.plan.a":  "name the rule deny rather than violation",
		"violations contains \"x\" if input.plan.a": "name the rule deny rather than violations",
		"denied if input.plan.a":                    "name the rule deny rather than denied",
		"default allow := false":                    "name the rule deny rather than allow",
		"block contains \"x\" if input.plan.a":      "name the rule deny rather than block",
		"error := \"x\" if input.plan.a":            "name the rule deny rather than error",
		"warning contains \"x\" if input.plan.a":    "name the rule warn rather than warning",
		"warnings contains \"x\" if input.plan.a":   "name the rule warn rather than warnings",
		"passed if input.plan.a":                    "name the rule pass rather than passed",
		"Deny contains \"x\" if input.plan.a":       "write `deny contains msg if { … }`",
		"helper := 1\nwarning.x contains 1":         "name the rule warn rather than warning",
	} {
		found := rego.Check("p.rego", "package nuon\n"+rule+"\n")
		if len(found) != 1 || found[0].Rule != "rego-rules" || found[0].Line != 1 || found[0].Hint != want {
			t.Errorf("%s: %s, want %s", rule, sourcetest.Format(found), want)
		}
	}
	// A policy of another package is not said to have no rules, too.
	if got := messages(t, "package other\nviolation contains 1\n"); len(got) != 1 {
		t.Errorf("of another package: %q", got)
	}
}

// TestInputsOfTypes checks which names below input exist for the types of policies, and what is reported of a
// policy that reads another one.
func TestInputsOfTypes(t *testing.T) {
	for kind, want := range map[string][]string{
		"sandbox": {"plan"}, "terraform_module": {"plan"}, "pulumi": {"plan"}, "runner_job_terraform_deploy": {"plan"},
		"helm_chart": {"review"}, "kubernetes_manifest": {"review"}, "runner_job_helm_deploy": {"review"},
		"container_image": {"image", "metadata", "tag"}, "docker_build": {"image", "metadata", "tag"},
		"kubernetes_cluster": nil, "": nil, "runner_job_action_workflow": nil,
	} {
		if diff := cmp.Diff(want, rego.Inputs(kind)); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
	for body, want := range map[string]string{
		"input.image.x; input.tag; input.metadata.signed": "",
		"input.plan.x": "input.plan is never there: a policy of this type sees input.image, input.metadata, input.tag",
		"input[\"pl\\u001ban\"]": "input.pl an is never there: a policy of this type sees input.image, input.metadata, " +
			"input.tag",
		"input[input.tag]": "", "input": "", "x := input; x.plan": "",
		"input.plan.x; input.plan.y": "input.plan is never there: " +
			"a policy of this type sees input.image, input.metadata, input.tag",
	} {
		found := rego.CheckFor("p.rego", "package nuon\ndeny contains \"x\" if { "+body+" }\n", rego.Inputs("docker_build"))
		switch {
		case want == "" && len(found) == 0:
		case len(found) != 1 || found[0].Message != want || found[0].Severity != diagnostic.Warning ||
			found[0].Hint != "read input.image, or change the policy's type":
			t.Errorf("%s: %s, want %s", body, sourcetest.Format(found), want)
		}
	}
}

// TestDataOfOthers checks that only reads of data outside of the policy are reported.
func TestDataOfOthers(t *testing.T) {
	for body, want := range map[string][]string{
		"data.nuon.helper":      nil,
		"data.nuon[\"helper\"]": nil,
		"data.lib.x":            {"data.lib is never there: a policy sees its input and its own rules"},
		"data[\"lib\"].x; data.other": {"data.lib is never there: a policy sees its input and its own rules",
			"data.other is never there: a policy sees its input and its own rules"},
		"count(data.nuon.deny) > 0; false": {"rule data.nuon.deny is recursive: data.nuon.deny -> data.nuon.deny"},
	} {
		text := "package nuon\nhelper := true\ndeny contains \"x\" if { " + body + " }\n"
		if diff := cmp.Diff(want, messages(t, text)); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
}

// TestTemplateStrings checks that what stands in a template string is scanned as what it is: text, or code within
// braces.
func TestTemplateStrings(t *testing.T) {
	for text, ok := range map[string]bool{
		`deny contains $"a {input.plan.x} b"`:                 true,
		"deny contains $`a {input.plan.x}\n[ ( b`":            true,
		`deny contains $"\{ [ ( {input.plan.x}"`:              true,
		`deny contains $"{input.plan["]"]}"`:                  true,
		`deny contains "$" if input.plan["{{{"]`:              true,
		`deny contains $"` + strings.Repeat("[", 300) + `"`:   true, // brackets of a text
		`deny contains $"{` + strings.Repeat("[", 100) + `}"`: false,
		`deny contains $"{input.plan.x`:                       false,
		`deny contains "a" if input.plan.x == $`:              false,
	} {
		got := messages(t, "package nuon\n"+text+"\n")
		if (len(got) == 0) != ok {
			t.Errorf("%.100s: %q", text, got)
		}
	}
}
