// Package dispatch brings jobs to runners and records their results. It owns runners and their
// keys, jobs, attempts, leases, state locks, sealed states and logs. A job is queued, offered to
// its runner, accepted, and ends once. Each try is an attempt; job id and attempt number together
// form the fence that every write carries (design, section 6).
//
// It never interprets what a job is for: it notifies builds and workflow steps through Owner. It
// never concludes from silence that a process is dead: a lease that runs out means lost contact,
// and an apply is not offered again because of it. Only a person's decision (Replace) ends the
// attempts of a silent machine. Nor does it discard what a machine really did: a state that does
// not follow the newest one is stored as contested, for a person to decide.
//
// A transaction that locks several rows locks them in this order: installs, the runner, jobs,
// attempts.
//
// The packages build and workflow enqueue and cancel in their own transactions. The runner API
// calls the methods that take a Caller. The control API reads jobs, follows logs, replaces runners
// and decides about states and locks. The reconciler's worker calls Expire, and calls Resume once
// before it serves.
package dispatch
