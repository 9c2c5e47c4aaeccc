// Package job implements the job protocol in the process that runs the job.
//
// It owns the input of a handler (Env) and its result, the log that goes to the spool,
// the API calls that an attempt may make, and the life of the job process: fetch the spec,
// run one handler, store one result.
//
// It communicates with the runnerd that started it only through the spool, so that it continues
// when runnerd dies. It never retries a handler, and never ships its own log or result.
// It runs the handlers of packages module and action; main registers them.
package job
