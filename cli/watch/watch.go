// Package watch shows again and again how something stands, for the commands with --watch: on a terminal as a picture that is
// drawn anew, in a pipe as the lines that have changed. It knows nothing of what it shows.
package watch

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
)

// every is the pause between two looks.
const every = 2 * time.Second

// Flag gives a command --watch.
func Flag(c *cobra.Command, on *bool) {
	c.Flags().BoolVar(on, "watch", false, "go on looking, and show what changes until Ctrl-C")
}

// Run calls look, which prints how things stand to the console that it is given, every two seconds until ctx ends or look fails. A
// control plane that is away for a while is waited for.
//
// On a terminal each look replaces what the one before has printed. In a pipe, and with -o json, yaml or name, each prints what is
// new since the one before: lines; with json one value a line and with yaml one document each, which of a list are its items.
func Run(ctx context.Context, c *console.Console, look func(ctx context.Context, c *console.Console) error) error {
	if c.OutIsTerminal && (c.Output == "table" || c.Output == "") {
		screen := open(c)
		defer screen.close()
		return run(ctx, c, look, screen.show, screen.remark)
	}
	changes := changes{out: c.Out, format: c.Output}
	return run(ctx, c, look, changes.show, func(text string) { c.Say("%s", text) })
}

// run looks; show and remark are where what it sees goes, and the word that it sees nothing.
func run(ctx context.Context, c *console.Console, look func(context.Context, *console.Console) error, show func(frame []byte) error, remark func(string)) error {
	var patience remote.Patience
	absent := false
	for {
		frame, err := picture(ctx, c, look)
		switch {
		case ctx.Err() != nil:
			return exit.Interrupted
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
			remark("the control plane is away; what is shown is how it was")
		}
		select {
		case <-ctx.Done():
			return exit.Interrupted
		case <-time.After(every):
		}
	}
}

// picture is what one look prints.
func picture(ctx context.Context, c *console.Console, look func(context.Context, *console.Console) error) ([]byte, error) {
	var frame bytes.Buffer
	c.Measure()
	onto := *c
	onto.Out = &frame
	if onto.Output == "yaml" {
		onto.Output = "json" // which shows what the items of a list are
	}
	if err := look(ctx, &onto); err != nil {
		return nil, err
	}
	return frame.Bytes(), nil
}

// errNoData is a look that printed something else than -o json asks for.
var errNoData = errors.New("what is watched has no such output")
