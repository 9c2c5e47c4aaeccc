// Package image builds and deploys components of kind container_image.
//
// A build resolves the tag or the version policy of a config to a digest, at the registry that the
// config names, and copies the image to the vendor's registry by digest: all platforms, everything
// that refers to one of them (OCI referrers), and the signatures that cosign stores under tags. The
// list of all this is the build's artifact (pkg/image). A sync job copies what the list names to the
// install's registry (runnerd/transfer). A plan of an image never has changes: nothing but that
// registry has the image, and the components that read its outputs get separate plans.
//
// It never runs or unpacks an image, and it fetches nothing from an address that an image names: only
// from the registry of the config, through pkg/netguard. What a registry sends is bounded and
// checked against the digest that it was requested by.
package image
