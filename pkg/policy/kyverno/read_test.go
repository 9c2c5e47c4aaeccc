package kyverno_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/policy/kyverno"
	"github.com/nuon-toolkit/nuon/pkg/policy/source/sourcetest"
)

// TestMergedKeys checks that the keys of a map win over those that it merges, wherever the merge stands.
func TestMergedKeys(t *testing.T) {
	const before = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n" +
		"    - &base\n      name: base\n      match: {any: [{resources: {kinds: [Pod]}}]}\n" +
		"      validate: {message: of base, deny: {}}\n"
	for name, rule := range map[string]string{
		"first":       "    - <<: *base\n      name: own\n      validate: {message: own, deny: {}}\n",
		"last":        "    - name: own\n      validate: {message: own, deny: {}}\n      <<: *base\n",
		"in the list": "    - name: own\n      <<: [{name: other}, *base]\n      validate: {message: own, deny: {}}\n",
		"of a merge":  "    - <<: {<<: *base, name: other}\n      name: own\n      validate: {message: own, deny: {}}\n",
	} {
		policies, found := kyverno.Read("p.yaml", before+rule)
		if len(found) > 0 || len(policies) != 1 || len(policies[0].Spec.Rules) != 2 {
			t.Errorf("%s: %d policies, %s", name, len(policies), sourcetest.Format(found))
			continue
		}
		got := policies[0].Spec.Rules[1]
		if got.Name != "own" || got.Validate.Message != "own" || got.Match.Any[0].Resources.Kinds[0] != "Pod" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestVariables checks what is reported of the variables in a text.
func TestVariables(t *testing.T) {
	const functions = "is not evaluated here"
	for text, want := range map[string]string{
		"no variable }}": "", "{{ request.object.metadata.name }}": "", "{{request.operation}}{{request.name}}": "",
		"{{ element.name }} {{ element0.name }} {{ elementIndex1 }}": "", "{{ @ }}": "", "{{ floor }}": "",
		// Quotes of JMESPath hide names, braces and parentheses.
		"{{ length(request.object.x[?a == 'lookup(']) }}": "", "{{ '}}' }}": "", "{{ `{\"a\": \"md5(1)\"}` }}": "",
		`{{ "md5(" }}`: "", `\{{ not.one }}`: "",
		// Braces of JMESPath and of nested variables.
		"{{ request.object.{a: x, b: {c: y}} }}": "", "{{ request.object.labels.{{ element }} }}": "",
		"{{ request.object.x": "opened with {{ and not closed", "{{": "opened with {{ and not closed",
		`\{{ a }} {{ request.object.x }`: "opened with {{ and not closed",
		"{{ '{{ ' }} {{ b":               "opened with {{ and not closed",
		"{{ }}":                          "without a name", "{{}}": "without a name",
		"{{ elements.name }}":                `nothing gives the variable "elements" a value`,
		"{{ flor }}":                         `nothing gives the variable "flor" a value`,
		"{{ request.userInfo.username }}":    "the variable request.userInfo " + functions,
		"{{ request.roles[0] }}":             "the variable request.roles " + functions,
		"{{ images.containers.*.name }}":     "the variable images " + functions,
		"{{ serviceAccountName }}":           "the variable serviceAccountName " + functions,
		"{{ length(random('a')) }}":          "the function random " + functions,
		"{{ a.b || lookup(x, y) }}":          "the function lookup " + functions,
		"{{ to_uper(request.object.name) }}": `no function "to_uper"`,
		"{{ request.object.x | md5(@) }}":    "the function md5 " + functions,
		"$(../limits)":                       "a reference such as $(…) " + functions,
	} {
		t.Run(text, func(t *testing.T) {
			policy := strings.Replace(strings.Replace(good, `"{{ request.object.metadata.name }} uses the host's network"`,
				fmt.Sprintf("%q", text), 1), "      match:\n", "      context:\n        - {name: floor, variable: {value: 1}}\n"+
				"      match:\n", 1)
			found := kyverno.Check("p.yaml", policy)
			sourcetest.CheckUsable(t, policy, found)
			if got := sourcetest.Format(found); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("%s\nis reported, and not %q", got, want)
			}
		})
	}
}

// TestScopesOfContexts checks that the names of a context have values in its rule or its entry of foreach, and in no
// other.
func TestScopesOfContexts(t *testing.T) {
	const rule = "    - name: %s\n      match: {any: [{resources: {kinds: [Pod]}}]}\n%s" +
		"      validate: {message: \"%s\", %s}\n"
	const ofRule = "      context: [{name: floor, variable: {value: 1}}]\n"
	each := func(context, key string) string {
		return "foreach: [{list: request.object.x, " + context + "deny: {conditions: {any: [{key: \"" + key +
			"\", operator: Equals, value: b}]}}}, {list: request.object.y, pattern: {a: \"{{ element.a }}\"}}]"
	}
	const inEach = "context: [{name: roof, variable: {value: 1}}], "
	for name, c := range map[string]struct {
		rules []string
		want  string // the name without a value
	}{
		"in its rule":   {[]string{fmt.Sprintf(rule, "a", ofRule, "{{ floor }}", "deny: {}")}, ""},
		"in a foreach":  {[]string{fmt.Sprintf(rule, "a", ofRule, "m", each(inEach, "{{ floor }}{{ roof }}"))}, ""},
		"after foreach": {[]string{fmt.Sprintf(rule, "a", "", "{{ roof }}", each(inEach, "{{ roof }}"))}, "roof"},
		"in an earlier rule": {[]string{fmt.Sprintf(rule, "a", "", "{{ floor }}", "deny: {}"),
			fmt.Sprintf(rule, "b", ofRule, "m", "deny: {}")}, "floor"},
		"in a later rule": {[]string{fmt.Sprintf(rule, "a", ofRule, "{{ floor }}", "deny: {}"),
			fmt.Sprintf(rule, "b", "", "{{ floor }}", "deny: {}")}, "floor"},
		"of a later foreach": {[]string{fmt.Sprintf(rule, "a", "", "m", each(inEach, "b")),
			fmt.Sprintf(rule, "b", "", "m", each("", "{{ roof }}"))}, "roof"},
	} {
		t.Run(name, func(t *testing.T) {
			found := kyverno.Check("p.yaml", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n"+
				"spec:\n  rules:\n"+strings.Join(c.rules, ""))
			want := fmt.Sprintf("nothing gives the variable %q a value", c.want)
			if got := sourcetest.Format(found); c.want == "" && got != "" || c.want != "" && !strings.Contains(got, want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestWhatIsReadIsWhatIsWritten draws policies in the forms that the types have, and checks that a valid one has
// no diagnostic and is read as it was written.
func TestWhatIsReadIsWhatIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
		kinds := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Pod", "v1/Secret", "*", "apps/v1/Deployment", "*/Job"}),
			1, 3, func(kind string) string { return kind }).Draw(t, "kinds")
		quoted := `["` + strings.Join(kinds, `", "`) + `"]`
		action := one("action", "Audit", "Enforce", "audit", "enforce")
		background := one("background", "true", "false")
		match := one("match", "any:\n          - resources: {kinds: %s}", "all: [{resources: {kinds: %s}}]",
			"resources:\n          kinds: %s")
		check := one("check", `pattern: {spec: {=(hostNetwork): "false"}}`, "anyPattern: [{spec: {a: b}}]",
			"deny: {conditions: {any: [{key: a, operator: Equals, value: b}]}}",
			"foreach: [{list: request.object.spec.containers, pattern: {image: a}}]")
		text := "apiVersion: kyverno.io/" + one("version", "v1", "v2beta1") + "\nkind: " +
			one("kind", "Policy", "ClusterPolicy") + "\nmetadata: {name: p}\nspec:\n  validationFailureAction: " + action +
			"\n  background: " + background + "\n  rules:\n    - name: r\n      match:\n        " +
			fmt.Sprintf(match, quoted) + "\n      validate:\n        message: m\n        " + check + "\n"
		policies, found := kyverno.Read("p.yaml", text)
		if len(found) > 0 || len(policies) != 1 {
			t.Fatalf("%s\n%s", text, sourcetest.Format(found))
		}
		spec := policies[0].Spec
		rule := spec.Rules[0]
		filters := append(append(rule.Match.Any, rule.Match.All...), rule.Match.Filter)
		if got := filters[0].Resources.Kinds; strings.Join(got, " ") != strings.Join(kinds, " ") {
			t.Fatalf("%s\nthe kinds are %q", text, got)
		}
		forms := 0
		for _, has := range []bool{rule.Validate.Pattern != nil, rule.Validate.AnyPattern != nil,
			rule.Validate.Deny != nil, len(rule.Validate.Foreach) == 1} {
			if has {
				forms++
			}
		}
		if spec.ValidationFailureAction != action || spec.Background != (background == "true") || forms != 1 {
			t.Fatalf("%s\n%+v", text, spec)
		}
	})
}
