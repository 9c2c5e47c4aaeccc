package builds

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newRetry(e *cmdenv.Env) *cobra.Command {
	w := waitOptions{env: e}
	c := &cobra.Command{
		Use: "retry BUILD", Short: "Retry a failed build with the same input", Args: cobra.ExactArgs(1),
		Example:           `  nuon builds retry bld_06gvn3e82qfnps3l02b9i1pa6k --wait`,
		ValidArgsFunction: complete.Args(e, complete.FailedBuilds),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := e.Client()
			if err != nil {
				return err
			}
			b, err := apiclient.Decode[api.Build](client.RetryBuild(c.Context(), args[0]))
			if err != nil {
				return err
			}
			all := []componentResult{{Component: b.Component, Done: "retried", Build: &b}}
			failed := w.waitForBuilds(c.Context(), client, all)
			if err := e.Console.Result(b, func(out io.Writer) error { return show(out, b) }); err != nil {
				return err
			}
			return failed
		},
	}
	w.flags(c)
	return c
}
