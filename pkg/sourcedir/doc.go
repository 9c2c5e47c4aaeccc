// Package sourcedir finds the directories of a repository that a component is built from: a Terraform module with the modules
// that it calls, a chart with its file:// dependencies, a kustomization with its bases, and what symbolic links in them lead to.
//
// The reconciler names a component's input by these directories and packs them, and `nuon validate` reports what is missing of them:
// both read a repository with the same code and report problems in the same words.
//
// A repository is hostile input. Sizes, counts and depths are bounded, no path and no link leads out of the tree, nothing is
// executed and nothing is fetched.
package sourcedir
