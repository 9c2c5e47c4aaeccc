// Package rollout computes which components are behind. For each component of an install it
// computes the desired state (the digest of its artifact, its config and the values that its
// templates read), what the component waits for, and whether the desired state is the applied
// one. It starts a workflow for what is behind. Every result has a reason for people.
//
// Reconcile is level-triggered: it reads everything, and does only what is missing.
// Decisions (desire, decide, status) are pure functions over plain data that load
// reads; effects come after.
//
// It never advances a workflow (workflow does), never builds (build does), and opens
// nothing that is sealed: a sensitive value counts by its hash and is passed on as it
// is. Its callers are the reconciler's workers, workflow (as its World), and the
// control API (Request, DryRun, Retry, LoadViews).
package rollout
