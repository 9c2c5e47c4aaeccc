package contact

import (
	"log/slog"
	"sync"
	"time"
)

// Line is whether the control plane answers. It logs when that changes, not at every try. All calls of one runner share one; nil
// is a Line that says nothing.
type Line struct {
	// Log takes the two messages.
	Log *slog.Logger
	// URL is named in them.
	URL string

	mutex sync.Mutex
	lost  time.Time
}

// Lost notes a try without a usable answer.
func (l *Line) Lost(err error) {
	if l == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lost.IsZero() {
		l.lost = time.Now()
		l.Log.Warn("lost contact to the control plane; what runs here goes on, and it is tried again until it answers", "url", l.URL, "error", err)
	}
}

// Back notes an answer.
func (l *Line) Back() {
	if l == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.lost.IsZero() {
		l.Log.Info("contact to the control plane is back", "url", l.URL, "after", time.Since(l.lost).Round(time.Millisecond).String())
		l.lost = time.Time{}
	}
}
