// Package planpolicy evaluates the app's policies on a plan: Rego on the JSON of a Terraform plan, or
// on each Kubernetes object that the plan applies. It returns what each policy decided, as a part of
// the masked report.
//
// Policies are the vendor's texts, and the plan is the customer's: no message reveals a secret. Messages
// come from an evaluation in which values that are marked as sensitive, the values of Secrets, and known
// secrets inside of other values and keys are replaced. The plan's author chooses which values these
// are, so a second evaluation, of the plan as it is without the values of a cluster's Secrets, finds what
// the replacements hide. Of that, a plan reports one policy and its status, without a message. A policy
// calls nothing outside of its input (package rego) and ends after a limited time.
//
// What is not evaluated is reported as such and never as passed: a policy for another engine, one with
// errors, an evaluation that fails or takes too long. Package deploy calls this package; it never
// decides what follows from a result.
package planpolicy
