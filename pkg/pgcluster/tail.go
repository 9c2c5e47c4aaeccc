package pgcluster

import (
	"io"
	"strings"
	"sync"
)

// tailBytes is how much of a child's last words an error repeats.
const tailBytes = 2048

// tail passes a child's output on and keeps the end of it.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	last []byte
}

// Write keeps and passes on; an output that cannot be written is dropped, because an error here would end the child.
func (t *tail) Write(said []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, said...)
	if len(t.last) > tailBytes {
		t.last = append([]byte{}, t.last[len(t.last)-tailBytes:]...)
	}
	t.mu.Unlock()
	if t.to != nil {
		_, _ = t.to.Write(said)
	}
	return len(said), nil
}

// String gives the last words on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.FieldsFunc(string(t.last), func(r rune) bool { return r == '\n' || r == '\r' }), " | ")
}

// reset forgets the last words, before another try.
func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = nil
}
