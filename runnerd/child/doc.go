// Package child runs one program for a job: Terraform, or a step of an action.
//
// It owns how such a program ends: it leads a process group of its own; it is interrupted when the job is to end, and killed after
// a grace with all that it has started. And it owns that the program outlives the job's own process, should that be killed: what
// the program prints then goes nowhere, but does not end it. Terraform comes to its end that way, finds nobody who takes its state,
// and puts it into a file, where it is found. (That the kernel ends a program with its parent is not used: it tells a program once
// for each thread of the parent, and Terraform takes the second interrupt for the order to leave everything as it is.)
//
// It owns whom programs run as, and how files pass between that user and a process of root: what is admitted, shown and given to
// programs, and how a file that they left is read without being led astray.
//
// It never decides what to run and never looks at the output. Packages module and action call it, in the job's own process; the
// runner ends what a dead job process leaves behind.
package child
