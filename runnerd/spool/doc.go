// Package spool is what runnerd keeps on disk about the attempts in flight, and the only channel between a job process and the
// runnerd that looks after it.
//
// It owns the layout of <dir>/spool/<job>.<attempt>/, the lock by which a live job process is told from a dead one, and the
// numbering of log chunks, which a restarted runnerd has to repeat exactly. Every file but the log is replaced as a whole, so a
// reader never sees half of one.
//
// It never talks to a network and starts no process. The job process writes the spec, log, states and result; the supervisor in
// package runner reads them, ships them, and removes the directory when all has arrived.
package spool
