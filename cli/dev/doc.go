// Package dev implements `nuon dev`: the whole system on one machine without
// configuration. It starts a private PostgreSQL cluster, the reconciler with its
// embedded registry, a build runner and a local install runner as subprocesses,
// merges their logs, restarts them when they exit, and stops them in order.
//
// The package owns the layout of the data directory and the lifecycle of the subprocesses.
// It never reads the database, never links the reconciler or the runner, and holds no secret
// except the admission that `reconciler bootstrap` printed. The nuon command calls it.
package dev
