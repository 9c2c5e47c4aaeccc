// Package docker builds the images of components of kind docker_build.
//
// A build unpacks the context, from which the control plane left out what its ignore file lists, and
// has BuildKit, docker buildx or Buildah (pkg/imagebuilder) build it into a directory. The image is
// checked and pushed like an image that was copied (runnerd/kind/image), and deployed like one.
//
// The builder gets no credentials of the vendor's registry and no file but the context. Dockerfiles
// execute code of the vendor on the build runner.
package docker
