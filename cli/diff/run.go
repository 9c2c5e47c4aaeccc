package diff

import (
	"context"
	"slices"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	model "github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/ignore"
)

// run compares, prints the report and returns an error with the exit code. A failure
// never has the code 1, which --exit-code uses. names are the inputs that are compared.
func run(ctx context.Context, c *console.Console, o options, names []string,
	compare func(*console.Console, *resolvedOptions) (*model.Report, error)) error {
	s, err := o.settle(c)
	if err != nil {
		return usageError(err)
	}
	tell := startProgress
	if c.InIsTerminal && slices.Contains(names, stdin) {
		c.Messagef("reading from the terminal; Ctrl-D ends it")
		tell = nil
	}
	report, err := runInterruptible(ctx, c, tell, func() (*model.Report, error) { return compare(c, s) })
	if err != nil {
		return usageError(err)
	}
	for _, rules := range s.rules {
		rules.Apply(report)
	}
	if err := s.show(ctx, c, report); err != nil {
		return usageError(err)
	}
	if o.exitCode && hasDifferences(report) {
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

// usageError returns an error with the exit code Usage if it has none.
func usageError(err error) error {
	if exitcode.CodeOf(err) == exitcode.Failed {
		return exitcode.With(exitcode.Usage, err)
	}
	return err
}

// hasDifferences reports whether applying the report would do something, or would leave
// something to do, apart from what the rules of --ignore hide. Changes by others
// that an apply leaves alone do not count. Neither do values that change with every
// rendering if there is nothing else, because they are no reason for an apply.
func hasDifferences(r *model.Report) bool {
	lists := [][]model.Change{r.Changes, r.Outputs, r.Hooks, r.Tests, r.Kept, r.Deferred}
	listed := 0
	for _, list := range lists {
		listed += len(list)
		for i := range list {
			if c := &list[i]; !ignore.OnlyIgnored(c) && (r.Applyable || !c.IsNoise()) {
				return true
			}
		}
	}
	return listed == 0 && r.Applyable // the plan only records changes that others made
}
