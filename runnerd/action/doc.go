// Package action runs the steps of an action: scripts and commands of the vendor,
// on the customer's runner, for one install.
//
// It owns what a step gets (an empty directory, a clean environment, rendered variables,
// a file for its outputs), that its processes end with it, and how the outputs of several steps
// are merged into those of the action.
//
// It never starts a shell on its own, never decides when an action runs, and never
// returns an output unsealed that contains a known secret. The job process runs its
// handler; main registers it.
package action
