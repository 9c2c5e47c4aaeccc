package store

import (
	"context"
	"fmt"
)

// ScheduleRetention makes the retention of each org due, where it is not scheduled yet.
func (s *Store) ScheduleRetention(ctx context.Context) error {
	if err := New(s.pool).ScheduleRetention(ctx); err != nil {
		return fmt.Errorf("schedule retention: %w", err)
	}
	return nil
}

// OrgIDs returns the ids of all orgs, by name.
func (s *Store) OrgIDs(ctx context.Context) ([]string, error) {
	ids, err := New(s.pool).OrgIDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list orgs: %w", err)
	}
	return ids, nil
}
