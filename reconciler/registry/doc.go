// Package registry is the embedded OCI registry: the distribution project's own handlers over a
// local directory, authorized by nuon's tokens.
//
// It owns the data directory and the tokens: a token allows pull, or pull and push, or also delete, for
// the repositories below one prefix, until a time. Tokens are signed and not stored. Sweep frees the
// disk of blobs that no manifest names.
//
// It never lists its content, never redirects, and never connects to another
// registry. `reconciler serve` mounts it unless NUON_REGISTRY names an external one; it supports
// one replica only.
package registry
