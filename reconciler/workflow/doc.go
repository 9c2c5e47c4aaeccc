// Package workflow takes a workflow of an install from its first step to its end: plan, ask, apply, act, for each component.
//
// It has a pure core and a thin shell. The core (Compose, Advance, Graph.Apply) knows no clock, no database and no HTTP: a graph
// goes in, commands come out, and each has a reason in words. The shell (Engine) loads the graph of one workflow under the lock
// of its install, asks the core until nothing more comes, writes what it says and enqueues jobs in the same transaction. What
// jobs found or did is recorded once, when they end (JobEnded); what follows from it is decided here and nowhere else.
//
// It never decides who is behind or what an install wants (rollout does, through World), never talks to a runner (dispatch does),
// and never sees a plain secret. It is called by the reconciler's workers, by dispatch as the owner of steps' jobs, by rollout
// (Start) and by the control API (Respond, Cancel, RetryStep, SkipStep).
package workflow
