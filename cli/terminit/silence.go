// Package terminit stops linked libraries from querying the terminal before main starts.
// Bubble Tea queries the background color during package initialization, in every command
// including `nuon --version`, and waits five seconds if the terminal does not answer. It
// does not query a dumb terminal, so this package sets TERM to dumb until main calls Over.
//
// Only main calls Over. The package must import nothing but the standard library:
// packages are initialized in the order of their import paths as soon as their imports
// are initialized (Go specification, "Program initialization"), and only therefore
// this package is initialized before the library, which imports golang.org/x/sys.
package terminit

import "os"

const name = "TERM"

var (
	term, set = os.LookupEnv(name)
	_         = os.Setenv(name, "dumb") // fails only for an invalid name or value
)

// Restore restores the environment; main calls it when it starts.
func Restore() {
	if set {
		_ = os.Setenv(name, term) // cannot fail: the value was set before
		return
	}
	_ = os.Unsetenv(name) // cannot fail on a system that has an environment
}
