// Package transfer copies artifacts from the vendor's registry to the install's own, by digest.
// Plans and applies use only that copy.
//
// It owns the files below <root>/transfer: the bytes of copies in progress, so that any
// later job can resume an interrupted copy. It sends nothing that the registry already has,
// and stores nothing that does not match its digest.
//
// It never reads the content of an artifact, never deletes from a registry, and requests
// nothing from the vendor's registry but the artifact in the job's spec. The job process runs
// its handler; main registers it.
package transfer
