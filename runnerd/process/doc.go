// Package process finds and ends the operating system processes of a job: all of them, also those that try to get away.
//
// It owns what belongs to a job: the session that its process leads, all that descends from it (the job process is the reaper of
// what its descendants leave behind, so a double fork does not leave that tree), the control group of the attempt where the runner may
// make one, and, where it may not, the processes that the job process has written down while it lived. It owns how much memory they
// have together.
//
// It never decides that a job is to end. Package runner calls it, and the job process for itself.
package process
