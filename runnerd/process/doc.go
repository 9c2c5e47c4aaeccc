// Package process finds and ends all operating system processes of a job, including
// those that try to escape.
//
// It owns which processes belong to a job: the session that the job process leads; all its
// descendants (the job process is the reaper of orphaned descendants, so a double fork does not
// leave the tree); the attempt's control group where the runner may make one; and otherwise the
// processes that the job process recorded while it lived. It also measures their total memory.
//
// It never decides that a job ends. Package runner calls it, and the job
// process calls it for itself.
package process
