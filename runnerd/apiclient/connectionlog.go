package apiclient

import (
	"log/slog"
	"sync"
	"time"
)

// ConnectionLog tracks whether the control plane responds. It logs changes, not every try.
// All calls of one runner share one. A nil ConnectionLog does nothing.
type ConnectionLog struct {
	// Log receives the messages.
	Log *slog.Logger
	// URL is the address in the messages.
	URL string

	mutex         sync.Mutex
	failingSince  time.Time
	lastRejection string    // the last rejection that is not passing
	loggedAt      time.Time // when it was last logged
}

// repeatAfter is how often an unchanged rejection is logged.
const repeatAfter = 10 * time.Minute

// Failed records a try without a usable response. A rejection by the runner API is a response:
// the connection works, and the key or the attempt is rejected. Other calls may succeed at
// the same time, so rejections are logged separately.
func (l *ConnectionLog) Failed(err error) {
	if l == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if no := AsResponseError(err); no != nil && !no.IsTemporary() {
		l.logRecovery()
		if text := no.Error(); text != l.lastRejection || time.Since(l.loggedAt) > repeatAfter {
			l.lastRejection, l.loggedAt = text, time.Now()
			l.Log.Warn("the control plane rejects this runner's requests; retrying", "url", l.URL, "error", err)
		}
		return
	}
	if l.failingSince.IsZero() {
		l.failingSince = time.Now()
		l.Log.Warn("lost contact with the control plane; running jobs continue, and the runner retries until it "+
			"answers", "url",
			l.URL, "error", err)
	}
}

// Recovered records a response.
func (l *ConnectionLog) Recovered() {
	if l == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.logRecovery()
}

func (l *ConnectionLog) logRecovery() {
	if !l.failingSince.IsZero() {
		l.Log.Info("contact with the control plane is restored", "url", l.URL, "after",
			time.Since(l.failingSince).Round(time.Millisecond).String())
		l.failingSince = time.Time{}
	}
}
