// Package kubernetes builds, caches and starts the one-process Kubernetes of examples/internal/cluster, for
// tests and demos.
//
// It owns the cache of the built program (in the user's cache directory, by a digest of the
// sources, because a build takes minutes), and guarantees that a started cluster ends with the
// process that started it. It does not depend on Kubernetes: that program is a separate module and
// is not linked in here. Tests, the demo and the commands with and up call it.
package kubernetes
