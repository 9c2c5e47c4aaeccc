package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// maxLine is the number of bytes after which a line of a log is split, and maxLog the size of a log file, after which
	// nothing more is kept.
	maxLine = 16 << 10
	maxLog  = 256 << 20
)

// output receives what a container writes. It writes a log in the format of container runtimes, and passes everything
// on to those who are attached.
type output struct {
	mu       sync.Mutex
	log      *os.File
	size     int
	attached map[*attachment]bool
	streams  sync.WaitGroup
}

// attachment is a client that is attached to a container.
type attachment struct {
	out, err io.Writer     // may be nil
	broken   chan struct{} // closed when the client does not read any more
}

func newOutput(log *os.File) *output { return &output{log: log, attached: map[*attachment]bool{}} }

// attach passes on what the container writes from now on, until detach.
func (o *output) attach(a *attachment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attached[a] = true
}

func (o *output) detach(a *attachment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.attached, a)
}

// read reads one stream of the container to its end, in the background.
func (o *output) read(name string, from *os.File) {
	o.streams.Go(func() {
		var line []byte // without its end
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			line = o.received(name, buffer[:n], line)
			if err != nil {
				break
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(line) > 0 {
			o.write(name, 'P', line)
		}
	})
}

// received passes on and logs a part of a stream. It returns the line that has not ended.
func (o *output) received(name string, part, line []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	for a := range o.attached {
		to := a.out
		if name == stderrName {
			to = a.err
		}
		if to == nil || len(part) == 0 {
			continue
		}
		if _, err := to.Write(part); err != nil {
			delete(o.attached, a)
			close(a.broken)
		}
	}
	line = append(line, part...)
	for {
		end := bytes.IndexByte(line, '\n')
		switch {
		case end >= 0 && end <= maxLine:
			o.write(name, 'F', line[:end])
			line = line[end+1:]
		case len(line) > maxLine:
			o.write(name, 'P', line[:maxLine])
			line = line[maxLine:]
		default:
			return append([]byte(nil), line...)
		}
	}
}

const stdoutName, stderrName = "stdout", "stderr"

// write adds a line or a part of one to the log. The caller has the lock.
func (o *output) write(name string, tag byte, line []byte) {
	text := time.Now().UTC().AppendFormat(nil, time.RFC3339Nano)
	text = append(append(append(text, ' '), name...), ' ', tag, ' ')
	text = append(append(text, line...), '\n')
	if o.size += len(text); o.size <= maxLog {
		_, _ = o.log.Write(text)
	}
}

// finish waits for the end of all streams, which processes of the container may delay, but not for long, and closes the
// log. It closes the files that are read.
func (o *output) finish(from ...*os.File) {
	for _, f := range from {
		_ = f.SetReadDeadline(time.Now().Add(drainLimit))
	}
	o.streams.Wait()
	for _, f := range from {
		_ = f.Close()
	}
	_ = o.log.Close()
}

// drainLimit bounds how long the output of an ended process is read that another one holds open.
const drainLimit = 2 * time.Second

// pipe returns a pipe, or an error; its ends are closed by closeAll.
type pipe struct{ read, write *os.File }

func newPipe() (p pipe, err error) {
	p.read, p.write, err = os.Pipe()
	return p, err
}

// closeAll closes files that may be nil.
func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
				continue // nothing depends on it
			}
		}
	}
}
