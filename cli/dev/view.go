package dev

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// longestLine is where a line without an end is cut, in bytes.
const longestLine = 64 << 10

// view shows what several children say as one log, whole lines at a time, each with the name of who said it.
type view struct {
	mu     sync.Mutex
	to     io.Writer
	colour bool
	width  int
}

// colours of the sources, in the order in which they are asked for.
var colours = []string{"\x1b[36m", "\x1b[32m", "\x1b[33m", "\x1b[35m", "\x1b[34m"}

func newView(to io.Writer, colour bool) *view {
	return &view{to: to, colour: colour, width: len("runner:build")}
}

// source gives the writer for one child; number picks its colour.
func (v *view) source(name string, number int) *source {
	prefix := fmt.Sprintf("%-*s │ ", v.width, name)
	if v.colour {
		prefix = colours[number%len(colours)] + prefix + "\x1b[0m"
	}
	return &source{view: v, prefix: prefix}
}

// source is one child's writer. It never fails: a child must not end because its log could not be shown.
type source struct {
	view   *view
	prefix string

	mu   sync.Mutex
	rest []byte
}

// Write shows the whole lines and keeps what is left for the next call.
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

// say shows a remark of nuon dev itself about the child.
func (s *source) say(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	s.line(fmt.Sprintf(format, a...))
}

// finish shows an unfinished line when the child has left.
func (s *source) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
}

// flush shows an unfinished line, for nothing more comes of it.
func (s *source) flush() {
	if len(s.rest) > 0 {
		s.line(string(s.rest))
		s.rest = nil
	}
}

func (s *source) line(text string) {
	// What a child logs may come from anywhere; a terminal must not obey it.
	text = console.Line(text)
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	_, _ = fmt.Fprintf(s.view.to, "%s%s\n", s.prefix, text)
}
