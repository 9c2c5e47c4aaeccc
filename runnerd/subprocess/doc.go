// Package subprocess runs one program for a job: Terraform, or a step of an action.
//
// It owns how the program ends: the program leads its own process group, is interrupted
// when the job ends, and is killed with all processes that it started after a grace period.
// It also makes the program survive the death of the job's own process: its output is then
// discarded but does not end it. Terraform finishes that way, cannot store its state,
// and writes the state to a file, where the runner finds it. (The kernel's parent death signal
// is not used: the kernel sends it once for each thread of the parent, and Terraform takes
// the second interrupt as an order to stop immediately.)
//
// A StandIn does the same for a program that a library starts: the library is given the executable of
// this process, which runs the program in its place.
//
// It owns the user that programs run as, and how files pass between that user
// and a process of root: which files programs may enter, read and own, and how a file
// that they left is read safely.
//
// It never decides what to run and never interprets the output. Packages terraform, tfbinary and action
// call it in the job's own process; the runner ends the processes that a dead job
// process leaves behind.
package subprocess
