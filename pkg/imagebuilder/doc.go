// Package imagebuilder finds the program that builds container images on this machine: BuildKit's
// buildctl, docker buildx, or Buildah, in this order.
//
// A build runner builds with the first one that works (runnerd/kind/docker), and `nuon doctor` reports
// it. The package runs the programs only to ask whether they work, and builds nothing.
package imagebuilder
