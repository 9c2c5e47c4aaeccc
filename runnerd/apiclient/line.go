package apiclient

import (
	"log/slog"
	"sync"
	"time"
)

// Line tracks whether the control plane responds. It logs changes, not every try.
// All calls of one runner share one. A nil Line does nothing.
type Line struct {
	// Log receives the messages.
	Log *slog.Logger
	// URL is the address in the messages.
	URL string

	mutex   sync.Mutex
	lost    time.Time
	refused string    // the last rejection that is not passing
	told    time.Time // when it was last logged
}

// refusedAgain is how often an unchanged rejection is logged.
const refusedAgain = 10 * time.Minute

// Lost records a try without a usable response. A rejection by the runner API is a response:
// the connection works, and the key or the attempt is rejected. Other calls may succeed at
// the same time, so rejections are logged separately.
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

// Back records a response.
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
		l.Log.Info("contact to the control plane is back", "url", l.URL, "after",
			time.Since(l.lost).Round(time.Millisecond).String())
		l.lost = time.Time{}
	}
}
