// Package tfmodule reads which files a Terraform root module consists of.
//
// It owns the closure of a module: its directory, every local module that it calls ("./x", "../x") and what those call in turn,
// all inside one tree, and the list of what it calls from elsewhere. The closure decides what is packed into an artifact and what
// the digest of a component's input is made of, so the reconciler and the build runner both use this package and cannot differ.
//
// A module comes from somebody's repository, so it is hostile: sizes, nesting and counts are bounded before a parser sees a byte,
// no path and no symbolic link leads out of the tree, and what is read is never executed. The package never fetches anything and
// never runs Terraform.
//
// One thing it cannot see: a path that an expression makes, such as file("../../motd"). A file that is read that way must lie
// below the module's own directory or below that of a module that it calls.
package tfmodule
