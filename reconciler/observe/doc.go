// Package observe polls git repositories. It owns the watches (one ref of one repository, shared
// by every app and component of an org that names it), the revisions that it finds there, and the
// mirrors that it reads them from.
//
// It reads watches, credentials and webhooks, and adds revisions: a commit that a ref has moved
// to, with the paths that changed, so that everything derived from it has a cause. A new revision
// enqueues the catalog's work for each app that reads the watch. The packages catalog and build
// read a revision's files through Tree; the main program calls Poll when a watch is due.
// Deliveries of webhooks make watches due (reconciler/api/webhook).
//
// It never runs the git program, never checks files out, never executes or renders what it reads,
// never follows symbolic links of a repository, and never decides what a change means. Everything
// that comes from a remote is untrusted: sizes, counts, names and addresses are bounded. A mirror
// is a cache: if it is lost or damaged, it is created again.
package observe
