// Package gitpack reads git packs from untrusted senders, within limits.
//
// A pack of a few megabytes can describe gigabytes: a blob of zeros, a chain of deltas that each
// copy their base many times, a million empty objects. Index reads a pack from a file in two
// passes. The first pass inflates each object into a buffer of fixed size, checks every declared
// size (of an object, of a delta, of a delta's result) before it inflates the object, and stores a
// record of fixed size per object. The second pass applies each delta once, and uses no more memory
// than Limits.Memory. A pack that exceeds a limit fails with a *LimitError and a broken one with
// ErrMalformed; in both cases nothing of it is stored.
//
// Packs that are read at the same time share a Budget, so that ten packs do not use ten times the
// memory.
//
// Store adds a pack to a repository on disk, for go-git to read. Repository reads single objects,
// within the same limits, from a repository that another program wrote. Remote requests a pack from
// a server over git's smart HTTP protocol, or over the stream of an ssh connection (OpenStream).
//
// The package opens no connections itself, runs no program, and does not handle credentials.
// reconciler/observe and pkg/configfetch use it.
package gitpack
