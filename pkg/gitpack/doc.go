// Package gitpack reads git packs that a stranger sends, within bounds.
//
// A pack of a few megabytes can describe gigabytes: a blob of zeros, a chain of deltas that each copy their base many times, a
// million objects of nothing. Index reads a pack from a file in two passes. The first inflates each object into a buffer of fixed
// size and checks every size that the pack declares (of an object, of a delta, of what a delta makes) before it inflates the object;
// it keeps a record of fixed size per object. The second applies the deltas, each once, and holds no more memory than Limits.Held.
// A pack over a bound fails with a *LimitError, a broken one with ErrMalformed, and in both cases nothing of it is kept.
//
// Packs that are read at the same time share a Budget, so that ten packs do not use ten times the memory.
//
// Store adds a pack to a repository on disk, for go-git to read. Repository reads single objects of a repository that Store did not
// write, with the same bounds. Remote asks a server for a pack over git's smart HTTP protocol.
//
// The package opens no connection of its own, runs no program, and knows nothing of credentials. reconciler/observe and pkg/remote
// use it.
package gitpack
