package podshell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// relay is the runner API, as far as a session needs it. *job.AttemptClient implements it.
type relay interface {
	ReceiveShellInput(ctx context.Context, after int64) (api.ShellInputs, error)
	SendShellOutput(ctx context.Context, message api.NewShellOutput) error
}

// program runs an interactive program in a container until it ends, or ctx does.
type program func(ctx context.Context, t cluster.Terminal) (exitCode int, err error)

const (
	// maxMessage bounds one message of output, in bytes, and maxWaiting what waits to be sent: then the program waits.
	maxMessage, maxWaiting = 48 << 10, 256 << 10
	// revealAfter is how long the start of what may be a secret is held back, and reveal how much of one may be shown.
	revealAfter, reveal = 50 * time.Millisecond, 2
	// drainTime bounds how long the last output may take to be sent.
	drainTime = 10 * time.Second
)

// session relays between a person and a program.
type session struct {
	relay  relay
	redact *redact.Set
	out    *transcript
	stop   context.CancelCauseFunc

	input    *buffer // what was typed, for the program
	output   *buffer // what is shown, for the person
	sizes    chan cluster.WindowSize
	produced int64
}

func newSession(r relay, secrets *redact.Set, out *transcript) *session {
	return &session{relay: r, redact: secrets, out: out, input: newBuffer(maxInput), output: newBuffer(maxWaiting),
		sizes: make(chan cluster.WindowSize, 1)}
}

// run runs the program and returns the result of the session.
func (s *session) run(ctx context.Context, request api.NewShell, start program) api.JobResult {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.stop = stop
	s.resize(request.Columns, request.Rows)
	var work sync.WaitGroup
	work.Go(func() { s.receive(running) })
	sent := make(chan struct{})
	go func() { // sends until the output is closed
		defer close(sent)
		s.send(context.WithoutCancel(ctx))
	}()
	release := context.AfterFunc(running, func() { s.input.close(); s.output.fail() })
	shown := s.redact.Writer(writerFunc(s.show))
	exitCode, err := start(running, cluster.Terminal{In: s.input, Out: &revealing{to: shown}, Resized: s.sizes})
	cause := context.Cause(running)
	release()
	_ = shown.Close() // its error is that of the output, which has ended
	s.input.close()
	s.output.close()
	select {
	case <-sent:
	case <-time.After(drainTime):
	}
	stop(nil)
	work.Wait()
	return s.result(ctx, cause, exitCode, err)
}

// result returns how a session ended: cause is why it was ended, err the error of its program.
func (s *session) result(ctx context.Context, cause error, exitCode int, err error) api.JobResult {
	made := api.JobResult{Status: job.Succeeded, Shell: api.ShellResult{ExitCode: exitCode}}
	switch {
	case cause != nil && errors.Is(cause, errLeft):
	case cause != nil && errors.Is(cause, errStopped):
		made.Status, made.Error = api.JobResultStatusCancelled, s.redact.String(cause.Error())
	case cause != nil && ctx.Err() != nil && !errors.Is(cause, errTime):
		made.Status, made.Error = api.JobResultStatusCancelled, "the shell was ended: it was cancelled, or the runner's "+
			"owner does not allow it any more"
	case cause != nil:
		made.Status, made.Error = api.JobResultStatusFailed, s.redact.String(cause.Error())
	case err != nil:
		made.Status, made.Error = api.JobResultStatusFailed, s.redact.String(err.Error())
	}
	if problem := s.out.failed(); problem != nil {
		made.Status, made.Error = api.JobResultStatusFailed, problem.Error()
	}
	return made
}

// receive passes on what the person sends, until the session ends.
func (s *session) receive(ctx context.Context) {
	recorded := s.redact.Writer(writerFunc(func(text []byte) error { s.out.add(typed, text); return nil }))
	defer recorded.Close() //nolint:errcheck // the transcript has its error
	var after, size int64
	for ctx.Err() == nil {
		got, err := s.relay.ReceiveShellInput(ctx, after)
		if err != nil {
			s.stop(fmt.Errorf("the shell lost its connection: %w", err))
			return
		}
		for _, message := range got.Items {
			if message.Number <= after {
				continue
			}
			after = message.Number
			if size += int64(len(message.Data)); size > maxInput {
				s.stop(errInput)
				return
			}
			if message.Columns > 0 && message.Rows > 0 {
				s.out.resize(message.Columns, message.Rows)
				s.resize(message.Columns, message.Rows)
			}
			_, _ = recorded.Write(message.Data)
			if err := s.out.failed(); err != nil { // nothing happens without a transcript
				s.stop(err)
				return
			}
			if s.input.write(message.Data) != nil { // the program has ended
				return
			}
		}
		switch {
		case got.Left:
			s.stop(errLeft)
			return
		case got.Ended != "":
			s.stop(fmt.Errorf("%w: %.200s", errStopped, got.Ended))
			return
		}
	}
}

// resize passes on the size of the window. Only the newest one matters.
func (s *session) resize(columns, rows int) {
	select {
	case <-s.sizes:
	default:
	}
	s.sizes <- cluster.WindowSize{Columns: min(max(columns, 1), 1000), Rows: min(max(rows, 1), 1000)}
}

// show takes masked output of the program.
func (s *session) show(text []byte) error {
	if s.produced += int64(len(text)); s.produced > maxOutput {
		s.stop(errOutput)
		return errOutput
	}
	s.out.add(shown, text)
	if err := s.out.failed(); err != nil {
		s.stop(err)
		return err
	}
	return s.output.write(text)
}

// send sends the output until it is closed.
func (s *session) send(ctx context.Context) {
	part := make([]byte, maxMessage)
	for number := int64(1); ; number++ {
		n, err := s.output.Read(part)
		if err != nil {
			return
		}
		if err := s.relay.SendShellOutput(ctx, api.NewShellOutput{Number: number, Data: part[:n]}); err != nil {
			s.stop(fmt.Errorf("the shell lost its connection: %w", err))
			return
		}
	}
}

// writerFunc is a function as a writer.
type writerFunc func([]byte) error

// Write calls the function.
func (f writerFunc) Write(text []byte) (int, error) { return len(text), f(text) }

// revealing is a redactor that shows the start of what may be a secret after a short time, because it may as well be
// the echo of one character.
type revealing struct {
	to    *redact.Writer
	timer *time.Timer
}

// Write writes to the redactor.
func (r *revealing) Write(text []byte) (int, error) {
	if r.timer != nil {
		r.timer.Stop()
	}
	n, err := r.to.Write(text)
	r.timer = time.AfterFunc(revealAfter, func() { _ = r.to.Reveal(reveal) }) // an error is that of the next write
	return n, err
}

// buffer passes bytes from a writer, which waits while it is full, to a reader.
type buffer struct {
	most int

	mutex   sync.Mutex
	changed *sync.Cond
	content bytes.Buffer
	closed  bool // no more is written
	failed  bool // nothing is taken any more
}

func newBuffer(most int) *buffer {
	b := &buffer{most: most}
	b.changed = sync.NewCond(&b.mutex)
	return b
}

var errEnded = errors.New("the session has ended")

func (b *buffer) write(text []byte) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for b.content.Len() > 0 && b.content.Len()+len(text) > b.most && !b.failed && !b.closed {
		b.changed.Wait()
	}
	if b.failed || b.closed {
		return errEnded
	}
	b.content.Write(text)
	b.changed.Broadcast()
	return nil
}

// Read waits for bytes. After close it returns what is left, and then io.EOF.
func (b *buffer) Read(part []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for b.content.Len() == 0 && !b.closed {
		b.changed.Wait()
	}
	if b.content.Len() == 0 {
		return 0, io.EOF
	}
	n, _ := b.content.Read(part)
	b.changed.Broadcast()
	return n, nil
}

// close ends the buffer after what it has.
func (b *buffer) close() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.closed = true
	b.changed.Broadcast()
}

// fail makes writes return an error. What was written before is still read.
func (b *buffer) fail() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.failed = true
	b.changed.Broadcast()
}
