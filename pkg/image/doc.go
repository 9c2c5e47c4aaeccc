// Package image describes container images as the content that a copy of one consists of.
//
// It owns the address of an image as a config writes it, which cloud a registry is of, the list of
// everything that belongs to an image, and the artifact that holds this list: the build of a
// container_image component. The content itself is stored in the same repository as that artifact,
// by digest.
//
// It never connects to a registry. A build runner makes the list while it copies an image
// (runnerd/kind/image), sync jobs copy what the list names (runnerd/transfer), and the control
// plane serves runners nothing else (reconciler/api/runner).
package image
