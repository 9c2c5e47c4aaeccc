package dev

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// longestLine is the number of bytes after which a line is split.
const longestLine = 64 << 10

// view merges the output of several children into one log of whole lines, each
// prefixed with its source.
type view struct {
	mu     sync.Mutex
	to     io.Writer
	colour bool
	width  int
}

// colours of the sources, by number.
var colours = []string{"\x1b[36m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[34m"}

func newView(to io.Writer, colour bool) *view {
	return &view{to: to, colour: colour, width: len("runner:build")}
}

// source returns the writer for one child; number selects its color.
func (v *view) source(name string, number int) *source {
	prefix := fmt.Sprintf("%-*s │ ", v.width, name)
	if v.colour {
		prefix = colours[number%len(colours)] + prefix + "\x1b[0m"
	}
	return &source{view: v, prefix: prefix}
}

// source is the log writer of one child. Write never fails, because a child
// must not exit because of its log.
type source struct {
	view   *view
	prefix string

	mu   sync.Mutex
	rest []byte
}

// Write prints the complete lines and stores the rest for the next call.
func (s *source) Write(said []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, said...)
	for {
		end := bytes.IndexByte(s.rest, '\n')
		next := end + 1
		if end < 0 && len(s.rest) > longestLine {
			end, next = longestLine, longestLine
		}
		if end < 0 {
			return len(said), nil
		}
		s.line(string(s.rest[:end]))
		s.rest = s.rest[next:]
	}
}

// say prints a message of nuon dev about the child.
func (s *source) say(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	s.line(fmt.Sprintf(format, a...))
}

// finish prints an incomplete last line when the child has exited.
func (s *source) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
}

// flush prints an incomplete line.
func (s *source) flush() {
	if len(s.rest) > 0 {
		s.line(string(s.rest))
		s.rest = nil
	}
}

func (s *source) line(text string) {
	// A child may log untrusted text; neutralize control sequences.
	text = console.Line(text)
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	_, _ = fmt.Fprintf(s.view.to, "%s%s\n", s.prefix, text)
}
