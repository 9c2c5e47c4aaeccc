// Package pgcluster runs a private PostgreSQL cluster as a child process on a unix socket: the database of `nuon dev` and of
// tests.
//
// It owns where the binaries come from (found on the machine, else fetched), the cluster's directory, and the life of the
// postmaster: one supervisor a directory, no TCP port, started again after any crash, stopped when its parent is gone. As root it
// runs the server as the user postgres or nobody, because PostgreSQL refuses root.
//
// It never connects to the database, knows no schema, and never touches a cluster that it did not make. `nuon dev` and tests call
// it; a production set-up gives a DATABASE_URL instead.
package pgcluster
