package netguard

import (
	"io"
	"sync"
)

// Budget is the number of bytes that may still be read, from one response or from several together.
// It is safe for concurrent use.
type Budget struct {
	mu        sync.Mutex
	remaining int64
	exceeded  error
}

// NewBudget returns a budget of bytes. Reads beyond it fail with the error exceeded.
func NewBudget(bytes int64, exceeded error) *Budget {
	return &Budget{remaining: bytes, exceeded: exceeded}
}

// Set changes the remaining bytes and the error, also for bodies that are already bound.
func (b *Budget) Set(bytes int64, exceeded error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remaining, b.exceeded = bytes, exceeded
}

// Remaining returns how many bytes may still be read.
func (b *Budget) Remaining() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.remaining
}

func (b *Budget) spend(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remaining = max(0, b.remaining-int64(n))
}

func (b *Budget) exceededError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.exceeded
}

// Limit returns a body that fails, instead of ending early, when it is longer than the budget
// allows.
func (b *Budget) Limit(body io.ReadCloser) io.ReadCloser { return &boundedBody{body, b} }

// ReadAll reads a response to its end. It fails with the error exceeded if the response is longer
// than limit bytes.
func ReadAll(from io.Reader, limit int64, exceeded error) ([]byte, error) {
	return io.ReadAll(NewBudget(limit, exceeded).Limit(io.NopCloser(from)))
}

type boundedBody struct {
	io.ReadCloser
	budget *Budget
}

// Read reads up to the remaining budget.
func (b *boundedBody) Read(into []byte) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	limit := min(b.budget.Remaining(), int64(len(into)))
	if limit <= 0 {
		return 0, b.atEnd()
	}
	n, err := b.ReadCloser.Read(into[:limit])
	b.budget.spend(n)
	return n, err
}

// atEnd distinguishes a body that fills its budget exactly from a longer one: it returns io.EOF for
// the former and the budget's error for the latter.
func (b *boundedBody) atEnd() error {
	var one [1]byte
	for {
		n, err := b.ReadCloser.Read(one[:])
		if n > 0 {
			return b.budget.exceededError()
		}
		if err != nil {
			return err
		}
	}
}
