// Package cmdenv holds what every command of nuon needs: the console, and a client of the
// control plane, created on demand.
package cmdenv

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
)

// Env is the environment of one run of the program.
type Env struct {
	Console *console.Console
	Context string // --context; empty for the current one
	Debug   bool   // --debug: print each exchange with the control plane on Err
}

// Call returns a command function that creates a client and passes it to do.
func (e *Env) Call(
	do func(ctx context.Context, client *apiclient.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		client, err := e.Client()
		if err != nil {
			return err
		}
		return do(c.Context(), client, args)
	}
}

// Sure makes c a command whose effect cannot be undone. It adds --yes with the given help. Before
// it creates the client it asks the person to confirm what, a sentence without its full stop.
func (e *Env) Sure(c *cobra.Command, help string, what func(args []string) string,
	do func(ctx context.Context, client *apiclient.Client, args []string) error) *cobra.Command {
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

// Client returns a client of the selected control plane.
func (e *Env) Client() (*apiclient.Client, error) {
	c, err := contexts.Select(e.Context)
	if err != nil {
		return nil, err
	}
	var around []func(http.RoundTripper) http.RoundTripper
	if e.Debug {
		around = append(around, apiclient.Debug(e.Console.Err, c.Token))
	}
	return apiclient.New(c, around...)
}
