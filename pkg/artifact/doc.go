// Package artifact makes, stores and fetches what nuon keeps in OCI registries:
// packed Terraform modules, packed source trees and sealed plan bundles.
//
// It owns the reproducible form of an artifact: the same files, type and annotations give the same digest on any machine and on
// any day. It owns the confined way back to files on disk, and the conversation with a registry.
//
// It never decides what belongs into an artifact, never reads a clock, a commit or the environment, and never opens what is
// sealed. The reconciler packs source trees, the build runner packs modules, and install runners pull them and keep their plan
// bundles.
package artifact
