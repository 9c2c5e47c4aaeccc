package rego_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/rego"
	"github.com/nuon-toolkit/nuon/pkg/policy/source/sourcetest"
)

// TestForbiddenFunctionsAreFound writes each forbidden function in every place of a policy that can call one.
func TestForbiddenFunctionsAreFound(t *testing.T) {
	functions := []string{`http.send({"method": "get", "url": "http://x"})`, `net.lookup_ip_addr("x")`, `opa.runtime()`,
		`json.match_schema({}, {"$ref": "file:///etc/passwd"})`, `json.verify_schema({"$ref": "file:///etc/passwd"})`,
		`rego.parse_module("a", "b")`, `trace("x")`}
	for _, call := range functions {
		name, _, _ := strings.Cut(call, "(")
		for place, text := range map[string]string{
			"a condition":      "deny contains \"x\" if { CALL }",
			"an assignment":    "deny contains msg if { msg := CALL }",
			"a unification":    "deny contains msg if { [msg, _] = [\"x\", CALL] }",
			"an argument":      "deny contains \"x\" if { count([CALL]) > 0 }",
			"the head":         "deny contains CALL",
			"a negation":       "deny contains \"x\" if { not CALL }",
			"a comprehension":  "deny contains \"x\" if { x := [y | y := CALL]; count(x) > 0 }",
			"its term":         "deny contains \"x\" if { x := {CALL | true}; count(x) > 0 }",
			"an object":        "deny contains \"x\" if { x := {\"a\": CALL}; x.a }",
			"every":            "deny contains \"x\" if { every x in [1] { x == CALL } }",
			"the list of some": "deny contains \"x\" if { some x in [CALL]; x }",
			"an else branch":   "deny := \"x\" if { input.plan.a } else := CALL if { true }",
			"a function":       "deny contains f(1)\nf(x) := y if { x; y := CALL }",
			"a mocked input":   "deny contains \"x\" if { input.plan with input as CALL }",
			"an index":         "deny contains \"x\" if { input.plan[CALL] }",
			"a default":        "default allow := false\nallow if { CALL }\ndeny contains \"x\" if { not allow }",
		} {
			text = "package nuon\n" + strings.ReplaceAll(text, "CALL", call) + "\n"
			found := rego.Check("p.rego", text)
			sourcetest.CheckUsable(t, text, found)
			if !diagnostic.Diagnostics(found).HasErrors() {
				t.Errorf("%s in %s is accepted: %s", name, place, sourcetest.Format(found))
			}
		}
		// Names alone, which replace another function.
		for _, text := range []string{"deny contains \"x\" if { count([1]) with count as NAME }",
			"deny contains \"x\" if { x := NAME; x }", "import NAME as f\ndeny contains \"x\" if { f({}) }"} {
			text = "package nuon\n" + strings.ReplaceAll(text, "NAME", name) + "\n"
			if found := rego.Check("p.rego", text); !diagnostic.Diagnostics(found).HasErrors() {
				t.Errorf("%q is accepted: %s", text, sourcetest.Format(found))
			}
		}
		old := "package nuon\ndeny[msg] { msg := " + call + " }\n"
		if found := rego.Check("p.rego", old); !diagnostic.Diagnostics(found).HasErrors() {
			t.Errorf("%q is accepted: %s", old, sourcetest.Format(found))
		}
	}
}

// TestFunctionsThatAreNotRepeatable lists the functions of this version of OPA that it takes for not repeatable. One
// that an update adds has to be considered: it may read more than the input of a policy.
func TestFunctionsThatAreNotRepeatable(t *testing.T) {
	want := []string{
		"io.jwt.decode_verify", "io.jwt.encode_sign", "io.jwt.encode_sign_raw", // may check and take the time
		"rand.intn", "time.now_ns", "uuid.rfc4122",
	}
	for _, version := range []string{rego.V0, rego.V1} {
		capabilities := rego.Capabilities(version)
		var got []string
		for _, b := range capabilities.Builtins {
			if b.Nondeterministic {
				got = append(got, b.Name)
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", version, d)
		}
		if capabilities.AllowNet == nil || len(capabilities.AllowNet) > 0 {
			t.Errorf("%s: references are fetched from %v; nil means any host", version, capabilities.AllowNet)
		}
		if capabilities.ContainsFeature(ast.FeatureRegoV2) {
			t.Errorf("%s: has the features of the next version", version)
		}
	}
}

// TestResults checks which values a rule may have: true, a text or an object with msg, and collections of them.
func TestResults(t *testing.T) {
	for rule, want := range map[string]bool{
		`deny := true`: true, `deny := "x"`: true, `deny := {"msg": "x"}`: true, `deny := ["x", 1]`: true,
		`deny contains "x"`: true, `deny contains {"msg": "x", "n": 1}`: true, `deny := input.plan.x`: true,
		`deny contains input.plan.x`: true, `deny := [{"msg": input.plan}]`: true, `deny := []`: true,
		`deny contains x if { some x in input.plan.list }`: true,
		`deny := 1`: false, `deny contains 1`: false, `deny := {"message": "x"}`: false, `deny := null`: false,
		`deny := {"msg": 1}`: false, `deny contains {"a": "x"}`: false, `deny := [1, null]`: false,
		`deny := [["x"]]`: false, `deny contains ["x"]`: false, `deny(x) := "x"`: false, `deny contains null`: false,
	} {
		text := "package nuon\n" + rule + "\n"
		found := rego.Check("p.rego", text)
		if got := !diagnostic.Diagnostics(found).HasErrors(); got != want {
			t.Errorf("%s: accepted is %t\n%s", rule, got, sourcetest.Format(found))
		}
	}
}
