// Command soak runs the real programs for some time, deploys with them, and injects every kind of
// fault meanwhile. Then it lets everything settle and counts what was lost, what was applied twice,
// which locks remain, and which states are contested.
//
// What really happened is recorded outside of the product: every resource of the packaged app
// (app/) records its creation and destruction, with the process and the plan (witness.sh). The soak
// approves, rejects and replaces with `nuon`, as a person would.
package main
