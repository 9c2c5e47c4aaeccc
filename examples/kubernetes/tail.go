package kubernetes

import (
	"io"
	"strings"
	"sync"
)

// tailBytes is how much of a program's last words an error repeats.
const tailBytes = 2048

// tail passes what a program says on and keeps the end of it.
type tail struct {
	to io.Writer // may be nil

	mu   sync.Mutex
	last []byte
}

// Write gives no error: what cannot be passed on is dropped, because the program would end of it.
func (t *tail) Write(said []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, said...)
	if over := len(t.last) - tailBytes; over > 0 {
		t.last = append([]byte(nil), t.last[over:]...)
	}
	if t.to != nil {
		_, _ = t.to.Write(said)
	}
	return len(said), nil
}

// String is the last words.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}
