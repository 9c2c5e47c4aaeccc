// Package action runs the steps of an action: scripts and commands of the vendor, on the customer's runner, for one install.
//
// It owns what a step gets (an empty directory, a clean environment, rendered variables, a file for its outputs), that its
// processes end with it, and how the outputs of several steps become those of the action.
//
// It never starts a shell by itself, never decides when an action runs, and lets no output leave unsealed that holds a known
// secret. The job process runs its handler; main wires it.
package action
