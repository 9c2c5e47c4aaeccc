package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// newShell returns the command `nuon logs shell`.
func newShell(o *options) *cobra.Command {
	var cast, end bool
	c := &cobra.Command{
		Use:   "shell JOB",
		Short: "Print the transcript of an interactive shell, or end the shell",
		Long: `Print what was typed into an interactive shell (nuon debug -it) and what it showed, without control sequences.
Each line starts with its time and > for what was typed.

--cast prints it as an asciicast, which programs such as asciinema play, with all sequences of the pod. --end ends the
shell.`,
		Example: `  nuon logs shell job_01h8xqz5m2
  nuon logs shell job_01h8xqz5m2 --cast > shell.cast
  nuon logs shell job_01h8xqz5m2 --end`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: complete.Nothing,
		RunE: func(c *cobra.Command, args []string) error {
			client, err := o.env.Client()
			if err != nil {
				return err
			}
			if end {
				if _, err := apiclient.Decode[api.Job](client.CancelJob(c.Context(), args[0])); err != nil {
					return err
				}
				o.env.Console.Messagef("the shell ends now")
				return nil
			}
			return o.printShell(c.Context(), client, args[0], cast)
		},
	}
	c.Flags().BoolVar(&cast, "cast", false, "print an asciicast")
	c.Flags().BoolVar(&end, "end", false, "end the shell instead")
	return c
}

// printShell prints the transcript of a shell so far.
func (o *options) printShell(ctx context.Context, client *apiclient.Client, job string, cast bool) error {
	found, err := apiclient.Decode[api.ShellTranscript](client.GetShell(ctx, job, &api.GetShellParams{}))
	switch {
	case err != nil:
		return err
	case cast:
		return writeCast(o.env.Console.Out, found.Items)
	case len(found.Items) == 0:
		o.env.Console.Messagef("the transcript is empty: nothing was typed or shown")
	}
	return o.env.Console.Result(found, func(to io.Writer) error { return writeShell(to, found.Items) })
}

// writeShell writes a transcript as lines: what was shown, and after > what was typed.
func writeShell(to io.Writer, chunks []api.ShellChunk) error {
	texts := map[api.ShellChunkDirection]*bytes.Buffer{api.ShellChunkDirectionInput: {}, api.ShellChunkDirectionOutput: {}}
	write := func(chunk api.ShellChunk, line string) error {
		mark := " "
		if chunk.Direction == api.ShellChunkDirectionInput {
			mark = ">"
		}
		_, err := fmt.Fprintf(to, "%s %s %s\n", chunk.At.Local().Format("15:04:05"), mark, console.Line(line))
		return err
	}
	for i, chunk := range chunks {
		text := texts[chunk.Direction]
		text.Write(chunk.Data)
		last := i == len(chunks)-1
		for {
			end := bytes.IndexAny(text.Bytes(), "\r\n")
			if end < 0 {
				break
			}
			line := string(text.Next(end + 1)[:end])
			if line == "" {
				continue // the second half of \r\n
			}
			if err := write(chunk, line); err != nil {
				return err
			}
		}
		if !last {
			continue
		}
		for direction, rest := range texts {
			if rest.Len() > 0 {
				if err := write(api.ShellChunk{At: chunk.At, Direction: direction}, rest.String()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// writeCast writes a transcript as an asciicast (version 2).
func writeCast(to io.Writer, chunks []api.ShellChunk) error {
	if len(chunks) == 0 {
		return nil
	}
	encode := func(line any) error {
		text, err := console.EncodeJSON(line, "")
		if err == nil {
			_, err = to.Write(text)
		}
		return err
	}
	start := chunks[0].At
	if err := encode(map[string]any{"version": 2, "width": 80, "height": 24, "timestamp": start.Unix()}); err != nil {
		return err
	}
	for _, chunk := range chunks {
		since := chunk.At.Sub(start).Seconds()
		if chunk.Columns > 0 {
			if err := encode([]any{since, "r", fmt.Sprintf("%dx%d", chunk.Columns, chunk.Rows)}); err != nil {
				return err
			}
		}
		if len(chunk.Data) == 0 {
			continue
		}
		if err := encode([]any{since, string(chunk.Direction)[:1], strings.ToValidUTF8(string(chunk.Data),
			"\ufffd")}); err != nil {
			return err
		}
	}
	return nil
}
