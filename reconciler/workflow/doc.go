// Package workflow runs an install's workflow from its first step to its end: plan,
// approve, apply and run actions, for each component.
//
// It has a pure core and a thin shell. The core (Compose, Advance, Graph.Apply) uses no
// clock, no database and no HTTP: it takes a graph and returns commands, each with a
// reason for people. The shell (Engine) loads the graph of one workflow under the lock
// of its install, calls the core until it returns no more commands, writes the results
// and enqueues jobs in the same transaction. What jobs found or did is recorded once,
// when they end (JobEnded); what follows from it is decided here and nowhere else.
//
// It never decides which installs are behind or what the desired state of an install is
// (rollout does, through DesiredStateSource), never talks to a runner (package jobs does), and never sees a
// plain secret. Its callers are the reconciler's workers, jobs as the owner of steps'
// jobs, rollout (Start) and the control API (Respond, Cancel, RetryStep, SkipStep).
package workflow
