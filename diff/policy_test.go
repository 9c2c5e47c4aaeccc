package diff

import (
	"slices"
	"strings"
	"testing"
)

// TestPolicyResults checks which message decides the result of a policy, what a report counts, and
// which plans a person must answer.
func TestPolicyResults(t *testing.T) {
	deny := PolicyMessage{Status: PolicyDeny, Text: "open to everyone", Object: "Service web"}
	warn := PolicyMessage{Status: PolicyWarn, Text: "no limits"}
	skip := PolicyMessage{Status: PolicyNotEvaluated, Text: "the size is known after apply"}
	for _, c := range []struct {
		messages         []PolicyMessage
		want             PolicyStatus
		denied, personal bool
		headline         string
		details          int
	}{
		{nil, PolicyPass, false, false, "passes", 0},
		{[]PolicyMessage{{Status: PolicyPass, Text: "encrypted"}}, PolicyPass, false, false, "passes: encrypted", 0},
		{[]PolicyMessage{warn, warn}, PolicyWarn, false, false, "warns: no limits", 0},
		{[]PolicyMessage{warn, skip}, PolicyNotEvaluated, false, true, "not evaluated", 2},
		{[]PolicyMessage{warn, skip, deny}, PolicyDeny, true, true, "denies", 3},
		{[]PolicyMessage{deny}, PolicyDeny, true, true, "denies: Service web: open to everyone", 0},
	} {
		r := &Report{Kind: KindKubernetes}
		r.SetPolicies([]PolicyResult{NewPolicyResult("p", c.messages)})
		p := &r.Policies[0]
		if p.Result != c.want || r.Denied() != c.denied || r.NeedsIndividualApproval() != c.personal {
			t.Errorf("%v: result %s, denied %t, individual %t", c.messages, p.Result, r.Denied(), r.NeedsIndividualApproval())
		}
		if p.Headline() != c.headline || len(p.Details()) != c.details {
			t.Errorf("%v: shown as %q and %q", c.messages, p.Headline(), p.Details())
		}
		if err := r.Validate(); err != nil {
			t.Errorf("%v: %v", c.messages, err)
		}
	}
}

// TestPolicyResultsFromElsewhere refuses results that a report does not have: a result milder than
// its messages, unknown statuses, and texts without limits.
func TestPolicyResultsFromElsewhere(t *testing.T) {
	for name, p := range map[string]PolicyResult{
		"milder": {Policy: "p", Result: PolicyPass, Messages: []PolicyMessage{{Status: PolicyDeny, Text: "no"}}},
		"milder last": {Policy: "p", Result: PolicyPass,
			Messages: []PolicyMessage{{Status: PolicyPass}, {Status: PolicyDeny}}},
		"worse":   {Policy: "p", Result: PolicyDeny},
		"unknown": {Policy: "p", Result: "allow"},
		"unnamed": {Result: PolicyPass},
		"long": {Policy: "p", Result: PolicyWarn,
			Messages: []PolicyMessage{{PolicyWarn, strings.Repeat("x", 501), ""}}},
		"many": {Policy: "p", Result: PolicyWarn, Messages: slices.Repeat([]PolicyMessage{{PolicyWarn, "x", ""}}, 51)},
	} {
		r := &Report{Kind: KindKubernetes}
		r.SetPolicies([]PolicyResult{p})
		if r.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	r := &Report{Kind: KindKubernetes}
	r.SetPolicies([]PolicyResult{NewPolicyResult("p", []PolicyMessage{{Status: PolicyDeny, Text: "no"}})})
	r.Totals.Denied = 0
	if r.Validate() == nil {
		t.Error("a report that hides a denial in its totals was accepted")
	}
}
