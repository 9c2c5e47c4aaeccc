// Package dispatch brings jobs to runners and their ends back: it owns runners and their keys, jobs, attempts, leases, state
// locks, sealed states and logs. A job is queued, offered to its runner, accepted, and ends once; each try is an attempt, and job
// and attempt number together are the fence that every write carries (design, section 6).
//
// It never looks into what a job is for: builds and workflow steps are told through Owner. It never decides that a process is
// dead because it is silent: a lease that runs out means lost contact, and an apply is not offered again because of it. Only a
// person's word (Replace) ends what a silent machine has in hand. Nor does it throw away what a machine really did: a state that
// does not follow on the newest one is kept as contested, for a person to decide.
//
// Whoever locks several rows does it in one order: installs, the runner, jobs, attempts.
//
// The rooms build and workflow enqueue and cancel in their own transactions; the runner API calls what takes a Caller; the
// control API reads jobs, follows logs, replaces runners and decides about states and locks; the reconciler's worker calls Expire,
// and Resume once before it serves.
package dispatch
