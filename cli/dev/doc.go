// Package dev is `nuon dev`: the whole system on one machine with nothing configured. It starts a private Postgres cluster, the
// reconciler with its embedded registry, a build runner and a local install runner as child processes, shows their logs as one,
// keeps them running, and stops them in order.
//
// It owns the data directory's layout and the lives of the children. It never looks into the database, never links the reconciler
// or the runner, and holds no secret but the admission that the reconciler's bootstrap gave it. The nuon command calls it.
package dev
