// Package env is what every command of nuon is given: the terminal, and the way to the control plane, opened when it is needed.
package env

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/remote"
)

// Env is one run of the program.
type Env struct {
	Console *console.Console
	Context string // --context; empty for the current one
	Debug   bool   // --debug: show each exchange with the control plane on Err
}

// Call makes a command of what talks to the control plane: it opens the way there first.
func (e *Env) Call(do func(ctx context.Context, client *remote.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		client, err := e.Client()
		if err != nil {
			return err
		}
		return do(c.Context(), client, args)
	}
}

// Sure makes c a command of what cannot be undone: it gets --yes, with this help, and what it would do, as a sentence without its full
// stop, is asked about before the way to the control plane is opened.
func (e *Env) Sure(c *cobra.Command, help string, what func(args []string) string, do func(ctx context.Context, client *remote.Client, args []string) error) *cobra.Command {
	var yes bool
	c.Flags().BoolVar(&yes, "yes", false, help)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := e.Console.Confirm(c.Context(), what(args), yes); err != nil {
			return err
		}
		return e.Call(do)(c, args)
	}
	return c
}

// Client opens the way to the chosen control plane.
func (e *Env) Client() (*remote.Client, error) {
	c, err := contexts.Chosen(e.Context)
	if err != nil {
		return nil, err
	}
	var around []func(http.RoundTripper) http.RoundTripper
	if e.Debug {
		around = append(around, remote.Debug(e.Console.Err, c.Token))
	}
	return remote.New(c, around...)
}
