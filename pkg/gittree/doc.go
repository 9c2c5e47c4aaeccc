// Package gittree reads the tree of a git commit, or of files that could be committed, as a read-only file
// system in which every directory has the hash that git gives it, and lists the files in which two trees
// differ.
//
// The reconciler names the inputs of builds by these hashes; the CLI compares work trees and commits by
// them, so both see the same change.
//
// A tree is hostile input: names that mean something else to a path are refused, sizes are bounded,
// symbolic links are not followed and submodules are left out.
package gittree
