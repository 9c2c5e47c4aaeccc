// Package watch implements --watch: it shows a state again and again, on a terminal as a frame that
// is redrawn in place, in a pipe as the lines that changed. It does not interpret what it shows.
package watch

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// pollInterval is the pause between two polls.
const pollInterval = 2 * time.Second

// Flag adds --watch to a command.
func Flag(c *cobra.Command, on *bool) {
	c.Flags().BoolVar(on, "watch", false, "watch for changes until Ctrl-C")
}

// Run calls look every two seconds until ctx ends or look fails. look prints the current state to
// the console that it receives. Run waits for a control plane that is unreachable for a while.
//
// On a terminal each frame replaces the previous one. In a pipe, and with -o json, yaml
// or name, Run prints only what is new since the previous frame: lines; with json one
// value per line, with yaml one document per value. The values of a list are its items.
func Run(ctx context.Context, c *console.Console, look func(ctx context.Context, c *console.Console) error) error {
	if c.OutIsTerminal && (c.Output == "table" || c.Output == "") {
		screen := open(c)
		defer screen.close()
		return run(ctx, c, look, screen.show, screen.remark)
	}
	changes := changes{out: c.Out, format: c.Output}
	return run(ctx, c, look, changes.show, func(text string) { c.Messagef("%s", text) })
}

// run polls. It passes frames to show, and the message that the control plane
// is unreachable to remark.
func run(ctx context.Context, c *console.Console,
	look func(context.Context, *console.Console) error,
	show func(frame []byte) error, remark func(string)) error {
	var patience apiclient.OutageTolerance
	absent := false
	for {
		frame, err := render(ctx, c, look)
		switch {
		case ctx.Err() != nil:
			return exitcode.Interrupted
		case err == nil:
			patience.Seen()
			absent = false
			if err := show(frame); err != nil {
				return err
			}
		case !patience.Bears(err):
			return err
		case !absent:
			absent = true
			remark("control plane unreachable: showing the last known state")
		}
		select {
		case <-ctx.Done():
			return exitcode.Interrupted
		case <-time.After(pollInterval):
		}
	}
}

// render returns what one call of look prints.
func render(ctx context.Context, c *console.Console,
	look func(context.Context, *console.Console) error) ([]byte, error) {
	var frame bytes.Buffer
	c.Measure()
	onto := *c
	onto.Out = &frame
	if onto.Output == "yaml" {
		onto.Output = "json" // so that the items of a list can be separated
	}
	if err := look(ctx, &onto); err != nil {
		return nil, err
	}
	return frame.Bytes(), nil
}

// errNoData is the error for output that is not JSON although -o requires data.
var errNoData = errors.New("--watch does not support this output format")
