package child

import (
	"fmt"
	"io"
	"os"
	"time"
)

// stream brings what is written to a pipe to where it is wanted.
type stream struct {
	write, read *os.File
	// spare is the reading end once more, for the program to hold: should this process die, what the program prints goes nowhere,
	// but does not end it. It may be nil.
	spare   *os.File
	drained chan struct{}
}

func newStream(to io.Writer) (*stream, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	made := &stream{write: write, read: read, spare: spareOf(read), drained: make(chan struct{})}
	go func() { // waits for the end of the pipe, or for the deadline of finish
		defer close(made.drained)
		_, _ = io.Copy(&patient{to: to}, read)
	}()
	return made, nil
}

// patient goes on reading when nobody takes the text any more: a program must not be held up by that.
type patient struct {
	to     io.Writer
	failed bool
}

func (p *patient) Write(text []byte) (int, error) {
	if !p.failed {
		_, err := p.to.Write(text)
		p.failed = err != nil
	}
	return len(text), nil
}

// began closes what is the program's alone.
func (s *stream) began() {
	_ = s.write.Close()
	if s.spare != nil {
		_ = s.spare.Close()
	}
}

// drainLimit is how long output that was written may take to be read, once the program is gone. A process that left its group can
// hold the pipe open for ever.
const drainLimit = time.Second

// finish reads what is still in the pipe and closes it.
func (s *stream) finish() {
	_ = s.read.SetReadDeadline(time.Now().Add(drainLimit))
	<-s.drained
	_ = s.read.Close()
}
