package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PolicyStatus is the result of a policy, or the severity of one of its messages.
type PolicyStatus string

// The results of a policy, most severe first. PolicyNotEvaluated means that the policy, or a part of
// it, did not decide: nothing is known about the plan.
const (
	PolicyDeny         PolicyStatus = "deny"
	PolicyNotEvaluated PolicyStatus = "not_evaluated"
	PolicyWarn         PolicyStatus = "warn"
	PolicyPass         PolicyStatus = "pass"
)

// policyStatuses lists the results, most severe first.
var policyStatuses = []PolicyStatus{PolicyDeny, PolicyNotEvaluated, PolicyWarn, PolicyPass}

// Limits of the results of policies, whose messages are written by others.
const (
	MaxPolicies       = 100
	MaxPolicyMessages = 50
	MaxPolicyText     = 500
)

// PolicyResult is the result of one policy of the app for the plan.
type PolicyResult struct {
	Policy string `json:"policy"`
	// Result is the most severe status of the messages, or PolicyPass without messages.
	Result   PolicyStatus    `json:"result"`
	Messages []PolicyMessage `json:"messages,omitempty"`
	// Omitted counts the messages beyond MaxPolicyMessages.
	Omitted int `json:"omitted,omitempty"`
}

// PolicyMessage is one message of a policy.
type PolicyMessage struct {
	Status PolicyStatus `json:"status"`
	Text   string       `json:"text"`
	// Object is the Kubernetes object that the message is about; empty for a policy of a Terraform plan.
	Object string `json:"object,omitempty"`
}

// NewPolicyResult returns the result of a policy with its messages: the most severe first, without
// duplicates, and no more than a report may have.
func NewPolicyResult(policy string, messages []PolicyMessage) PolicyResult {
	messages = slices.Clone(messages)
	slices.SortFunc(messages, comparePolicyMessages)
	messages = slices.Compact(messages)
	out := PolicyResult{Policy: policy, Result: PolicyPass}
	if len(messages) > 0 {
		out.Result = messages[0].Status
	}
	if out.Omitted = max(len(messages)-MaxPolicyMessages, 0); out.Omitted > 0 {
		messages = messages[:MaxPolicyMessages]
	}
	out.Messages = messages
	return out
}

func comparePolicyMessages(a, b PolicyMessage) int {
	if d := slices.Index(policyStatuses, a.Status) - slices.Index(policyStatuses, b.Status); d != 0 {
		return d
	}
	if d := strings.Compare(a.Object, b.Object); d != 0 {
		return d
	}
	return strings.Compare(a.Text, b.Text)
}

// SetPolicies sets the results of policies and counts them.
func (r *Report) SetPolicies(results []PolicyResult) {
	r.Policies = results
	r.Sort()
	r.Totals = r.Count()
}

// Denied reports whether a policy denies the plan. Nobody may approve such a plan.
func (r *Report) Denied() bool { return r.Totals.Denied > 0 }

// sortPolicies sorts the results by severity, then by name.
func (r *Report) sortPolicies() {
	slices.SortStableFunc(r.Policies, func(a, b PolicyResult) int {
		if d := slices.Index(policyStatuses, a.Result) - slices.Index(policyStatuses, b.Result); d != 0 {
			return d
		}
		return strings.Compare(a.Policy, b.Policy)
	})
}

func (p *PolicyResult) validate() error {
	if p.Policy == "" {
		return errors.New("no name")
	}
	if len(p.Policy) > MaxPolicyText || len(p.Messages) > MaxPolicyMessages || p.Omitted < 0 {
		return errors.New("the result is too large")
	}
	worst := PolicyPass
	for i, m := range p.Messages {
		at := slices.Index(policyStatuses, m.Status)
		if at < 0 {
			return fmt.Errorf("status %q is not known", m.Status)
		}
		if len(m.Text) > MaxPolicyText || len(m.Object) > MaxPolicyText {
			return errors.New("a message is too long")
		}
		if i == 0 {
			worst = m.Status
		}
		if at < slices.Index(policyStatuses, worst) {
			worst = m.Status
		}
	}
	if p.Result != worst {
		return fmt.Errorf("the result is %s, but its messages say %s", p.Result, worst)
	}
	return nil
}

// Symbol returns the sign of the result.
func (p *PolicyResult) Symbol() string { return p.Result.symbol() }

func (s PolicyStatus) symbol() string {
	switch s {
	case PolicyDeny:
		return "✗"
	case PolicyNotEvaluated:
		return "?"
	case PolicyWarn:
		return "!"
	}
	return "✓"
}

// verb returns the status as a sentence's verb.
func (s PolicyStatus) verb() string {
	switch s {
	case PolicyDeny:
		return "denies"
	case PolicyNotEvaluated:
		return "not evaluated"
	case PolicyWarn:
		return "warns"
	}
	return "passes"
}

// Title returns the name of the policy.
func (p *PolicyResult) Title() string { return EscapeText(p.Policy) }

// Headline describes the result, with its message if it has only one.
func (p *PolicyResult) Headline() string {
	if len(p.Messages) == 1 && p.Messages[0].Status == p.Result {
		return p.Result.verb() + ": " + p.Messages[0].text()
	}
	return p.Result.verb()
}

// Details returns the lines below the headline: the messages of a policy with several.
func (p *PolicyResult) Details() []string {
	if len(p.Messages) == 1 && p.Messages[0].Status == p.Result {
		return nil
	}
	var out []string
	for _, m := range p.Messages {
		out = append(out, m.Status.verb()+": "+m.text())
	}
	if p.Omitted > 0 {
		out = append(out, Plural(p.Omitted, "more message", "more messages"))
	}
	return out
}

func (m *PolicyMessage) text() string {
	if m.Object == "" {
		return EscapeText(m.Text)
	}
	return EscapeText(m.Object + ": " + m.Text)
}
