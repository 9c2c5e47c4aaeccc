// Package cluster is a Kubernetes cluster as a job sees it: which one it is, how it is reached, what is there, and how that is.
//
// It owns the order in which access is looked for (the runner's own kubeconfig, the outputs of what made the cluster, the cluster
// that the runner is in), the one set of connections of a job with its bounds and retries, the discovery of kinds in memory, the
// health of objects by the rules of kstatus, the wait for it with what went wrong in the log, the outputs that a deployment gives,
// and the words for what an API server refuses.
//
// It never writes to a cluster, never reads the kubeconfig of the person who happened to start the runner, and knows nothing of
// charts. Packages helm, chart and manifest use it, in the job's own process.
package cluster
