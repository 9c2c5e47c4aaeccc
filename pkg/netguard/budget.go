package netguard

import (
	"io"
	"sync"
)

// Budget is the number of bytes that may still be read, from one response or from several together.
// It is safe for concurrent use.
type Budget struct {
	mu       sync.Mutex
	left     int64
	exceeded error
}

// NewBudget returns a budget of bytes. Reads beyond it fail with the error exceeded.
func NewBudget(bytes int64, exceeded error) *Budget {
	return &Budget{left: bytes, exceeded: exceeded}
}

// Set changes the remaining bytes and the error, also for bodies that are already bound.
func (b *Budget) Set(bytes int64, exceeded error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left, b.exceeded = bytes, exceeded
}

// Left returns how many bytes may still be read.
func (b *Budget) Left() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

func (b *Budget) spend(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = max(0, b.left-int64(n))
}

func (b *Budget) exceededError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.exceeded
}

// Bound returns a body that fails, instead of ending early, when it is longer than the budget
// allows.
func (b *Budget) Bound(body io.ReadCloser) io.ReadCloser { return &boundedBody{body, b} }

// ReadAll reads a response to its end. It fails with the error exceeded if the response is longer
// than limit bytes.
func ReadAll(from io.Reader, limit int64, exceeded error) ([]byte, error) {
	return io.ReadAll(NewBudget(limit, exceeded).Bound(io.NopCloser(from)))
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
	most := min(b.budget.Left(), int64(len(into)))
	if most <= 0 {
		return 0, b.end()
	}
	n, err := b.ReadCloser.Read(into[:most])
	b.budget.spend(n)
	return n, err
}

// end distinguishes a body that fills its budget exactly from a longer one: it returns io.EOF for
// the former and the budget's error for the latter.
func (b *boundedBody) end() error {
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
