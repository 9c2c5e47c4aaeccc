package joblog

import (
	"sync"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Service stores and streams the logs of jobs and runners. It is safe for concurrent use.
type Service struct {
	store    *store.Store
	notifier *store.Notifier
	packer   packer

	drain    sync.Once
	draining chan struct{}
}

// New returns the service. The Run method of bell, the notifier, must be running, or
// streams show new lines only after their keepalive interval.
func New(s *store.Store, bell *store.Notifier) *Service {
	return &Service{store: s, notifier: bell, draining: make(chan struct{})}
}

// Drain ends all current and future streams. Call it when the server stops; otherwise its shutdown
// waits for them.
func (s *Service) Drain() { s.drain.Do(func() { close(s.draining) }) }
