// Package joblog stores the logs of job attempts and the runners' own logs, in compressed chunks,
// and streams them as server-sent events. A chunk is written once, however often it is delivered.
// The runner API appends, the control API reads; the package retention deletes what is old.
package joblog
