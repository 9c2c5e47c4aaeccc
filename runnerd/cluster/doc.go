// Package cluster gives a job access to a Kubernetes cluster: its identity, its API,
// its objects and their health.
//
// It owns the order in which access is searched (the runner's own kubeconfig, the outputs
// of what made the cluster, the cluster that the runner runs in), a job's shared connections
// with their limits and retries, the in-memory discovery of kinds, the health of objects
// by the rules of kstatus, the wait for readiness with the reasons in the log, the outputs
// of a deployment, and the explanation of an API server's errors.
//
// It never writes to a cluster, never reads the kubeconfig of the person who started
// the runner, and contains nothing about charts. Packages helm, chart and manifest use it,
// in the job's own process.
package cluster
