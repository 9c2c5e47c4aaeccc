package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// Watched is a runner file that is read again at every look, so that a change counts at once. It is for one goroutine.
type Watched struct {
	// Path is where the file is.
	Path string
	// Required: it has to be there. A file that was there once has to be from then on.
	Required bool

	last  File // the last one that could be used
	known bool
}

// Look reads the file and gives what it comes to now. Without a file that has to be there everything is allowed.
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
