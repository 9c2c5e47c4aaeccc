package pgcluster

import (
	"io"
	"strings"
	"sync"
)

// tailBytes is the length in bytes of the end of a child's output that an error repeats.
const tailBytes = 2048

// tail forwards a child's output and stores the end of it.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	last []byte
}

// Write stores and forwards output. It ignores errors of the underlying writer, because an error
// here would end the child.
func (t *tail) Write(output []byte) (int, error) {
	t.mu.Lock()
	t.last = append(t.last, output...)
	if len(t.last) > tailBytes {
		t.last = append([]byte{}, t.last[len(t.last)-tailBytes:]...)
	}
	t.mu.Unlock()
	if t.to != nil {
		_, _ = t.to.Write(output)
	}
	return len(output), nil
}

// String returns the end of the output on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.FieldsFunc(string(t.last), func(r rune) bool { return r == '\n' || r == '\r' }), " | ")
}

// reset discards the stored output before another attempt.
func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = nil
}
