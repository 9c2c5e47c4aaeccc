// Package silence keeps the libraries that nuon links from asking the terminal questions before main begins. The screens' library
// asks for the background colour in its package initialisation, in every command, also in `nuon --version`, and waits five
// seconds for the answer of a terminal that gives none. It does not ask a dumb terminal, so the terminal is one until main says
// that it has begun.
//
// Main calls Over and nothing else uses it. It must import the standard library alone: packages are initialised in the order of
// their paths as soon as what they import is (Go specification, "Program initialization"), and only so this one comes before the
// library, which needs golang.org/x/sys.
package silence

import "os"

const name = "TERM"

var (
	term, set = os.LookupEnv(name)
	_         = os.Setenv(name, "dumb") // fails only for a name or a value that cannot be one
)

// Over says that main has begun: the environment is what it was.
func Over() {
	if set {
		_ = os.Setenv(name, term) // it was there before
		return
	}
	_ = os.Unsetenv(name) // fails nowhere that has an environment
}
