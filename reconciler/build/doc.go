// Package build decides what of an app is built, and keeps what was: component inputs, named by the digest of what a build would
// be made from, and builds, at most one of each input that is under way or has succeeded.
//
// It reads app versions, components, revisions and the trees of their commits, and adds component inputs, packed sources in the
// vendor's registry, builds and their jobs, and the outcome of revisions. The same input is never built twice without somebody
// asking, however many commits pass; going back to an old input uses its build again. The main program calls Reconcile when the
// catalog has taken something in, dispatch calls JobAccepted and JobEnded, the API calls Retry.
//
// It never builds anything itself: it packs source and has a build runner do it. It never reads a registry, touches an install,
// or decides who gets a build.
package build
