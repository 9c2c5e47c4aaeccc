package main

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/interactive"
	"github.com/nuon-toolkit/nuon/cli/screen"
)

// opensHome makes `nuon` without arguments open the home screen on a terminal. Elsewhere, and
// while no control plane is selected, it prints the help.
func opensHome(e *cmdenv.Env, root *cobra.Command) {
	plain := false
	root.Flags().BoolVar(&plain, "plain", false,
		"without a command: print the screens as lines and read lines, for screen readers")
	root.RunE = func(c *cobra.Command, _ []string) error {
		selected, err := contexts.Select(e.Context)
		spoiled := e.Debug && e.Console.ErrIsTerminal // the output of --debug would overwrite the screen
		ready := err == nil && selected.URL != "" && e.Console.Output == "table" && !spoiled
		switch {
		case ready && plain:
			client, err := e.Client()
			if err != nil {
				return err
			}
			return interactive.Read(c.Context(), e.Console, client, screens(e, selected.CacheFile()))
		case ready && screen.Available(e.Console):
			client, err := e.Client()
			if err != nil {
				return err
			}
			return interactive.Open(c.Context(), e.Console, client, screens(e, selected.CacheFile()))
		}
		return c.Help()
	}
}

// screens returns how the screens run commands: in this process, without a terminal. The file stores
// the last known state of the home screen.
func screens(e *cmdenv.Env, file string) interactive.Options {
	execute := func(ctx context.Context, out io.Writer, args []string) error {
		inner := &cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: out, Err: io.Discard, Width: 80}}
		root := newRoot(inner, args...)
		root.SetArgs(append([]string{"--context", e.Context, "-o", "table"}, args...))
		return root.ExecuteContext(ctx)
	}
	return interactive.Options{
		Cache: file,
		Run: func(ctx context.Context, args ...string) (string, error) {
			var out bytes.Buffer
			err := execute(ctx, &out, args)
			return out.String(), err
		},
		Follow: func(ctx context.Context, line func(string), args ...string) error {
			read, write := io.Pipe()
			done := make(chan struct{})
			go func() { // passes lines on until the command has ended
				defer close(done)
				readLines(read, line)
			}()
			err := execute(ctx, write, args)
			_ = write.Close() // never fails
			<-done
			return err
		},
	}
}

// readLines passes on each line of a reader.
func readLines(r io.Reader, line func(string)) {
	var rest []byte
	part := make([]byte, 32<<10)
	for {
		n, err := r.Read(part)
		rest = append(rest, part[:n]...)
		for {
			one, after, found := bytes.Cut(rest, []byte{'\n'})
			if !found {
				break
			}
			line(string(one))
			rest = after
		}
		if err != nil {
			return
		}
	}
}
