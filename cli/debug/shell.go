package debug

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
)

const (
	// leaveKey is Ctrl-], which leaves a shell. Every other key reaches the program in the pod.
	leaveKey = 0x1d
	// maxTyped bounds one message, in bytes.
	maxTyped = 16 << 10
	// signOfLife is the interval in which the control plane learns that the person is there.
	signOfLife = 10 * time.Second
	// endTime bounds the requests at the end of a shell.
	endTime = 10 * time.Second
)

// shell starts a shell and connects this terminal to it.
func (o *options) shell(ctx context.Context, install, component string, command []string) error {
	in, isFile := o.env.Console.In.(*os.File)
	out, isOut := o.env.Console.Out.(*os.File)
	if !isFile || !isOut || !o.env.Console.InIsTerminal || !o.env.Console.OutIsTerminal {
		return exitcode.Usagef("-it needs a terminal; without it, nuon debug INSTALL -- COMMAND runs a command that the " +
			"runner's owner allows")
	}
	client, err := o.env.Client()
	if err != nil {
		return err
	}
	columns, rows := windowOf(out)
	job, err := apiclient.Decode[api.Job](client.CreateShell(ctx, install, api.NewShell{Component: component, Pod: o.pod,
		Container: o.container, Image: o.image, Command: command, Reason: o.reason,
		TimeoutSeconds: int(o.limit / time.Second), Columns: columns, Rows: rows}))
	if err != nil {
		return err
	}
	o.env.Console.Messagef("connecting; the transcript is recorded here and at the customer: nuon logs shell %s\n"+
		"Ctrl-] leaves and ends the shell", job.ID)
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("set the terminal to raw mode: %w", err)
	}
	c := &connection{client: client, job: job.ID, in: in, out: out, typed: make(chan []byte)}
	err = c.run(ctx)
	return errors.Join(err, term.Restore(int(in.Fd()), before), c.end(ctx, o.env.Console))
}

// windowOf returns the size of a terminal.
func windowOf(out *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(out.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		return 80, 24
	}
	return min(columns, 1000), min(rows, 1000)
}

// connection is a terminal that is connected to a shell.
type connection struct {
	client *apiclient.Client
	job    string
	in     io.Reader
	out    *os.File
	typed  chan []byte

	number int64 // of the last message
	over   bool  // the control plane reported the end
}

// errLeft ends a shell that the person leaves.
var errLeft = errors.New("left")

// run passes on what is typed and shown until one side ends.
func (c *connection) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go c.read(ctx) // ends with the next key after ctx, or with the program
	sending := make(chan struct{})
	go func() { // runs until ctx ends or the person leaves
		defer close(sending)
		stop(c.send(ctx))
	}()
	screen := &screen{to: c.out}
	err := apiclient.Follow(ctx, func(last string) (*http.Response, error) {
		return c.client.GetShell(ctx, c.job, &api.GetShellParams{LastEventID: last}, apiclient.AsStream)
	}, func(e apiclient.Event) (bool, error) {
		if e.Name != "output" {
			c.over = c.over || e.Name == "end"
			return e.Name == "end", nil
		}
		var chunk api.ShellChunk
		if err := json.Unmarshal(e.Data, &chunk); err != nil {
			return true, fmt.Errorf("read the output of %s: %w", c.job, err)
		}
		_, err := screen.Write(chunk.Data)
		return false, err
	})
	cause := context.Cause(ctx)
	stop(nil)
	<-sending
	screen.reset()
	switch {
	case c.over, errors.Is(cause, errLeft):
		return nil
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	}
	return err
}

// read passes on what is typed.
func (c *connection) read(ctx context.Context) {
	for {
		part := make([]byte, 4<<10)
		n, err := c.in.Read(part)
		if n > 0 {
			select {
			case c.typed <- part[:n]:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// send sends what is typed and the size of the window until ctx ends, and returns errLeft when the person leaves.
func (c *connection) send(ctx context.Context) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	alive := time.NewTicker(signOfLife)
	defer alive.Stop()
	for {
		var message api.NewShellInput
		select {
		case message.Data = <-c.typed:
			message.Data = c.more(message.Data)
		case <-resized:
			message.Columns, message.Rows = windowOf(c.out)
		case <-alive.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		text, _, leaves := bytes.Cut(message.Data, []byte{leaveKey})
		if message.Data = text; len(text) > 0 || message.Columns > 0 {
			c.number++
			message.Number = c.number
		}
		if len(text) > 0 || message.Columns > 0 || !leaves {
			if err := c.post(ctx, message); err != nil {
				return err
			}
		}
		if leaves {
			return errLeft
		}
	}
}

// more adds what was typed meanwhile.
func (c *connection) more(text []byte) []byte {
	for len(text) < maxTyped-4<<10 {
		select {
		case next := <-c.typed:
			text = append(text, next...)
		default:
			return text
		}
	}
	return text
}

// post sends a message, again after an interruption: one that has arrived already has no effect.
func (c *connection) post(ctx context.Context, message api.NewShellInput) error {
	var outage apiclient.OutageTolerance
	outage.Seen()
	for {
		err := apiclient.CheckDone(c.client.SendShellInput(ctx, c.job, message))
		if err == nil || ctx.Err() != nil || !outage.Bears(err) {
			return err
		}
		if !backoff.Pause(ctx, time.Second) {
			return context.Cause(ctx)
		}
	}
}

// end ends the shell unless it has ended, and prints how it ended.
func (c *connection) end(ctx context.Context, to *console.Console) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer stop()
	if !c.over {
		if err := c.post(ctx, api.NewShellInput{Leave: true}); err != nil {
			if _, cancelErr := apiclient.Decode[api.Job](c.client.CancelJob(ctx, c.job)); cancelErr != nil {
				return fmt.Errorf("the shell could not be ended; its time limit ends it: %w", cancelErr)
			}
		}
		to.Messagef("left the shell, which ends now")
		return nil
	}
	job, err := apiclient.Decode[api.Job](c.client.GetJob(ctx, c.job))
	if err != nil {
		return err
	}
	if job.Status != api.JobStatusSucceeded {
		return errors.New(console.Line(job.Error))
	}
	to.Messagef("the shell has ended")
	return nil
}
