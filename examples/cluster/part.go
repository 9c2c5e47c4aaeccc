package main

import (
	"context"
	"fmt"
	"time"
)

// part is something that runs beside the others until it is stopped.
type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	err    error         // why, to be read after done
}

// start lets run run, under a context of its own: the order in which the parts end is not left to chance.
func start(name string, run func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{name: name, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = run(ctx)
	}()
	return p
}

// ended says that it ended by itself, which is a mistake even when it gave no error.
func (p *part) ended() error {
	if p.err == nil {
		return fmt.Errorf("the %s ended by itself", p.name)
	}
	return fmt.Errorf("the %s ended: %w", p.name, p.err)
}

// stopAll asks the parts to end and waits for all of them together no longer than patience. What has not ended then is left behind,
// for the process ends soon.
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

// firstEnd waits for ctx, or for a part that ends by itself, which is an error.
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
