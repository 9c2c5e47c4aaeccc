// Package registry is the embedded OCI registry: the distribution project's own handlers over a directory of this machine, with
// nuon's tokens at the door.
//
// It owns the data directory and the tokens: a token opens the repositories below one prefix for pull, or pull and push, until a
// time. It keeps no list of tokens; a signature over what it says makes one valid.
//
// It never deletes, never lists what it holds, never redirects, and never speaks to another registry. `reconciler serve` mounts
// it unless NUON_REGISTRY names an external one; it is for one replica.
package registry
