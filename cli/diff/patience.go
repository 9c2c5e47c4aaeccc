package diff

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/pkg/deepstack"
)

// progressDelay is how long work may take before the command shows what it is doing.
const progressDelay = time.Second

// startProgress shows on a terminal what the command is doing.
func startProgress(c *console.Console) *progress.View {
	view := progress.Start(c)
	view.Show([]progress.Line{{Busy: true, Text: "reading and comparing"}})
	return view
}

// runInterruptible runs work that cannot be canceled, because it reads pipes and computes. When ctx
// is canceled it returns without waiting for the work, and the program exits. After a second
// it calls tell to show progress; tell is nil for a terminal that shows something else.
func runInterruptible[T any](ctx context.Context, c *console.Console,
	tell func(*console.Console) *progress.View,
	work func() (T, error)) (T, error) {
	type result struct {
		made T
		err  error
	}
	done := make(chan result, 1)
	go func() { // may run until the program exits
		deepstack.Reserve()
		made, err := work()
		done <- result{made, err}
	}()
	late := time.NewTimer(progressDelay)
	defer late.Stop()
	var view *progress.View
	defer func() { view.Stop() }()
	for {
		select {
		case r := <-done:
			return r.made, r.err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		case <-late.C:
			if tell != nil {
				view = tell(c)
			}
		}
	}
}
