// Package versionflag answers `nuon --version` before the linked libraries are initialized, which
// would take most of the time of this command.
//
// Like cli/terminit, the package must import nothing but the standard library and packages that
// do the same: only therefore it is initialized before the libraries.
package versionflag

import (
	"os"

	"github.com/nuon-toolkit/nuon/pkg/version"
)

func init() {
	if len(os.Args) != 2 || os.Args[1] != "--version" {
		return
	}
	if _, err := os.Stdout.WriteString(Text()); err == nil {
		os.Exit(0) //nolint:forbidigo // main, and the libraries, are not needed any more
	}
	// main tries once more, and reports the error.
}

// Text returns what `nuon --version` prints: a line.
func Text() string { return "nuon " + version.Number + "\n" }
