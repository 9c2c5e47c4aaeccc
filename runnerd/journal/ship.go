package journal

import (
	"context"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/backoff"
	"github.com/nuon-toolkit/nuon/runnerd/contact"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// Options say where a journal waits and how it is sent.
type Options struct {
	// Dir is the journal's own directory; made when it is not there.
	Dir string
	// Send delivers a chunk. A chunk that is refused for good (a *contact.Refusal that is not passing, nor about the key) is given up;
	// after any other error it is sent again.
	Send func(ctx context.Context, chunk api.NewLogChunk) error
	// Timing says how long lines are gathered, and how long after an error it is tried again.
	Timing timing.Timing
}

// Run sends what is taken down, until ctx ends; then it puts the rest on the disk, and tries once more to send it. Errors of the
// disk leave the lines in memory: there is nobody to tell, for this is the log.
func (j *Journal) Run(ctx context.Context, o Options) {
	s := &shipper{journal: j, Options: o, store: open(o.Dir)}
	for {
		again := s.round(ctx)
		select {
		case <-j.grown:
		case <-again:
		case <-ctx.Done():
			last, stop := context.WithTimeout(context.WithoutCancel(ctx), o.Timing.Look*10)
			defer stop()
			s.notBefore = time.Time{}
			s.round(last)
			return
		}
		backoff.Pause(ctx, o.Timing.Gather)
	}
}

// shipper is one Run.
type shipper struct {
	Options
	journal   *Journal
	store     *store
	pause     time.Duration
	notBefore time.Time // of the next try
}

// round takes over what there is and sends what can be sent. It gives when to go on although nothing comes; nil for never.
func (s *shipper) round(ctx context.Context) <-chan time.Time {
	s.store.add(s.journal.take())
	if wait := time.Until(s.notBefore); wait > 0 {
		return time.After(wait)
	}
	for {
		chunk, some := s.store.first()
		if !some {
			return nil
		}
		if err := s.Send(ctx, chunk); err != nil && !isFinal(err) {
			s.pause = min(max(2*s.pause, s.Timing.BackoffFirst), s.Timing.BackoffMost)
			s.notBefore = time.Now().Add(s.pause)
			return time.After(s.pause)
		}
		s.pause = 0
		s.store.done()
	}
}

// isFinal tells whether a chunk will never be taken, by a control plane that knows whose it is.
func isFinal(err error) bool {
	refusal := contact.AsRefusal(err)
	return refusal != nil && !refusal.Passing() && !contact.HasStatus(err, 401) && !contact.HasStatus(err, 403)
}
