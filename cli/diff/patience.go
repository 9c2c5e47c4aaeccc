package diff

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/progress"
)

// soon is how long somebody waits without being told for what.
const soon = time.Second

// begin tells a terminal what is being done.
func begin(c *console.Console) *progress.View {
	view := progress.Start(c)
	view.Show([]progress.Line{{Busy: true, Text: "reading and comparing"}})
	return view
}

// patiently does work that cannot be stopped (it reads pipes and computes), and leaves it where it is when the context ends: the program
// does, too. After a moment it tells what it does; nil for a terminal that shows something else.
func patiently[T any](ctx context.Context, c *console.Console, tell func(*console.Console) *progress.View, work func() (T, error)) (T, error) {
	type result struct {
		made T
		err  error
	}
	done := make(chan result, 1)
	go func() { // works until the end of the program at most
		made, err := work()
		done <- result{made, err}
	}()
	late := time.NewTimer(soon)
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
