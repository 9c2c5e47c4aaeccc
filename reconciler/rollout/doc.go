// Package rollout works out who is behind. For each component of an install it says what is desired (the digest of its artifact,
// its config and the values that its templates read), what that waits for, and whether it is what is applied; what is behind gets
// a workflow. Every answer has its reason in words.
//
// Reconcile is level-triggered: it reads everything, and does only what is missing. What is decided (desire, decide, status) is
// pure, over plain data that load reads; effects come after.
//
// It never takes a workflow on (workflow does), never builds (build does), and opens nothing that is sealed: a sensitive value
// counts by its hash and travels as it is. It is called by the reconciler's workers, by workflow as its World, and by the control
// API (Ask, Sketch, Retry, LoadViews).
package rollout
