package risk

import (
	"github.com/nuon-toolkit/nuon/diff"
)

// unjudged names the rule about values that other rules cannot judge before the apply.
const unjudged = "unknown-before-apply"

// kindOutput is the kind of Terraform outputs.
const kindOutput = "output"

// planRules returns the rules about what a plan does besides changing values: unknown values,
// objects that Terraform forgets, marks of secrets, and programs that an apply runs.
func planRules() []Rule {
	return []Rule{
		{
			Name: unjudged, Source: hashicorpDocs + "language/expressions/references#values-not-yet-known", Security: true,
			Kinds: []string{"*"}, Actions: actionsPresent, Risk: diff.RiskAdditive,
			When:    "another rule about security needs a value that the configuration sets, and that is known only after apply",
			holds:   func(subjectView) bool { return false },
			Message: "a rule needs a value that is known only after apply, so it cannot be evaluated before",
		},
		{
			Name: "forgotten", Source: hashicorpDocs + "language/state/remove", Kinds: []string{"*"},
			Actions: []diff.Action{diff.Forget, diff.Replace}, Risk: diff.RiskInPlace,
			When:    "it leaves the state without being destroyed, or its replacement does not destroy the old object",
			holds:   func(l subjectView) bool { return l.keepsOld || l.after.IsNull() },
			Message: "the object stays, and Terraform no longer manages it: later changes to it appear in no plan",
		},
		{
			Name: "output-not-sensitive", Source: hashicorpDocs +
				"language/values/outputs#sensitive-suppressing-values-in-cli-output",
			Security: true, Kinds: []string{kindOutput}, Actions: actionsUpdate, Risk: diff.RiskInPlace,
			When:    "it was sensitive and no longer is",
			holds:   func(l subjectView) bool { return l.revealed },
			Message: "the output is no longer sensitive: Terraform prints its value, and other programs may show it",
		},
		{
			Name: "mark-removed", Source: hashicorpDocs + "language/functions/nonsensitive", Security: true,
			Kinds:   []string{"*"},
			Actions: actionsChange, Paths: []string{"**"}, Risk: diff.RiskInPlace,
			When:    "an attribute was sensitive and no longer is",
			matches: onDifference(func(f field) bool { return f.Revealed }),
			Message: "a value is no longer marked as sensitive: Terraform prints it in plans from now on",
		},
		{
			Name: "provisioner-runs", Source: hashicorpDocs + "language/resources/provisioners/syntax", Security: true,
			Kinds: []string{"*"}, Actions: []diff.Action{diff.Create, diff.Replace, diff.Destroy}, Risk: diff.RiskInPlace,
			When:    "the configuration has a provisioner for it",
			holds:   func(l subjectView) bool { return len(l.programs) > 0 },
			details: func(l subjectView) []string { return l.programs },
			Message: "commands run with the change, on the machine of Terraform or on a new one, and a plan does not show " +
				"what they do",
		},
		{
			Name:     "program-runs",
			Source:   "https://registry.terraform.io/providers/hashicorp/external/latest/docs/data-sources/external",
			Security: true, Kinds: []string{"data.external"}, Actions: []diff.Action{diff.Read}, Risk: diff.RiskInPlace,
			Message: "the apply runs a program on the machine of Terraform, and the plan does not show what it does",
		},
	}
}
