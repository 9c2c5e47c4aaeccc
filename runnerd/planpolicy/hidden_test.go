package planpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// knowing returns a redactor of values that the plan's author made secret.
func knowing(secrets ...string) func(string) string {
	var known redact.Set
	for _, s := range secrets {
		known.Add([]byte(s))
	}
	return known.String
}

// planOf returns a plan with one resource, of which marks are sensitive.
func planOf(resourceType, after, marks string) []byte {
	return fmt.Appendf(nil, `{"resource_changes": [{"address": "x.y", "type": %q,
		"change": {"actions": ["create"], "after": %s, "after_sensitive": %s}}]}`, resourceType, after, marks)
}

// TestSecretsHideNoDecision checks that a policy decides on what is applied, regardless of what the plan's author makes
// secret.
func TestSecretsHideNoDecision(t *testing.T) {
	admin := []map[string]any{{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": "all"}, "roleRef": map[string]any{"name": "cluster-admin"},
		"privileged": true}}
	const (
		bound      = `deny contains "bound" if { input.review.object.roleRef.name == "cluster-admin" }`
		privileged = `deny contains "privileged" if { input.review.object.privileged }`
		anything   = `deny contains r.address if { some r in input.plan.resource_changes }`
		public     = `deny contains r.address if { r := input.plan.resource_changes[_]; r.change.after.acl == "public-read" }`
		postgres   = `deny contains r.address if { r := input.plan.resource_changes[_]; r.type == "azurerm_postgresql_server" }`
		plain      = `deny contains r.address if { some r in input.plan.resource_changes; not r.change.after.encrypted }`
		european   = `pass contains "Europe" if { not contains(input.plan.resource_changes[0].change.after.region, "us") }`
		pattern    = `deny contains "no" if { regex.match(input.plan.resource_changes[0].change.after.name, "x") }`
		untagged   = `warn contains r.address if { some r in input.plan.resource_changes; r.type == "aws_db" }`
	)
	for _, c := range []struct {
		name, rego string
		in         Input
		secrets    []string
		want       diff.PolicyStatus
		shown      string
	}{
		{"no secret", bound, Input{Objects: admin}, nil, diff.PolicyDeny, "bound"},
		{"the wrapper of objects", bound, Input{Objects: admin}, []string{"review"}, diff.PolicyDeny, "bound"},
		{"a field of the review", bound, Input{Objects: admin}, []string{"object"}, diff.PolicyDeny, "bound"},
		{"a key of an object", privileged, Input{Objects: admin}, []string{"privileged"}, diff.PolicyDeny, ""},
		{"a value of an object", bound, Input{Objects: admin}, []string{"cluster-admin"}, diff.PolicyDeny, ""},
		{"the wrapper of a plan", anything, Input{Plan: planOf("a", `{}`, `{}`)}, []string{"plan"}, diff.PolicyDeny, "x.y"},
		{"a key of a plan", anything, Input{Plan: planOf("a", `{}`, `{}`)}, []string{"resource_changes"},
			diff.PolicyDeny, ""},
		{"a value elsewhere", public, Input{Plan: planOf("a", `{"acl": "public-read"}`, `{}`)}, []string{"public-read"},
			diff.PolicyDeny, ""},
		{"a value marked as sensitive", public, Input{Plan: planOf("a", `{"acl": "public-read"}`, `{"acl": true}`)},
			[]string{"public-read"}, diff.PolicyDeny, ""},
		{"a switch marked as sensitive", plain, Input{Plan: planOf("a", `{"encrypted": false}`, `{"encrypted": true}`)}, nil,
			diff.PolicyDeny, ""},
		{"a part of a type", postgres, Input{Plan: planOf("azurerm_postgresql_server", `{}`, `{}`)}, []string{"postgres"},
			diff.PolicyDeny, ""},
		{"a reason to pass", european, Input{Plan: planOf("a", `{"region": "us-east-1"}`, `{}`)}, []string{"us-east-1"},
			diff.PolicyNotEvaluated, ""},
		{"a failing function", pattern, Input{Plan: planOf("a", `{"name": "["}`, `{"name": true}`)}, nil,
			diff.PolicyNotEvaluated, ""},
		{"a warning", untagged, Input{Plan: planOf("aws_db", `{}`, `{}`)}, []string{"aws_db"}, diff.PolicyWarn, ""},
		{"of no meaning", bound, Input{Objects: []map[string]any{{"kind": "Pod", "note": "cluster-admin"}}},
			[]string{"cluster-admin"}, diff.PolicyPass, ""},
	} {
		c.in.Redact = knowing(c.secrets...)
		got := Evaluate(t.Context(), []api.PolicySpec{policy("p", c.rego)}, c.in)[0]
		if got.Result != c.want {
			t.Errorf("%s: %s, want %s: %v", c.name, got.Result, c.want, got.Messages)
		}
		if c.want != diff.PolicyPass && len(got.Messages) > 0 && got.Messages[0].Text != cmp.Or(c.shown, reasonNotShown) {
			t.Errorf("%s: %v", c.name, got.Messages)
		}
	}
}

// TestPoliciesSpellNoSecret has a policy for each letter of a secret, and for each of its places: of all that they
// find, a plan reveals one policy.
func TestPoliciesSpellNoSecret(t *testing.T) {
	const secret = "correct-horse"
	for status, rule := range map[diff.PolicyStatus]string{
		diff.PolicyDeny:         "deny contains input.review.name if { %s }",
		diff.PolicyWarn:         "warn contains input.review.name if { %s }",
		diff.PolicyNotEvaluated: "deny contains input.review.name if { %s; to_number(input.review.object.copy) > 1 }",
	} {
		var policies []api.PolicySpec
		for i := range 26 {
			name := string(rune('a' + i))
			policies = append(policies, policy(name, fmt.Sprintf(rule, fmt.Sprintf(
				`substring(input.review.object.copy, to_number(input.review.name), 1) == %q`, name))))
		}
		var objects []map[string]any
		for i := range secret {
			objects = append(objects, map[string]any{"kind": "ConfigMap", "copy": secret,
				"metadata": map[string]any{"name": fmt.Sprint(i)}})
		}
		results := Evaluate(t.Context(), policies, Input{Objects: objects, Redact: knowing(secret)})
		revealed := 0
		for _, r := range results {
			has := func(status diff.PolicyStatus, text string) bool {
				return slices.Contains(r.Messages, diff.PolicyMessage{Status: status, Text: text})
			}
			switch {
			case r.Policy == "c" && r.Result == status && has(status, reasonNotShown):
				revealed++
			case !has(diff.PolicyNotEvaluated, "policy c depends on a masked value, and this one may, too"):
				t.Errorf("%s: policy %s: %v", status, r.Policy, r.Messages)
			}
		}
		if revealed != 1 {
			t.Errorf("%s: %d policies reveal that they fire", status, revealed)
		}
	}
}

// TestSecretsHaveNoDecision checks that no evaluation reads the values of Secrets in a cluster, which may be the
// customer's.
func TestSecretsHaveNoDecision(t *testing.T) {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"},
		"data": map[string]any{"password": "YWJj"}}
	in := Input{Objects: []map[string]any{secret}, Redact: knowing("YWJj")}
	found := policy("p", `deny contains "found" if { input.review.object.data.password == "YWJj" }`)
	if got := Evaluate(t.Context(), []api.PolicySpec{found}, in)[0]; got.Result != diff.PolicyPass {
		t.Errorf("a policy read the value of a Secret: %v", got)
	}
}
