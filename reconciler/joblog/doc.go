// Package joblog stores the logs of job attempts and the runners' own logs, in compressed chunks,
// and streams them as server-sent events. A chunk is written once, however often it is delivered. It
// also relays interactive shells: it stores what a person typed and what a pod answered, so that the
// two sides may be connected to different replicas and the transcript is complete.
// The runner API appends, the control API reads; the package retention deletes what is old.
package joblog
