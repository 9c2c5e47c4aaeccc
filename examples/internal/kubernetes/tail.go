package kubernetes

import (
	"io"
	"strings"
	"sync"
)

// tailBytes bounds the end of the output that an error repeats.
const tailBytes = 2048

// tail passes output on and stores the end of it.
type tail struct {
	to io.Writer // may be nil

	mu   sync.Mutex
	last []byte
}

// Write returns no error, because the program would end with it; output that cannot be passed on is
// dropped.
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

// String returns the end of the output.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}
