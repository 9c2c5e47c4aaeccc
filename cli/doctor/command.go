package doctor

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/dev"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/pgcluster"
)

// New returns the doctor command.
func New(e *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine for what nuon needs, and how to install what is missing",
		Long: `Check this machine for what nuon needs, and print how to install what is missing.

The exit code is 1 if nuon dev cannot start.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			looked := machine{
				getenv: os.Getenv, environ: os.Environ,
				findProgram: dev.FindProgram, canFetch: pgcluster.CanFetch(), ports: defaultPorts(),
				context: func() (contexts.Context, error) { return contexts.Select(e.Context) },
			}
			return report(e.Console, looked.diagnose(command.Context()))
		},
	}
}

// report prints a diagnosis. If something is missing, it returns an exit code
// without a message, because the printed lines contain everything.
func report(to *console.Console, made Diagnosis) error {
	err := to.Result(made, func(w io.Writer) error { return writeChecks(w, made, to.Color) })
	if err != nil || made.OK {
		return err
	}
	return &exitcode.Error{Code: exitcode.Failed}
}

// marks are the colors of the results.
var marks = map[Status]string{OK: "\x1b[32m", Absent: "\x1b[33m", Missing: "\x1b[31m"}

func writeChecks(w io.Writer, made Diagnosis, colour bool) error {
	for _, check := range made.Checks {
		status := fmt.Sprintf("%-7s", check.Status)
		if colour {
			status = marks[check.Status] + status + "\x1b[0m"
		}
		if _, err := fmt.Fprintf(w, "%s  %-22s  %s\n", status, check.Name, console.Line(check.Found)); err != nil {
			return err
		}
		if check.Remedy == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-7s  %-22s  → %s\n", "", "", console.Line(check.Remedy)); err != nil {
			return err
		}
	}
	last := "nuon dev can start"
	if !made.OK {
		last = "nuon dev cannot start until the missing items are installed"
	}
	_, err := fmt.Fprintf(w, "\n%s\n", last)
	return err
}
