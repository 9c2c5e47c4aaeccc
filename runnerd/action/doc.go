// Package action runs the steps of an action: scripts and commands of the vendor,
// on the customer's runner, for one install; and the debug commands of people, which the owner allows one by one.
//
// It owns what a step gets (an empty directory or the code of a repository, a clean environment,
// rendered variables, a file for its outputs), how that code is built, that the processes of a step
// end with it, and how the outputs of several steps are merged into those of the action.
//
// It never starts a shell on its own, never decides when an action runs, and never
// returns an output unsealed that contains a known secret. The job process runs its
// handlers; main registers them.
package action
