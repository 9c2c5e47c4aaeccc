// Package gittree presents the tree of a git commit, or of files that could be committed, as a
// read-only file system in which every directory has its git tree hash, and lists the files that
// differ between two trees.
//
// The reconciler identifies the inputs of builds by these hashes, and the CLI compares work trees
// and commits by them, so both detect the same changes.
//
// A tree is hostile input: names with a special meaning in a path are rejected, sizes are bounded,
// symbolic links are not followed, and submodules are left out.
package gittree
