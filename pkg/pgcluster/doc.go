// Package pgcluster runs a private PostgreSQL cluster as a child process on a unix socket. `nuon
// dev` and tests use it as their database.
//
// It owns the source of the binaries (found on the machine or downloaded), the cluster's directory,
// and the lifetime of the postmaster: one supervisor per directory, no TCP port, restartable after
// any crash, and stopped when its parent dies. As root it runs the server as the user postgres or
// nobody, because PostgreSQL refuses to run as root.
//
// It never connects to the database, does not depend on a schema, and never changes a cluster that
// it did not create. `nuon dev` and tests call it; a production setup sets DATABASE_URL instead.
package pgcluster
