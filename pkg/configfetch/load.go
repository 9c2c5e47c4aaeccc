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
	// longestLoad bounds the time for all references together.
	longestLoad = time.Minute
	// mostReferences bounds the number of references; a real config has far fewer than a hundred.
	mostReferences = 500
	// mostAtOnce is the number of references that are read concurrently.
	mostAtOnce = 4
)

// Load returns the function through which one load of a config reads its references until ctx ends.
// All reads share limits on time, bytes and number, so that the load ends for any config. The
// function is safe for concurrent use.
func (f *Fetcher) Load(ctx context.Context) func(reference string, limit int64) ([]byte, error) {
	l := &load{fetcher: f, end: time.Now().Add(longestLoad), budget: newBudget(defaultTotal),
		places: make(chan struct{}, mostAtOnce)}
	return func(reference string, limit int64) ([]byte, error) { return l.fetch(ctx, reference, limit) }
}

// load is the state that the references of one load share.
type load struct {
	fetcher *Fetcher
	end     time.Time
	budget  *netguard.Budget
	places  chan struct{}

	mu    sync.Mutex
	asked int
}

func (l *load) fetch(ctx context.Context, reference string, limit int64) ([]byte, error) {
	if l.crowded() {
		return nil, refuse(fmt.Sprintf("the config has more than %d references to other places",
			mostReferences), besides)
	}
	within, cancel := context.WithDeadline(ctx, l.end)
	defer cancel()
	select {
	case l.places <- struct{}{}:
		defer func() { <-l.places }()
	case <-within.Done():
	}
	var data []byte
	err := within.Err()
	if err == nil {
		data, err = l.fetcher.fetch(within, reference, limit, l.budget)
	}
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, passing(fmt.Sprintf("all references of the config together took more than %s", longestLoad))
	}
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("read a file from elsewhere: %w", ctx.Err())
	}
	return data, err
}

func (l *load) crowded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	return l.asked > mostReferences
}

// newBudget returns the budget of the bytes that several references may receive.
func newBudget(bytes int64) *netguard.Budget { return netguard.NewBudget(bytes, errTooMuch) }
