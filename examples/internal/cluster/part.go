package main

import (
	"context"
	"fmt"
	"time"
)

// part is a component that runs concurrently with the others until it is stopped.
type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	err    error         // the result; read it after done
}

// start runs a part under a separate context, so that the parts are stopped in a defined order.
func start(name string, run func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{name: name, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = run(ctx)
	}()
	return p
}

// ended returns the error of a part that ended without being stopped; that is an error even if it
// returned none.
func (p *part) ended() error {
	if p.err == nil {
		return fmt.Errorf("the %s ended by itself", p.name)
	}
	return fmt.Errorf("the %s ended: %w", p.name, p.err)
}

// stopAll stops the parts and waits at most patience for all of them. It abandons the others,
// because the process ends soon.
func stopAll(patience time.Duration, parts ...*part) {
	for _, p := range parts {
		p.cancel()
	}
	limit := time.After(patience)
	for _, p := range parts {
		select {
		case <-p.done:
		case <-limit:
			return
		}
	}
}

// firstEnd waits for ctx, or for a part that ends without being stopped, which is an error.
func firstEnd(ctx context.Context, parts ...*part) error {
	ended := make(chan *part, len(parts))
	for _, p := range parts {
		go func() {
			<-p.done
			ended <- p
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case p := <-ended:
		return p.ended()
	}
}
