// Package artifact creates and reads the artifacts that nuon stores in OCI registries: packed Terraform modules, charts
// and manifests, packed source trees, and sealed plan bundles.
//
// It owns the reproducible form of an artifact: the same files, type and annotations result in the same digest on any
// machine at any time. It also owns extraction, which never writes outside of its target directory, and the names of
// what a registry stores. Package oci stores and fetches it.
//
// It never decides what belongs in an artifact, never connects, never reads a clock, a commit or the environment, and
// never decrypts what is sealed. The reconciler packs source trees, the build runner packs modules, and install runners
// unpack them and pack their plan bundles.
package artifact
