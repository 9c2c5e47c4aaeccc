// Command soak runs the real programs for a while, deploys with them, and pulls every plug that there is meanwhile. Then it lets
// everything come to rest and counts what was lost, what was applied twice, which locks are left, and which states are contested.
//
// What really happened is counted beside the product: every resource of the packaged app (app/) writes down that it was made or
// destroyed, by which process, for which plan (witness.sh). The person who approves, rejects and replaces is played with `nuon`.
package main
