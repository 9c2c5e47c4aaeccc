// Package env is what every command of nuon is given: the terminal, and the way to the control plane, opened when it is needed.
package env

import (
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/remote"
)

// Env is one run of the program.
type Env struct {
	Console *console.Console
	Context string // --context; empty for the current one
}

// Client opens the way to the chosen control plane.
func (e *Env) Client() (*remote.Client, error) {
	c, err := contexts.Chosen(e.Context)
	if err != nil {
		return nil, err
	}
	return remote.New(c)
}
