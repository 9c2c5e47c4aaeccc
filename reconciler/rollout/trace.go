package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// trace is the trace of what led to a workflow over some components: that of the newest of their artifacts, or of the app's config
// when that is newer still. Empty when nobody traces.
func (s *snapshot) trace(ctx context.Context, tx *store.Tx, components []string) (string, error) {
	var newest time.Time
	trace := ""
	for _, name := range components {
		p := s.places[name]
		if p == nil || p.artifact == nil || p.artifact.Trace == "" || !p.artifact.CreatedAt.After(newest) {
			continue
		}
		newest, trace = p.artifact.CreatedAt, p.artifact.Trace
	}
	if s.revision == nil || !s.configAt.After(newest) {
		return trace, nil
	}
	of, err := tx.TraceOfRevision(ctx, tx.Org, *s.revision)
	if errors.Is(err, store.ErrNotFound) {
		return trace, nil // its history was cleared away
	}
	if err != nil {
		return "", fmt.Errorf("find the trace of revision %s: %w", *s.revision, err)
	}
	if of == "" {
		of = trace
	}
	return of, nil
}
