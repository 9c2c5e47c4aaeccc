package kyverno_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/policy/kyverno"
	"github.com/nuon-toolkit/nuon/pkg/policy/source/sourcetest"
)

// policyOf returns a policy whose rules are these lines.
func policyOf(rules ...string) string {
	return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n" +
		strings.Join(rules, "\n") + "\n"
}

const (
	pods       = "match: {any: [{resources: {kinds: [Pod]}}]}"
	everything = "validate: {message: m, deny: {}}"
)

// ruleOf returns a rule that has these members beside its name.
func ruleOf(members ...string) string {
	return "    - name: r\n      " + strings.Join(members, "\n      ")
}

// said returns what is reported of a text: line, rule and message of each diagnostic.
func said(t *testing.T, text string) []string {
	t.Helper()
	found := kyverno.Check("p.yaml", text)
	sourcetest.CheckUsable(t, text, found)
	var all []string
	for _, d := range found {
		all = append(all, fmt.Sprintf("%d %s: %s", d.Line, strings.TrimPrefix(d.Rule, "kyverno-"), d.Message))
	}
	return all
}

// later is what is reported of a part on a line that nothing here evaluates.
func later(line int, what string) string {
	return fmt.Sprintf("%d not-evaluated: %s is not evaluated here: the Kyverno of the install's cluster decides", line,
		what)
}

// checkSaid compares what is reported of policies with what should be.
func checkSaid(t *testing.T, tests map[string][]string) {
	t.Helper()
	for text, want := range tests {
		if diff := cmp.Diff(want, said(t, text)); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", text, diff)
		}
	}
}

// TestSubresources checks which kinds are taken for a part of an object. A group contains dots and a version is
// a separate part, so neither makes a subresource.
func TestSubresources(t *testing.T) {
	for kind, want := range map[string]bool{
		"Pod": false, "v1/Pod": false, "apps/v1/Deployment": false, "*/Job": false, "batch/*/Job": false, "*": false,
		"networking.k8s.io/v1/NetworkPolicy": false, "*/*": false, "Pod.": false, "Pod/": false,
		"acme.io/v1/Widget.part": false, // the dot stands behind a slash
		"Pod/exec":               true, "v1/Pod/exec": true, "apps/v1/Deployment/scale": true, "Pod.status": true,
		"*/status":   true,
		"Pod/attach": true, "Pod/zone": true, "Pod/Exec": false,
		"{{ request.kind }}/exec": false,
	} {
		for _, key := range []string{"match", "exclude"} {
			members := []string{pods, key + ": {all: [{resources: {kinds: [" + fmt.Sprintf("%q", kind) + "]}}]}", everything}
			if key == "match" {
				members = members[1:]
			}
			line := 6 + len(members) - 1
			var expected []string
			if want {
				expected = []string{later(line, fmt.Sprintf("the subresource %q", kind))}
			}
			if diff := cmp.Diff(expected, said(t, policyOf(ruleOf(members...)))); diff != "" {
				t.Errorf("%s in %s: %s", kind, key, diff)
			}
		}
	}
}

// TestForms checks which forms match and exclude may have, and which of them a rule needs.
func TestForms(t *testing.T) {
	one := "{resources: {kinds: [Pod]}}"
	checkSaid(t, map[string][]string{
		policyOf(ruleOf("match: {all: ["+one+"]}", everything)):                nil,
		policyOf(ruleOf("match: {resources: {kinds: [Pod]}}", everything)):     nil,
		policyOf(ruleOf("match: {any: ["+one+"]}", "exclude: {}", everything)): nil, // it excludes nothing
		policyOf(ruleOf("match: {any: ["+one+"], all: ["+one+"]}", everything)): {
			"7 rule: match has any and all, and may have only one form"},
		policyOf(ruleOf("match: {all: ["+one+"], resources: {kinds: [Pod]}}", everything)): {
			"7 rule: match has all and resources, and may have only one form"},
		policyOf(ruleOf(pods, "exclude: {any: ["+one+"], resources: {kinds: [Pod]}}", everything)): {
			"8 rule: exclude has any and resources, and may have only one form"},
		// The older form has several keys.
		policyOf(ruleOf("match: {resources: {kinds: [Pod]}, subjects: [{kind: User, name: u}]}", everything)): {
			later(7, "subjects")},
		policyOf(ruleOf("match: {roles: [a], clusterRoles: [b]}", everything)): {
			later(7, "roles"), later(7, "clusterRoles")},
		policyOf(ruleOf("match: {any: null}", everything)):            {"7 missing: match chooses nothing"},
		policyOf(ruleOf("match: [Pod]", everything)):                  {"7 shape: match must be a map, and is a list"},
		policyOf(ruleOf("match: {any: ["+one+", null]}", everything)): {"7 shape: an entry of any is empty"},
		policyOf(ruleOf("match: {any: [Pod]}", everything)): {
			"7 shape: an entry of any must be a map, and is a text"},
		policyOf(ruleOf("match: {any: [{resources: {kinds: [Pod], selector: {matchExpressions: [{key: a, operator: "+
			"Has}]}}}]}", everything)): {later(7, "selector"), `7 value: operator cannot be "Has"`},
		policyOf(ruleOf("match: {any: [{subjects: [{kind: User}]}]}", everything)): {
			later(7, "subjects"), "7 missing: subjects has no name"},
		policyOf(ruleOf("match: {any: [{resources: {operations: [create]}}]}", everything)): {
			later(7, "operations"), `7 value: operations cannot be "create"`},
		policyOf(ruleOf("<<: {match: {any: ["+one+"]}}", everything)):               nil,
		policyOf(ruleOf("match: {<<: {any: ["+one+"]}}", everything)):               nil,
		policyOf(ruleOf(pods, "validate: {<<: {message: m}, <<: {deny: {}}}")):      nil,
		policyOf(ruleOf(pods, everything, "<<: {validate: {message: n, cel: {}}}")): nil,
		policyOf(ruleOf("match: {any: [{resources: {names: a}}]}",
			everything)): {"7 shape: names must be a list, and is a text"},
		policyOf(ruleOf(pods,
			"validate: [deny]")): {"8 shape: validate must be a map, and is a list"},
		policyOf(ruleOf(pods,
			"mutate: text")): {"8 shape: mutate must be a map, and is a text"},
		policyOf(ruleOf(pods,
			"mutate: {patchStrategicMerge: {a: b}, foreach: []}")): {
			"8 rule: mutate has patchStrategicMerge and foreach, and may have only one of them"},
	})
}

// TestOperators checks that an operator which is not evaluated is reported at each place where a rule has
// conditions, and no other operator.
func TestOperators(t *testing.T) {
	condition := func(operator string) string { return "{key: a, operator: " + operator + ", value: b}" }
	for form, text := range map[string]string{
		"preconditions":          ruleOf(pods, "preconditions: {all: [%s]}", everything),
		"any of preconditions":   ruleOf(pods, "preconditions: {any: [%s]}", everything),
		"the older form":         ruleOf(pods, "preconditions: [%s]", everything),
		"deny":                   ruleOf(pods, "validate: {message: m, deny: {conditions: {any: [%s]}}}"),
		"the older form of deny": ruleOf(pods, "validate: {message: m, deny: {conditions: [%s]}}"),
		"foreach": ruleOf(pods,
			"validate: {message: m, foreach: [{list: a, preconditions: {all: [%s]}, pattern: {}}]}"),
		"deny of foreach": ruleOf(pods,
			"validate: {message: m, foreach: [{list: a, deny: {conditions: {all: [%s]}}}]}"),
		"the second one of foreach": ruleOf(pods,
			"validate: {message: m, foreach: [{list: a, pattern: {}}, {list: b, deny: {conditions: [%s]}}]}"),
		"foreach of mutate": ruleOf(pods,
			"mutate: {foreach: [{list: a, preconditions: {any: [%s]}, patchStrategicMerge: {a: b}}]}"),
	} {
		for operator, reported := range map[string]bool{"GreaterThan": true, "DurationLessThanOrEquals": true,
			"Equals":   false,
			"AnyNotIn": false, "In": false} {
			var want []string
			if reported {
				line := 8 // that of the conditions
				want = []string{later(line, "the operator "+operator)}
			}
			got := said(t, policyOf(fmt.Sprintf(text, condition(operator))))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in %s: %s", operator, form, diff)
			}
		}
		got := said(t, policyOf(fmt.Sprintf(text, condition("Equal")+", "+condition("LessThan"))))
		if diff := cmp.Diff([]string{later(8, "the operator LessThan")}, got); diff != "" {
			t.Errorf("a second condition in %s: %s", form, diff)
		}
	}
}

// TestScalars checks the values that each kind of field takes.
func TestScalars(t *testing.T) {
	in := func(field, value string) string {
		return "apiVersion: kyverno.io/v1\nkind: Policy\nmetadata: {name: p}\nspec:\n  " + field + ": " + value +
			"\n  rules:\n" + ruleOf(pods, everything) + "\n"
	}
	for value, want := range map[string]string{"true": "", "no": "", "On": "", "y": "", "FALSE": "", "N": "", "off": "",
		`"true"`: "background must be true or false, and is a text",
		"1":      "background must be true or false, and is a whole number",
		"maybe":  "background must be true or false, and is a text", "[]": "background must be true or false, and is a list",
		"{}": "background must be true or false, and is a map"} {
		checkOne(t, in("background", value), 5, want)
	}
	for value, want := range map[string]string{"10": "", "0x1f": "",
		"99999999999999999999": "webhookTimeoutSeconds must be a whole number, and is a number",
		"1.5":                  "webhookTimeoutSeconds must be a whole number, and is a number",
		`"10"`:                 "webhookTimeoutSeconds must be a whole number, and is a text",
		"[1]":                  "webhookTimeoutSeconds must be a whole number, and is a list",
		"true":                 "webhookTimeoutSeconds must be a whole number, and is true or false"} {
		checkOne(t, in("webhookTimeoutSeconds", value), 5, want)
	}
	for value, want := range map[string]string{"All": "", `"One"`: "", "null": "", `"{{ request.x }}"`: "",
		"1": `applyRules must be a text, and "1" is not one`, "true": `applyRules must be a text, and "true" is not one`,
		"[All]": "applyRules must be a text, and is a list", "all": `applyRules cannot be "all"`,
		"2026-01-02": `applyRules cannot be "2026-01-02"`} {
		if strings.Contains(value, "request") {
			continue // what a variable gives is reported as such, see TestVariables
		}
		checkOne(t, in("applyRules", value), 5, want)
	}
	for labels, want := range map[string]string{"{a: b}": "", "{a: 5}": `a must be a text, and "5" is not one`,
		"[a]": "labels must be a map of texts, and is a list", "{a: {b: c}}": "a must be a text, and is a map",
		"a": "labels must be a map of texts, and is a text", "{a: null}": "",
		"{[a]: b}": "a key must be a text, and is a list"} {
		text := strings.Replace(in("background", "true"), "{name: p}", "{name: p, labels: "+labels+"}", 1)
		checkOne(t, text, 3, want)
	}
	for name, want := range map[string]string{strings.Repeat("a", 63): "", "{{ .nuon.install.id }}" + strings.Repeat("a",
		63): "",
		strings.Repeat("a", 64): "the name of a rule has at most 63 characters, and this one has 64"} {
		checkOne(t, policyOf(strings.Replace(ruleOf(pods, everything), "name: r", "name: \""+name+"\"", 1)), 6, want)
	}
}

// checkOne checks that one message is reported of a line, or nothing.
func checkOne(t *testing.T, text string, line int, want string) {
	t.Helper()
	got := said(t, text)
	if want == "" && len(got) == 0 {
		return
	}
	if len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprint(line, " ")) || !strings.HasSuffix(got[0], ": "+want) {
		t.Errorf("%s\n%q, want %q", text, got, want)
	}
}

// TestKindsOfDocuments checks which documents are policies that are evaluated here, and what is reported of others.
func TestKindsOfDocuments(t *testing.T) {
	for head, want := range map[string]string{
		"kyverno.io/v1 Policy": "", "kyverno.io/v2beta1 ClusterPolicy": "",
		"kyverno.io/v2 ClusterPolicy": `there is no ClusterPolicy of "kyverno.io/v2"`,
		"v1 Policy":                   `there is no Policy of "v1"`,
		"kyverno.io/v2 PolicyException": "a PolicyException of kyverno.io/v2 is not evaluated here: the install's cluster " +
			"decides",
		"kyverno.io/v2alpha1 GlobalContextEntry": "a GlobalContextEntry of kyverno.io/v2alpha1 is not evaluated here: the " +
			"install's cluster decides",
		"policies.kyverno.io/v1alpha1 ImageValidatingPolicy": "a ImageValidatingPolicy of policies.kyverno.io/v1alpha1 is " +
			"not " +
			"evaluated here: the install's cluster decides",
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy": "a ValidatingAdmissionPolicy of " +
			"admissionregistration.k8s.io/v1 is not evaluated here: the install's cluster decides",
		"other.io/v1 CleanupPolicy": `a "CleanupPolicy" of "other.io/v1" is no Kyverno policy`,
		"kyverno.io/v1 Deployment":  `Kyverno has no kind "Deployment"`,
		"kyverno.io/v1 [a]":         "kind must be a text, and is a list",
	} {
		version, kind, _ := strings.Cut(head, " ")
		text := "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: p}\nspec:\n  rules:\n" +
			ruleOf(pods, everything) + "\n"
		line := 2
		if strings.HasPrefix(want, "there is no") {
			line = 1
		}
		if strings.Contains(head, "[") {
			if got := said(t, text); len(got) == 0 {
				t.Errorf("%s is accepted", head)
			}
			continue
		}
		checkOne(t, text, line, want)
	}
	// A document that is not evaluated is left out, and the others are read.
	other := "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\n---\n"
	if policies, found := kyverno.Read("p.yaml", other+good); len(policies) != 1 || len(found) != 1 {
		t.Errorf("%d policies, %s", len(policies), sourcetest.Format(found))
	}
	if policies, found := kyverno.Read("p.yaml", good+"---\nkind: [\n"); policies != nil || len(found) != 1 ||
		found[0].Line != 19 {
		t.Errorf("%d policies of a broken text, %s", len(policies), sourcetest.Format(found))
	}
	if policies, _ := kyverno.Read("p.yaml", good); len(policies) != 1 || policies[0].Spec.Background ||
		!mustRead(t, strings.Replace(good, "spec:\n", "spec:\n  background: yes\n  webhookTimeoutSeconds: 7\n",
			1)).Spec.Background {
		t.Error("background is not read as it is written")
	}
	with := mustRead(t, strings.Replace(good, "  name: no-host-network", "  name: p\n  labels: {team: a}", 1))
	if with.Metadata.Labels["team"] != "a" {
		t.Errorf("the labels are %v", with.Metadata.Labels)
	}
}

func mustRead(t *testing.T, text string) kyverno.Policy {
	t.Helper()
	policies, found := kyverno.Read("p.yaml", text)
	if len(policies) != 1 || len(found) > 0 {
		t.Fatalf("%d policies, %s", len(policies), sourcetest.Format(found))
	}
	return policies[0]
}

// TestVariablesAreReportedOnce checks that a name is reported at its first place only, and where in a policy
// variables are found: in values, keys and elements of any part.
func TestVariablesAreReportedOnce(t *testing.T) {
	message := func(text string) string { return "validate: {message: \"" + text + "\", deny: {}}" }
	checkSaid(t, map[string][]string{
		policyOf(ruleOf(pods,
			message("{{ images.a }} {{ images.b }} $(a) $(b) {{ request.userInfo.a }} {{ request.userInfo.b }}"))): {
			later(8, "a reference such as $(…)"), later(8, "the variable images"), later(8, "the variable request.userInfo")},
		policyOf(ruleOf(pods, message("{{ lookup(a, b) }} {{ lookup(c, d) }} {{ nonsense(1) }} {{ nonsense(2) }}"))): {
			later(8, "the function lookup"), `8 variable: there is no function "nonsense" that is known here`},
		policyOf(ruleOf(pods,
			message("{{ typo.a }} {{ typo.b }} {{ request.roles }} {{ request.namespace }} {{ request.oldObject.a }}"))): {
			`8 variable: nothing gives the variable "typo" a value`, later(8, "the variable request.oldObject"),
			later(8, "the variable request.roles")},
		policyOf(ruleOf(pods, "validate: {message: m, pattern: {\"{{ images.a }}\": b}}")): {later(8,
			"the variable images")},
		policyOf(ruleOf(pods, "validate: {message: m, pattern: {a: [b, {c: \"{{ images.a }}\"}]}}")): {later(8,
			"the variable images")},
		policyOf(ruleOf(pods, "validate: {message: m, anyPattern: [{a: \"$(../b)\"}]}")): {later(8,
			"a reference such as $(…)")},
		policyOf(ruleOf(pods, message("{{ request }} {{ request.object }} {{ requests.object }}"))): {
			`8 variable: nothing gives the variable "requests" a value`},
		policyOf(ruleOf(pods, message("{{ elementIndex }} {{ element12.a }} {{ elementIndex3 }} {{ images2 }}"))): {
			`8 variable: nothing gives the variable "images2" a value`},
		policyOf(ruleOf(pods,
			message("{{ request.object.metadata.lookup }} {{ request.object.a.md5 }} {{ sha256(request.name) }}"))): {
			later(8, "the function sha256")},
		policyOf(ruleOf(pods, message("{{ request.object.a | to_upper(@) }} {{ zip(a, b) }} {{ Length(a) }}"))): {
			later(8, "the function to_upper"), later(8, "the function zip"),
			`8 variable: there is no function "Length" that is known here`},
		policyOf(ruleOf(pods, message("{{ 'it is images(' }} {{ '{{' }} {{ request.object.\\\"a-b\\\" }}"))): nil,
		policyOf(ruleOf(pods, message("{{ `images(` || 'x }}"))):                                             nil,
		// what stands behind an open quote is a text
		policyOf(ruleOf(pods, message("{{ .nuon.install.id }} {{ images.a }}"))): nil,
		// rendered before it is checked
	})
}

// TestVariablesOfSeveralTexts checks that a name is reported once for a policy, and once for each policy of a text.
func TestVariablesOfSeveralTexts(t *testing.T) {
	first := policyOf(ruleOf(pods,
		"validate: {message: \"{{ images.a }} $(a)\", pattern: {a: \"$(b)\", b: \"{{ images.b }}\"}}"))
	second := strings.Replace(policyOf(ruleOf(pods, "validate: {message: \"{{ typo }}\", deny: {}}")), "{name: p}",
		"{name: q}", 1)
	lines := strings.Count(first, "\n") + 1
	checkSaid(t, map[string][]string{
		first: {later(8, "a reference such as $(…)"), later(8, "the variable images")},
		first + "---\n" + second: {later(8, "a reference such as $(…)"), later(8, "the variable images"),
			fmt.Sprintf("%d variable: nothing gives the variable \"typo\" a value", lines+8)},
		first + "---\n" + first: {later(8, "a reference such as $(…)"), later(8, "the variable images"),
			later(lines+8, "a reference such as $(…)"), later(lines+8, "the variable images")},
		// Only the name that an expression begins with has to have a value.
		policyOf(ruleOf(pods, "validate: {message: \"{{ request.object.a || other }} {{ [other][0] }}\", deny: {}}")): nil,
	})
}

// TestPlacesOfMessages checks the columns of what is reported of values in quotes, in several lines and behind
// expressions of this product, and that long values are not underlined.
func TestPlacesOfMessages(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(good, "Enforce", "'Never'", 1):                                                       "6:28+7",
		strings.Replace(good, "Enforce", "\"Never\"", 1):                                                     "6:28+7",
		strings.Replace(good, "Enforce", ">-\n    Never", 1):                                                 "6:28+0",
		strings.Replace(good, "Enforce", "!!str Never", 1):                                                   "6:28+0",
		strings.Replace(good, "Enforce", strings.Repeat("n", 1000), 1):                                       "6:28+1000",
		strings.Replace(good, "Enforce", strings.Repeat("n", 1001), 1):                                       "6:28+0",
		strings.Replace(good, "name: no-host-network\n", "name: {{ .nuon.install.id }}\n  x: 1\n", 1):        "5:3+1",
		strings.Replace(good, "name: no-host-network\n", "name: \"{{ .nuon.install.id\n  }}\"\n  x: 1\n", 1): "6:3+1",
	} {
		found := kyverno.Check("p.yaml", text)
		sourcetest.CheckUsable(t, text, found)
		if len(found) != 1 || fmt.Sprintf("%d:%d+%d", found[0].Line, found[0].Column, found[0].Width) != want {
			t.Errorf("%s\n%.300s, want %s", text[:min(len(text), 200)], sourcetest.Format(found), want)
		}
	}
}

// TestKeysThatAreExpressions checks that keys which templates of this product make are not taken to be the same.
func TestKeysThatAreExpressions(t *testing.T) {
	pattern := "{ \"{{ .nuon.a.one }}\": x, \"{{ .nuon.a.two }}\": y }"
	checkSaid(t, map[string][]string{
		policyOf(ruleOf(pods, "validate: {message: m, pattern: "+pattern+"}")): nil,
		policyOf(ruleOf(pods, everything), strings.Replace(ruleOf(pods, everything), "name: r", "name: \"{{ .nuon.a }}\"", 1),
			strings.Replace(ruleOf(pods, everything), "name: r", "name: \"{{ .nuon.a }}\"", 1)): nil,
		policyOf(ruleOf(pods, everything), "    - null", ruleOf(pods, everything)): {
			"9 shape: a rule is empty", `10 duplicate: another rule of this policy is called "r", too`},
		"{{ if .nuon.a }}\nthis: [is not YAML\n{{ end }}\n":         nil, // it is YAML only after it is rendered
		"{{- range $x := .nuon.a }}\nthis: [is not YAML\n{{ end }}": nil,
	})
}
