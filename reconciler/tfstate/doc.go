// Package tfstate stores sealed Terraform states and state locks. It never reads a state: the
// runner seals it. It never discards what a machine really did: a state that does not follow the
// newest one is stored as contested, for a person to decide, and one that exceeds a limit stays with
// its runner. The runner API calls the methods that take a Caller; the control API and the package
// rollout call the functions that record a person's decision.
package tfstate
