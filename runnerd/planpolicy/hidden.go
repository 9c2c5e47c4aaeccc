package planpolicy

import (
	"context"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// evaluation is what one policy decided.
type evaluation struct {
	messages []diff.PolicyMessage
	// opa is true if the policy was evaluated on every input.
	opa bool
	// hidden is the most severe status that the policy has on the exact input alone, or "".
	hidden diff.PolicyStatus
}

// severity lists the statuses that can be hidden, most severe first.
var severity = []diff.PolicyStatus{diff.PolicyDeny, diff.PolicyNotEvaluated, diff.PolicyWarn}

// hidden evaluates the exact inputs, because the plan's author chooses which values are secret, and replacing them
// must not change what a policy decides. It skips inputs without a difference, and returns the most severe status with
// more messages than shown has of it, or "".
func (e evaluator) hidden(ctx context.Context, documents []document,
	shown []map[string][]diff.PolicyMessage) (worst diff.PolicyStatus) {
	ctx, stop := context.WithTimeout(ctx, maxTime)
	defer stop()
	raise := func(status diff.PolicyStatus) {
		if worst == "" || slices.Index(severity, status) < slices.Index(severity, worst) {
			worst = status
		}
	}
	for i, d := range documents {
		if !d.differs {
			continue
		}
		exact := e.run(ctx, d.exact)
		for _, rule := range e.rules {
			for _, status := range severity {
				if e.count(exact[rule], status) > e.count(shown[i][rule], status) {
					raise(status)
				}
			}
			// A reason to pass that the exact input does not give is false.
			if e.count(exact[rule], diff.PolicyPass) < e.count(shown[i][rule], diff.PolicyPass) {
				raise(diff.PolicyNotEvaluated)
			}
		}
		if ctx.Err() != nil {
			raise(diff.PolicyNotEvaluated)
			break
		}
	}
	return worst
}

// count returns the number of messages with a status. Those that differ only in a secret count once, as they do where
// the secret is replaced.
func (e evaluator) count(messages []diff.PolicyMessage, status diff.PolicyStatus) int {
	texts := map[string]bool{}
	for _, m := range messages {
		if m.Status == status {
			texts[e.redact(m.Text)] = true
		}
	}
	return len(texts)
}

const reasonNotShown = "the reason is not shown, because it depends on a masked value"

// reportHidden adds the most severe hidden status to its policy, the first one in the app's order. The other policies
// count as not evaluated: with the result of each, many policies could spell a secret.
func reportHidden(policies []api.PolicySpec, evaluated []evaluation) {
	for _, status := range severity {
		at := slices.IndexFunc(evaluated, func(e evaluation) bool { return e.hidden == status })
		if at < 0 {
			continue
		}
		for i := range evaluated {
			e := &evaluated[i]
			switch {
			case i == at:
				e.messages = append(e.messages, diff.PolicyMessage{Status: status, Text: reasonNotShown})
			case e.opa:
				e.messages = append(e.messages, notEvaluated(fmt.Sprintf(
					"policy %s depends on a masked value, and this one may, too", policies[at].Name))...)
			}
		}
		return
	}
}
