package planpolicy

import (
	"context"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
)

const planJSON = `{
  "format_version": "1.2",
  "variables": {"password": {"value": "hunter2hunter2"}, "region": {"value": "eu-west-1"}},
  "configuration": {"root_module": {"variables": {"password": {"sensitive": true}, "region": {}}}},
  "planned_values": {"outputs": {"token": {"sensitive": true, "value": "planned-token"}},
    "root_module": {"resources": [{"address": "aws_db.main",
      "values": {"password": "planned-password", "size": 20}, "sensitive_values": {"password": true}}]}},
  "resource_changes": [{"address": "aws_db.main", "type": "aws_db", "change": {"actions": ["delete", "create"],
    "before": {"password": "before-password", "public": false},
    "after": {"password": "after-password", "public": true, "note": "uses known-secret-value"},
    "before_sensitive": {"password": true}, "after_sensitive": {"password": true}}}]
}`

func policy(name, rego string) api.PolicySpec {
	return api.PolicySpec{Name: name, Engine: api.Opa, Contents: "package nuon\n" + rego}
}

func redactor() func(string) string {
	var known redact.Set
	known.Add([]byte("known-secret-value"))
	return known.String
}

func onPlan(t *testing.T, p api.PolicySpec) diff.PolicyResult {
	t.Helper()
	results := Evaluate(t.Context(), []api.PolicySpec{p}, Input{Plan: []byte(planJSON), Redact: redactor()})
	if len(results) != 1 || results[0].Policy != p.Name {
		t.Fatalf("results of %s: %v", p.Name, results)
	}
	r := &diff.Report{Kind: diff.KindTerraform}
	if r.SetPolicies(results); r.Validate() != nil {
		t.Fatalf("%s: %v", p.Name, r.Validate())
	}
	return results[0]
}

// TestEvaluate checks what each form of a rule decides about a plan.
func TestEvaluate(t *testing.T) {
	const public = `some r in input.plan.resource_changes; r.change.after.public`
	for _, c := range []struct {
		name, rego string
		want       diff.PolicyStatus
		headline   string
	}{
		{"deny", `deny contains msg if { ` + public + `; msg := sprintf("%s is public", [r.address]) }`,
			diff.PolicyDeny, "denies: aws_db.main is public"},
		{"older language", "deny[msg] { r := input.plan.resource_changes[_]; r.change.after.public; msg := \"public\" }",
			diff.PolicyDeny, "denies: public"},
		{"object", `deny contains {"msg": "no", "id": 7} if { ` + public + ` }`, diff.PolicyDeny, "denies: no"},
		{"true", `deny if { ` + public + ` }`, diff.PolicyDeny, "denies: (without a message)"},
		{"warn", `warn contains "mind it" if { ` + public + ` }`, diff.PolicyWarn, "warns: mind it"},
		{"pass", `pass contains "in Europe" if { input.plan.variables.region.value == "eu-west-1" }`,
			diff.PolicyPass, "passes: in Europe"},
		{"does not apply", `deny contains "no" if { input.plan.variables.region.value == "us-east-1" }`,
			diff.PolicyPass, "passes"},
		{"a function that fails", `deny contains "no" if { to_number(input.plan.variables.region.value) > 1 }`,
			diff.PolicyNotEvaluated, "not evaluated: deny could not be evaluated: "},
		{"not Rego", `deny contains`, diff.PolicyNotEvaluated, "not evaluated: the policy has errors: "},
		{"calls the network", `deny contains r.body if { r := http.send({"method": "get", "url": "http://x"}) }`,
			diff.PolicyNotEvaluated, "not evaluated: the policy has errors: "},
	} {
		got := onPlan(t, policy(c.name, c.rego))
		if got.Result != c.want || !strings.HasPrefix(got.Headline(), c.headline) {
			t.Errorf("%s: %s, %q", c.name, got.Result, got.Headline())
		}
	}
	kyverno := api.PolicySpec{Name: "k", Engine: api.Kyverno, Contents: "kind: ClusterPolicy"}
	if got := onPlan(t, kyverno); got.Result != diff.PolicyNotEvaluated {
		t.Errorf("a Kyverno policy: %s", got.Result)
	}
}

// TestPoliciesSeeNoSecret prints everything that a policy can read, also encoded, and finds no secret
// in it.
func TestPoliciesSeeNoSecret(t *testing.T) {
	whole := policy("whole", `
deny contains json.marshal(part) if { some part in input.plan }
warn contains base64.encode(sprintf("%v", [value])) if { walk(input.plan, [_, value]); is_string(value) }
pass contains concat("", reverse_chars) if {
	walk(input.plan, [path, value]); path[count(path) - 1] == "password"; is_string(value)
	reverse_chars := [substring(value, i, 1) | some i in numbers.range(count(value) - 1, 0)]
}`)
	result := onPlan(t, whole)
	if result.Result != diff.PolicyDeny {
		t.Fatalf("the policy was not evaluated: %v", result)
	}
	everything := ""
	for _, m := range result.Messages {
		everything += m.Text + "\n"
	}
	if !strings.Contains(everything, masked) || !strings.Contains(everything, "eu-west-1") {
		t.Errorf("the policy saw too little: %s", everything)
	}
	object := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"},
		"data": map[string]any{"password": "YWJj"}, "stringData": map[string]any{"user": "abc"}}
	results := Evaluate(t.Context(), []api.PolicySpec{policy("objects", `
deny contains json.marshal(input.review.object)`)}, Input{Objects: []map[string]any{object}, Redact: redactor()})
	everything += results[0].Headline()
	nested := map[string]any{"apiVersion": "work.example/v1", "kind": "ManifestWork", "metadata": map[string]any{
		"annotations": map[string]any{lastApplied: `{"stringData":{"user":"repeated"}}`}}, "manifests": []any{
		map[string]any{"kind": "Secret", "data": map[string]any{"password": "bmVzdGVk"}, "stringData": "unusual"}}}
	results = Evaluate(t.Context(), []api.PolicySpec{policy("objects", `
deny contains json.marshal(input.review.object)`)}, Input{Objects: []map[string]any{nested}, Redact: redactor()})
	everything += results[0].Headline() + strings.Join(results[0].Details(), "\n")
	for _, secret := range []string{"bmVzdGVk", "unusual", "repeated", "hunter2", "planned-token",
		"planned-password", "before-password", "after-password",
		"known-secret", "YWJj", `"abc"`, "aGludGVy", "2retnuh", "drowssap-"} {
		if strings.Contains(everything, secret) {
			t.Errorf("a policy saw %s:\n%s", secret, everything)
		}
	}
	if object["data"].(map[string]any)["password"] != "YWJj" {
		t.Error("the object that is applied was changed")
	}
}

// TestObjects evaluates a policy once for each object, and names the objects in the messages.
func TestObjects(t *testing.T) {
	pod := func(name string, privileged bool) map[string]any {
		return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": name, "namespace": "kube-system"},
			"spec":     map[string]any{"privileged": privileged}}
	}
	results := Evaluate(t.Context(), []api.PolicySpec{policy("p", `deny contains "privileged" if {
	input.review.kind.kind == "Deployment"; input.review.kind.group == "apps"
	input.review.object.spec.privileged; input.review.object.metadata.namespace == "kube-system" }`)},
		Input{Objects: []map[string]any{pod("a", true), pod("b", false), pod("c", true)}, Redact: redactor()})
	if got := strings.Join(results[0].Details(), "\n"); got !=
		"denies: Deployment a: privileged\ndenies: Deployment c: privileged" {
		t.Errorf("got %q", got)
	}
}

// TestHostilePolicies bounds what a policy costs, and how much it says.
func TestHostilePolicies(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	endless := policy("endless", `deny contains "x" if { some i in numbers.range(1, 1000000000); i < 0 }`)
	in := Input{Plan: []byte(planJSON), Redact: redactor()}
	if got := Evaluate(ctx, []api.PolicySpec{endless}, in)[0]; got.Result != diff.PolicyNotEvaluated {
		t.Errorf("an evaluation that was canceled: %s", got.Result)
	}
	many := onPlan(t, policy("many", `deny contains sprintf("%d %s", [i, longest]) if { some i in numbers.range(1, 500) }
longest := concat("", ["äöü" | some _ in numbers.range(1, 300)])`))
	if len(many.Messages) != diff.MaxPolicyMessages || many.Omitted != 450 ||
		len(many.Messages[0].Text) > diff.MaxPolicyText {
		t.Errorf("%d messages, %d omitted", len(many.Messages), many.Omitted)
	}
	broken := Input{Plan: []byte("{"), Redact: redactor()}
	if got := Evaluate(t.Context(), []api.PolicySpec{endless}, broken)[0]; got.Result != diff.PolicyNotEvaluated {
		t.Errorf("a plan that cannot be read: %s", got.Result)
	}
	if got := Evaluate(t.Context(), make([]api.PolicySpec, diff.MaxPolicies+50), in); len(got) != diff.MaxPolicies {
		t.Errorf("%d results", len(got))
	}
}
