// Package attack plays hostile parties against the real programs: a control plane that drives a runner, a runner and an operator
// that talk to a control plane, and a git server that both watch.
//
// Each party is a folder with a list of attacks. An attack is made with random choices from a seed, and returns what it achieved: an
// error is a door that stands open. `go test` makes a small sample of each list with a fixed seed; `make soak` makes campaigns
// (`examples/attack/campaign`). What each party can and cannot do is a table in docs/security.md, and every row of it names its test.
package attack
