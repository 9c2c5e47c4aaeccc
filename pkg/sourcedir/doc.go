// Package sourcedir finds the directories of a repository that a component is built from: a
// Terraform module with the modules that it calls, a chart with its file:// dependencies, a
// kustomization with its bases, the scripts of actions, and the targets of symbolic links in them.
//
// The reconciler identifies a component's input by these directories and packs them, and `nuon
// validate` reports which of them are missing. Both read a repository with this package, so they
// report problems in the same words.
//
// A repository is hostile input. Sizes, counts and depths are bounded, no path or link leads out of
// the tree, nothing is executed and nothing is fetched.
package sourcedir
