// Package runnerlog ships a runner's own log to the control plane, so that support does not need
// the log of a machine that it cannot access.
//
// It owns which lines of runnerd's log are collected (limited in lines per second and in bytes,
// with secrets masked), the small part that is stored on disk while the control plane
// is unreachable, and the delivery: in numbered chunks, oldest first, each sent until
// it is accepted or rejected. When there is no room the oldest lines are dropped and a
// mark takes their place.
//
// It never delays the code that logs, never logs itself, and contains nothing of a job's log.
// Package runner creates and runs it.
package runnerlog
