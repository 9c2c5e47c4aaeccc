package cluster

import (
	"sync"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/truncate"
)

// warnings logs the warnings in the server's responses, each text once.
type warnings struct {
	log   Log
	mutex sync.Mutex
	seen  map[string]bool
}

// maxWarnings bounds the number of warnings in a job's log.
const maxWarnings = 50

// HandleWarningHeader logs one warning. Code 299 is for warnings that are meant for people.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.seen[text] || len(w.seen) >= maxWarnings {
		return
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[text] = true
	w.log.Warn("the API server warns: %s", diff.EscapeText(truncate.Text(text, 500)))
}
