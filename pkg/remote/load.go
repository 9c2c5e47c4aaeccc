package remote

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/netguard"
)

// Bounds of what one load of a config may make a Fetcher do.
const (
	// defaultTotal bounds what all its references send, as it comes over the network, in bytes.
	defaultTotal = 128 << 20
	// longestLoad bounds how long they take together.
	longestLoad = time.Minute
	// mostReferences bounds how many there are; a hundred would be many.
	mostReferences = 500
	// mostAtOnce is how many are read at the same time.
	mostAtOnce = 4
)

// Load gives the function through which one load of a config reads its references, which ends with ctx. All that it reads shares
// bounds on time, bytes and number, so that the load ends, whatever is in the config. It is safe for concurrent use.
func (f *Fetcher) Load(ctx context.Context) func(reference string, limit int64) ([]byte, error) {
	l := &load{fetcher: f, end: time.Now().Add(longestLoad), budget: newBudget(defaultTotal), places: make(chan struct{}, mostAtOnce)}
	return func(reference string, limit int64) ([]byte, error) { return l.fetch(ctx, reference, limit) }
}

// load is what the references of one load share.
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
		return nil, refuse(fmt.Sprintf("the config has more than %d references to other places", mostReferences), besides)
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

// newBudget returns the budget of what is received for several references.
func newBudget(bytes int64) *netguard.Budget { return netguard.NewBudget(bytes, errTooMuch) }
