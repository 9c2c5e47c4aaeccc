package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// FileWatcher is a runner file that is read again at every poll, so that a change takes effect
// immediately. It is for one goroutine.
type FileWatcher struct {
	// Path is the path of the file.
	Path string
	// Required means that the file must exist. A file that was found once is
	// required from then on.
	Required bool

	last  File // the last valid one
	known bool
}

// Reload reads the file and returns the current rule. If a file that is not required does not
// exist, everything is allowed that Default allows.
func (w *FileWatcher) Reload(now time.Time) Rule {
	file, err := Read(w.Path)
	switch {
	case err == nil:
		w.last, w.known, w.Required = file, true, true
		return file.RuleAt(now)
	case errors.Is(err, fs.ErrNotExist) && !w.Required:
		return Default().RuleAt(now)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s does not exist; restore it, or start the runner without one", w.Path)
	}
	if !w.known {
		return BrokenRule(Default(), err, now)
	}
	return BrokenRule(w.last, err, now)
}
