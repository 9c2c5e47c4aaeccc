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

	mutex   sync.Mutex
	lost    time.Time
	refused string    // the last clear no
	told    time.Time // when that was last logged
}

// refusedAgain is how often a no that stays the same is logged.
const refusedAgain = 10 * time.Minute

// Lost notes a try without a usable answer. A clear no of the runner API is an answer: the line is there, and it is the key or the
// attempt that is not. Other calls may go through at the same moment, so it is logged apart.
func (l *Line) Lost(err error) {
	if l == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if no := AsRefusal(err); no != nil && !no.Passing() {
		l.back()
		if text := no.Error(); text != l.refused || time.Since(l.told) > refusedAgain {
			l.refused, l.told = text, time.Now()
			l.Log.Warn("the control plane refuses what this runner asks for; it is asked again", "url", l.URL, "error", err)
		}
		return
	}
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
	l.back()
}

func (l *Line) back() {
	if !l.lost.IsZero() {
		l.Log.Info("contact to the control plane is back", "url", l.URL, "after", time.Since(l.lost).Round(time.Millisecond).String())
		l.lost = time.Time{}
	}
}
