// Package journal is what a runner says of itself, on its way to the control plane: so that whoever helps its owner need not ask for
// the log of a machine that they cannot reach.
//
// It owns what is taken down of runnerd's own log (bounded in lines a second and in bytes, without what is secret), the little of it
// that waits on the disk while the control plane is away, and how it is sent: in numbered chunks, the oldest first, each until it is
// taken or refused. What has no room goes, the oldest first, with a mark in its place.
//
// It never holds up whoever logs, never logs itself, and holds nothing of a job's log. Package runner makes one and runs it.
package journal
