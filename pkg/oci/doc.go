// Package oci is the client of OCI registries: it stores and fetches artifacts (package artifact), and the manifests,
// blobs and tags of other programs, such as container images.
//
// It checks what a registry sends against the digest that was requested, bounds it, repeats requests that a registry
// was too busy for, and explains errors: what failed, and what to do.
//
// It never decides what is stored, and reads no credential from the environment. The reconciler, the runners and their
// jobs call it; the CLI does not.
package oci
