// Package fleet runs the product as a production set-up does, on one machine: a Postgres, an external registry, several replicas
// of the reconciler behind one address, a build runner and runners of several customers, all of them the real programs. What it
// runs can be killed and started again, one by one.
//
// It owns the processes and the directory that they work in, and leaves neither behind. It decides nothing: who breaks what, and
// what a person says, is for its callers, the soak and the test of the backup.
package fleet
