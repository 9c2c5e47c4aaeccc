// Package transfer copies artifacts from the vendor's registry to the install's own, by digest. Whatever is planned and applied comes
// from that copy alone.
//
// It owns what lies below <root>/transfer while a copy is under way: the bytes that came so far, so that an interrupted copy goes on
// where it stopped, whichever job goes on with it. It sends nothing that is there already, and stores nothing that is not what its
// digest says.
//
// It never looks into an artifact, never deletes from a registry, and asks the vendor's for nothing but what the job's spec names. The
// job process runs its handler; main wires it.
package transfer
