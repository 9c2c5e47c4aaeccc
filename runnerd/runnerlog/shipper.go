package runnerlog

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// Options configures where a journal is stored and how it is sent.
type Options struct {
	// Dir is the journal's own directory. It is created if necessary.
	Dir string
	// Send delivers a chunk. A chunk that is permanently rejected (a *apiclient.ResponseError that is
	// neither passing nor about the key) is dropped; after any other error it is sent again.
	Send func(ctx context.Context, chunk api.NewLogChunk) error
	// Timing sets how long lines are gathered, and the pause after an error.
	Timing timing.Timing
}

// Run sends the collected lines until ctx ends. It then writes the rest to disk and tries once
// more to send it. After an error of the disk the lines stay in memory: it cannot be logged,
// because this is the log.
func (c *Collector) Run(ctx context.Context, o Options) {
	s := &shipper{journal: c, Options: o, store: open(o.Dir)}
	for {
		again := s.sendOnce(ctx)
		select {
		case <-c.grown:
		case <-again:
		case <-ctx.Done():
			last, stop := context.WithTimeout(context.WithoutCancel(ctx), o.Timing.PollInterval*10)
			defer stop()
			s.notBefore = time.Time{}
			s.sendOnce(last)
			return
		}
		backoff.Pause(ctx, o.Timing.BatchInterval)
	}
}

// shipper is the state of one Run.
type shipper struct {
	Options
	journal   *Collector
	store     *store
	pause     time.Duration
	notBefore time.Time // time of the next try
}

// sendOnce takes the collected lines and sends what can be sent. It returns a channel for the next
// try after an error, or nil when everything was sent.
func (s *shipper) sendOnce(ctx context.Context) <-chan time.Time {
	s.store.add(s.journal.drain())
	if wait := time.Until(s.notBefore); wait > 0 {
		return time.After(wait)
	}
	for {
		chunk, some := s.store.first()
		if !some {
			return nil
		}
		if err := s.Send(ctx, chunk); err != nil && !isFinal(err) {
			s.pause = min(max(2*s.pause, s.Timing.BackoffMin), s.Timing.BackoffMax)
			s.notBefore = time.Now().Add(s.pause)
			return time.After(s.pause)
		}
		s.pause = 0
		s.store.removeFirst()
	}
}

// isFinal reports whether a control plane that accepts the key will never accept the chunk.
func isFinal(err error) bool {
	refusal := apiclient.AsResponseError(err)
	return refusal != nil && !refusal.IsTemporary() && !apiclient.HasStatus(err, 401) && !apiclient.HasStatus(err, 403)
}
