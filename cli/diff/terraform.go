package diff

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	model "github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terraform"
)

func newTerraform(e *cmdenv.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use: "terraform PLAN.json", Short: "Show what a Terraform or OpenTofu plan changes",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: files(1, "json"),
		Long: `Show what a Terraform or OpenTofu plan changes, from the output of "terraform show -json PLANFILE": a
file, the output of a command, as <(command), or - for stdin.

Values that the plan marks as sensitive are masked, and so are their copies elsewhere in the plan.`,
		Example: `  nuon diff terraform plan.json
  nuon diff terraform <(terraform show -json tfplan) --exit-code
  nuon diff terraform plan.json -o markdown`,
		RunE: func(c *cobra.Command, args []string) error {
			o.given = c.Flags().Changed("output")
			compare := func(onto *console.Console, s *resolvedOptions) (*model.Report, error) {
				return planReport(onto, args[0], s)
			}
			return run(c.Context(), e.Console, o, args, compare)
		},
	}
	o.flags(c)
	return c
}

// planReport reads a plan as a stream.
func planReport(c *console.Console, name string, s *resolvedOptions) (*model.Report, error) {
	from := c.In
	if name != stdin {
		file, err := os.Open(name)
		if err != nil {
			return nil, readError(name, err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		from = file
	}
	plan := bufio.NewReaderSize(from, 64<<10)
	if err := checkPlanJSON(name, plan); err != nil {
		return nil, err
	}
	o := terraform.Options{Secrets: s.secrets, TagKey: s.tagKey, MaxBytes: maxBytes}
	o.Limit, o.Lines, o.Context = s.bounds()
	r, err := terraform.Report(plan, o)
	if err != nil {
		return nil, readError(name, err)
	}
	return r, nil
}

// zip is the start of a file that `terraform plan -out` writes.
const zip = "PK\x03\x04"

// checkPlanJSON returns an error with a remedy for input that is obviously not the JSON of a plan.
func checkPlanJSON(name string, plan *bufio.Reader) error {
	start, err := plan.Peek(len(zip))
	switch {
	case string(start) == zip:
		return exitcode.Usagef("%s is a plan file, not its JSON; use <(terraform show -json %s)", name, name)
	case len(start) == 0 && errors.Is(err, io.EOF):
		return exitcode.Usagef("%s is empty; use the output of `terraform show -json PLANFILE`", name)
	case err != nil && !errors.Is(err, io.EOF):
		return readError(name, err)
	}
	return nil
}
