package diff

import (
	"context"
	"slices"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	model "github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/ignore"
)

// run compares, shows, and says by its error how it ended: nothing that went wrong is ever the 1 of --exit-code.
// Names are those of what is compared.
func run(ctx context.Context, c *console.Console, o options, names []string, compare func(*console.Console, *settled) (*model.Report, error)) error {
	s, err := o.settle(c)
	if err != nil {
		return wrong(err)
	}
	tell := begin
	if c.InIsTerminal && slices.Contains(names, stdin) {
		c.Say("reading from the terminal; Ctrl-D ends it")
		tell = nil
	}
	report, err := patiently(ctx, c, tell, func() (*model.Report, error) { return compare(c, s) })
	if err != nil {
		return wrong(err)
	}
	for _, rules := range s.rules {
		rules.Apply(report)
	}
	if err := s.show(ctx, c, report); err != nil {
		return wrong(err)
	}
	if o.exitCode && differs(report) {
		return &exit.Error{Code: exit.Failed}
	}
	return nil
}

// wrong gives an error a code that says so, where it has none.
func wrong(err error) error {
	if exit.CodeOf(err) == exit.Failed {
		return exit.With(exit.Usage, err)
	}
	return err
}

// differs says that applying a report would do something, or leaves something to be done, beside what rules of the caller ignore. What
// others have changed, and stays, is no difference between what was given; neither is what is made anew at each rendering, and nothing
// else: it is no reason for an apply.
func differs(r *model.Report) bool {
	lists := [][]model.Change{r.Changes, r.Outputs, r.Hooks, r.Tests, r.Kept, r.Deferred}
	listed := 0
	for _, list := range lists {
		listed += len(list)
		for i := range list {
			if c := &list[i]; !ignore.Whole(c) && (r.Applyable || !c.Noise()) {
				return true
			}
		}
	}
	return listed == 0 && r.Applyable // a plan that only takes over what others have changed
}
