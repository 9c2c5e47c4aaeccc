// Package spool stores the attempts in flight on disk. It is the only channel between a job
// process and the runnerd that supervises it.
//
// It owns the layout of <dir>/spool/<job>.<attempt>/, the lock that distinguishes a live
// job process from a dead one, and the numbering of log chunks, which a restarted runnerd
// must reproduce exactly. Every file except the log is replaced as a whole, so a reader
// never sees a partial file.
//
// It never accesses a network and starts no process. The job process writes the spec, log,
// states and result; the supervisor in package runner reads and ships them, and removes
// the directory when everything has been delivered.
package spool
