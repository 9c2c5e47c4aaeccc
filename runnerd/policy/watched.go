package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Watched is a runner file that is read again at every poll, so that a change takes effect
// immediately. It is for one goroutine.
type Watched struct {
	// Path is the path of the file.
	Path string
	// Required means that the file must exist. A file that was found once is
	// required from then on.
	Required bool

	last  File // the last valid one
	known bool
}

// Look reads the file and returns the current rule. If a file that is not required does not
// exist, everything is allowed that Open allows.
func (w *Watched) Look(now time.Time) Rule {
	file, err := Read(w.Path)
	switch {
	case err == nil:
		w.last, w.known, w.Required = file, true, true
		return file.At(now)
	case errors.Is(err, fs.ErrNotExist) && !w.Required:
		return Open().At(now)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%s is not there; put it back, or start the runner without one", w.Path)
	}
	if !w.known {
		return Broken(Open(), err, now)
	}
	return Broken(w.last, err, now)
}
