// Package policy reads the runner file, in which the owner of a runner limits what it may do.
//
// It owns the file's format, the maintenance window, and the resulting rule at a point in time:
// which kinds of job this runner accepts, and why not the others. With an invalid file
// the runner accepts no jobs.
//
// It never uses the network and never ends a job. Package runner checks the rule before it
// accepts an offer, and sends it with every lease; the job process checks the spec that it
// fetched against it; `runnerd check` prints it.
package policy
