package home

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nuon-toolkit/nuon/cli/contexts"
	"github.com/nuon-toolkit/nuon/cli/status"
)

// cache stores the last known state in a file, so that the screen shows it before the control plane
// has answered. Only its owner can read the file.
type cache struct {
	file    string
	written time.Time // when this program last wrote it
}

// cached is the content of the file.
type cached struct {
	At     time.Time       `json:"at"`
	Status json.RawMessage `json:"status"`
}

// maxCached is the maximum size of the file, and writeEvery the least time
// between two writes.
const (
	maxCached  = 16 << 20
	writeEvery = 10 * time.Second
)

// read returns the state in the file and when it was read. The time is zero if there is none that
// can be used: a cache is not worth an error.
func (c *cache) read() (status.Status, time.Time) {
	f, err := os.Open(c.file)
	if err != nil {
		return status.Status{}, time.Time{}
	}
	defer f.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxCached))
	if err != nil {
		return status.Status{}, time.Time{}
	}
	var in cached
	var s status.Status
	if json.Unmarshal(raw, &in) != nil || json.Unmarshal(in.Status, &s) != nil || !usable(s) {
		return status.Status{}, time.Time{}
	}
	return s, in.At
}

// usable reports whether a state can be shown: the file may be of another version.
func usable(s status.Status) bool {
	for _, a := range s.Apps {
		for _, g := range a.Groups {
			if len(g.Installs) == 0 {
				return false
			}
		}
	}
	return true
}

// write stores a state, unless one was stored lately.
func (c *cache) write(s status.Status, at time.Time) error {
	if at.Sub(c.written) < writeEvery {
		return nil
	}
	state, err := json.Marshal(s)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(cached{At: at, Status: state})
	if err != nil {
		return err
	}
	err = errors.Join(os.MkdirAll(filepath.Dir(c.file), 0o700), contexts.WriteFileAtomic(c.file, raw))
	if err == nil {
		c.written = at
	}
	return err
}
