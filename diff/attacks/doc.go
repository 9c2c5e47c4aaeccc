// Package attacks contains only tests: attempts to hide a change from its reviewer, with what the
// reviewer must see nevertheless.
//
// Each file of testdata is one attempt, as a txtar archive. The comment at its top describes the
// attempt. Its files are the input (before.yaml and after.yaml, with live.yaml, again.yaml and
// before-again.yaml where the attempt needs them; or plan.json, a Terraform plan) and expect, which
// has one expectation per line:
//
//	shown PATH         a field of this path is listed, and not folded
//	folded RULE PATH   a field of this path is folded by this rule
//	change ADDRESS     the object is listed, and not only in folded fields
//	finding RULE       a finding of this rule is listed; RULE PATH: and it names this path
//	security           some finding is about security
//	destructive        something that exists is destroyed or replaced
//	individual         no group and no rule may approve the report
//	says TEXT          the plain text, the side-by-side text and the Markdown contain TEXT
//	hides TEXT         no format contains TEXT, not even with everything unfolded
//	no finding RULE    no finding of this rule is listed
//	no changes         nothing is listed
//
// Lines that start with # are comments. Each file with manifests is compared a second time as the plan
// of a deploy compares it: with the server's answers, which are the objects of after.yaml. Such a plan
// leaves out fields that the server owns or defaults.
package attacks
