// Package version says which nuon this is. The three programs and the API report it.
package version

// Number is the version, set when a release is linked.
var Number = "0.1.0-dev"
