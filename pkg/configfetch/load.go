package configfetch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// Limits of one load of a config.
const (
	// defaultTotal bounds the bytes that all its references receive over the network.
	defaultTotal = 128 << 20
	// maxLoadTime bounds the time for all references together.
	maxLoadTime = time.Minute
	// maxReferences bounds the number of references; a real config has far fewer than a hundred.
	maxReferences = 500
	// maxConcurrent is the number of references that are read concurrently.
	maxConcurrent = 4
)

// Load returns the function through which one load of a config reads its references until ctx ends.
// All reads share limits on time, bytes and number, so that the load ends for any config. The
// function is safe for concurrent use.
func (f *Fetcher) Load(ctx context.Context) func(reference string, limit int64) ([]byte, error) {
	l := &load{fetcher: f, end: time.Now().Add(maxLoadTime), budget: newBudget(defaultTotal),
		slots: make(chan struct{}, maxConcurrent)}
	return func(reference string, limit int64) ([]byte, error) { return l.fetch(ctx, reference, limit) }
}

// load is the state that the references of one load share.
type load struct {
	fetcher *Fetcher
	end     time.Time
	budget  *netguard.Budget
	slots   chan struct{}

	mu         sync.Mutex
	references int
}

func (l *load) fetch(ctx context.Context, reference string, limit int64) ([]byte, error) {
	if l.tooMany() {
		return nil, permanent(fmt.Sprintf("the config has more than %d references to other places",
			maxReferences), localFileRemedy)
	}
	within, cancel := context.WithDeadline(ctx, l.end)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-within.Done():
	}
	var data []byte
	err := within.Err()
	if err == nil {
		data, err = l.fetcher.fetch(within, reference, limit, l.budget)
	}
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, temporary(fmt.Sprintf("all references of the config together took more than %s", maxLoadTime))
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("read a file from elsewhere: %w", ctx.Err())
	}
	return data, err
}

func (l *load) tooMany() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.references++
	return l.references > maxReferences
}

// newBudget returns the budget of the bytes that several references may receive.
func newBudget(bytes int64) *netguard.Budget { return netguard.NewBudget(bytes, errBudgetExceeded) }
