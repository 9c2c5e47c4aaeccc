// Package process finds and ends the operating system processes of a job: all of them, also those that try to get away.
//
// It owns what belongs to a job: the session that its process leads, all that descends from it (the job process is the reaper of
// what its descendants leave behind, so a double fork does not leave that tree), and whatever carries the attempt's mark in its
// environment, once the tree is gone. It owns how much memory they have together.
//
// It never decides that a job is to end. Package runner calls it, and the job process for itself.
package process
