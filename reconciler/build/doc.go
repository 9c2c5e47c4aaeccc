// Package build decides what to build of an app and records the results: component inputs,
// identified by the digest of everything that a build would be made from, and builds, of which each
// input has at most one that is running or has succeeded.
//
// It reads app versions, components, revisions and the trees of their commits. It writes component
// inputs, packed sources in the vendor's registry, builds and their jobs, and the summaries of
// revisions. It never builds an input twice unless a person requests it, however many commits
// follow; returning to an old input reuses its build. The main program calls Reconcile after the
// catalog has read a config, jobs calls JobAccepted and JobEnded, and the API calls Retry.
//
// It never runs a build: it packs the source and enqueues a job for a build runner. It never reads
// a registry, touches an install, or decides which install gets a build.
package build
