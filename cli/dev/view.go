package dev

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// maxLineBytes is the number of bytes after which a line is split.
const maxLineBytes = 64 << 10

// logMux merges the output of several children into one log of whole lines, each
// prefixed with its source.
type logMux struct {
	mu    sync.Mutex
	out   io.Writer
	color bool
	width int
}

// prefixColors of the sources, by number.
var prefixColors = []string{"\x1b[36m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[34m"}

func newLogMux(out io.Writer, color bool) *logMux {
	return &logMux{out: out, color: color, width: len("runner:build")}
}

// newWriter returns the writer for one child; number selects its color.
func (v *logMux) newWriter(name string, number int) *prefixWriter {
	prefix := fmt.Sprintf("%-*s │ ", v.width, name)
	if v.color {
		prefix = prefixColors[number%len(prefixColors)] + prefix + "\x1b[0m"
	}
	return &prefixWriter{mux: v, prefix: prefix}
}

// prefixWriter is the log writer of one child. Write never fails, because a child
// must not exit because of its log.
type prefixWriter struct {
	mux    *logMux
	prefix string

	mu      sync.Mutex
	partial []byte
}

// Write prints the complete lines and stores the rest for the next call.
func (s *prefixWriter) Write(said []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partial = append(s.partial, said...)
	for {
		end := bytes.IndexByte(s.partial, '\n')
		next := end + 1
		if end < 0 && len(s.partial) > maxLineBytes {
			end, next = maxLineBytes, maxLineBytes
		}
		if end < 0 {
			return len(said), nil
		}
		s.printLine(string(s.partial[:end]))
		s.partial = s.partial[next:]
	}
}

// logf prints a message of nuon dev about the child.
func (s *prefixWriter) logf(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
	s.printLine(fmt.Sprintf(format, a...))
}

// finish prints an incomplete last line when the child has exited.
func (s *prefixWriter) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
}

// flushLocked prints an incomplete line.
func (s *prefixWriter) flushLocked() {
	if len(s.partial) > 0 {
		s.printLine(string(s.partial))
		s.partial = nil
	}
}

func (s *prefixWriter) printLine(text string) {
	// A child may log untrusted text; neutralize control sequences.
	text = console.Line(text)
	s.mux.mu.Lock()
	defer s.mux.mu.Unlock()
	_, _ = fmt.Fprintf(s.mux.out, "%s%s\n", s.prefix, text)
}
