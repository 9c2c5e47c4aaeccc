// Package attack runs hostile parties against the real programs: a control plane that drives a
// runner, a runner and an operator that use a control plane, and a git server that a control plane
// watches.
//
// Each party is a directory with a list of attacks. An attack makes random choices from a seed, and
// returns what it achieved: a *Breach is a security hole. `go test` makes a small sample of each
// list with a fixed seed; `make soak` runs campaigns (`examples/internal/attack/campaign`). A table in
// docs/security.md lists what each party can and cannot do, and names a test in every row.
package attack
