// Package jobpod runs the job process of an attempt as the pod of a Kubernetes Job.
//
// It owns the Job that is created (one for each attempt, with a name of that attempt, so that a second create finds
// the first), what the pod mounts, and the proof that a job process does not run any more: the kubelet reported that
// its container has terminated, its node was removed, a person confirmed it, or it never got what it needs to start. A
// pod that was merely removed from the API is no proof, because it may still run on a node that lost its connection.
//
// The spool is the same as for a process: the pod mounts its own directory of it. So this package never delivers
// anything, and knows no protocol of jobs. Package runner calls it.
package jobpod
