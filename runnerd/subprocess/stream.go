package subprocess

import (
	"fmt"
	"io"
	"os"
	"time"
)

// stream copies what is written to a pipe to a writer.
type stream struct {
	write, read *os.File
	// spare is a second handle of the reading end, which the program inherits: if this process
	// dies, the program's output is discarded but does not end the program. It may be nil.
	spare   *os.File
	drained chan struct{}
}

func newStream(to io.Writer) (*stream, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	made := &stream{write: write, read: read, spare: openSpare(read), drained: make(chan struct{})}
	go func() { // copies until the end of the pipe, or until the deadline of finish
		defer close(made.drained)
		_, _ = io.Copy(&lenientWriter{to: to}, read)
	}()
	return made, nil
}

// lenientWriter continues to accept text after its writer has failed, so that a failed writer
// never blocks the program.
type lenientWriter struct {
	to     io.Writer
	failed bool
}

func (p *lenientWriter) Write(text []byte) (int, error) {
	if !p.failed {
		_, err := p.to.Write(text)
		p.failed = err != nil
	}
	return len(text), nil
}

// closeInherited closes this process's copies of the files that the program has inherited.
func (s *stream) closeInherited() {
	_ = s.write.Close()
	if s.spare != nil {
		_ = s.spare.Close()
	}
}

// drainLimit bounds how long output that was written may take to be read after the program has
// ended. A process that left the group can hold the pipe open forever.
const drainLimit = time.Second

// finish reads the rest of the pipe and closes it.
func (s *stream) finish() {
	_ = s.read.SetReadDeadline(time.Now().Add(drainLimit))
	<-s.drained
	_ = s.read.Close()
}
