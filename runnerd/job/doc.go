// Package job is the job protocol as the process that does the work sees it.
//
// It owns what a handler is given (Env) and what it gives back, the log that goes to the spool, the calls that an attempt may
// make, and the life of the job process: fetch the spec, run one handler, leave one result.
//
// It never talks to the runnerd that started it but through the spool, so that it goes on when that dies; it never retries a
// handler, and never ships its own log or result. The handlers in packages module and action are run by it; main wires them.
package job
