// Package tfmodule determines which files a Terraform root module consists of.
//
// It owns the closure of a module: its directory, every local module that it calls ("./x", "../x")
// and their calls in turn, all inside one tree, and the list of modules that it calls from
// elsewhere. The closure determines what is packed into an artifact and the digest of a component's
// input, so the reconciler and the build runner both use this package and cannot differ.
//
// A module comes from an untrusted repository: sizes, nesting and counts are bounded before a
// parser processes the content, no path and no symbolic link leads out of the tree, and nothing is
// executed. The package never fetches anything and never runs Terraform.
//
// The closure does not include paths that an expression computes, such as file("../../motd"). A
// file that is read that way must be below the module's own directory or below that of a module
// that it calls.
package tfmodule
