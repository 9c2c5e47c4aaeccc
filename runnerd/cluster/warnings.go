package cluster

import (
	"sync"

	"github.com/nuon-toolkit/nuon/diff"
)

// warnings takes what the server warns of in its answers, and logs each sentence once.
type warnings struct {
	log   Log
	mutex sync.Mutex
	seen  map[string]bool
}

// mostWarnings bounds how many a job's log gets.
const mostWarnings = 50

// HandleWarningHeader takes one warning; 299 is the code of those that are meant for people.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.seen[text] || len(w.seen) >= mostWarnings {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	w.log.Warn("the API server warns: %s", diff.Neutral(short(text, 500)))
}
