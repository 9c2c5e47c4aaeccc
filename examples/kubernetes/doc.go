// Package kubernetes builds, keeps and starts the one-process Kubernetes of examples/cluster, for tests and demos.
//
// It owns where the built program is kept (in the user's cache, by a digest of what it is built from, because building it takes minutes)
// and that a started one ends with whoever started it. It knows nothing of Kubernetes itself: that program is a module of its own, and
// nothing of it is linked in here. Tests, the demo and the commands with and up call it.
package kubernetes
