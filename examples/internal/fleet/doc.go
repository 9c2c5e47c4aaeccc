// Package fleet runs the product like a production setup on one machine: a Postgres, an external
// registry, several replicas of the reconciler behind one address, a build runner and runners of
// several customers, all with the real programs. Each program can be killed and started again.
//
// It owns the processes and their working directory, and leaves neither behind. It makes no
// decisions: its callers, the soak and the test of the backup, decide about faults and the actions
// of people.
package fleet
