// Package jobs brings jobs to runners and records their results. It owns jobs, their attempts and
// their leases. A job is queued, offered to its runner, accepted, and ends once. Each try is an
// attempt; job id and attempt number together form the fence that every write carries (design,
// section 6).
//
// It never interprets what a job is for: it notifies builds and workflow steps through Owner. It
// never concludes from silence that a process is dead: a lease that runs out means lost contact,
// and an apply is not offered again because of it. Only a person's decision (Replace) ends the
// attempts of a silent machine.
//
// A transaction that locks several rows locks them in this order: installs, the runner, jobs,
// attempts.
//
// The packages build, workflow and installhealth enqueue and cancel in their own transactions. The
// packages tfstate and joblog check attempts through it. The runner API calls the methods that take
// a Caller of package runners. The control API reads jobs and replaces runners. The reconciler's
// worker calls Expire.
package jobs
