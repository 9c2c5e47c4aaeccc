package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// Each day by UTC has a file: audit.log on the day itself, and audit-2026-11-24.log later. Up to dayBytes everything is
// written. After that, the first perKind events of each kind are, and perRequest of what people request, and the rest
// are counted.
const (
	dayBytes   = 4 << 20
	perKind    = 5
	perRequest = 1000
	// maxKinds bounds the kinds of one sort of event that are counted apart, so that names that a control plane makes
	// up do not fill the disk.
	maxKinds = 50
	// keepDays is how long the file of a day is kept.
	keepDays = 400
)

const (
	dayLayout = "2006-01-02"
	dayPrefix = "audit-"
	daySuffix = ".log"
)

// dropped counts the events of a day for which there was no more room, by what happened and by kind.
type dropped struct {
	Day    string                    `json:"day"`
	Counts map[string]map[string]int `json:"counts"`
}

func droppedFile(dir string) string { return filepath.Join(logDir(dir), "audit.dropped.json") }

func readDropped(dir string) (dropped, error) {
	var d dropped
	opened, err := open(droppedFile(dir), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	defer opened.Close() //nolint:errcheck // it was only read
	return d, json.NewDecoder(io.LimitReader(opened, dayBytes)).Decode(&d)
}

// open opens a file of the log. Programs of a pod can write to the directory of the log.
func open(name string, flags int) (*os.File, error) {
	return untrusted.Open(filepath.Dir(name), filepath.Base(name), flags)
}

// hasRoom reports whether an event is written, and counts it otherwise. What the owner did always is.
func hasRoom(dir string, e Event, now time.Time) (bool, error) {
	info, err := os.Stat(file(dir))
	if err != nil || info.Size() < dayBytes || e.By != "" {
		return true, nil //nolint:nilerr // the write reports a file that cannot be read
	}
	d, err := readDropped(dir)
	if err != nil {
		return false, err
	}
	day := now.UTC().Format(dayLayout)
	if d.Day != day || d.Counts == nil {
		d = dropped{day, map[string]map[string]int{}}
	}
	kinds := d.Counts[e.What]
	if kinds == nil {
		kinds = map[string]int{}
		d.Counts[e.What] = kinds
	}
	kind := kindOf(e, kinds)
	kinds[kind]++
	content, err := json.Marshal(d)
	if err != nil {
		return false, err
	}
	return kinds[kind] <= room(e.What), untrusted.Replace(droppedFile(dir), content, false)
}

// room returns how many events of a kind are written on a day that has no more room.
func room(what string) int {
	switch what {
	case LogsRequested, LogsEnded, DebugRefused, DebugStarted, DebugEnded, ShellRefused, ShellStarted, ShellEnded:
		return perRequest
	}
	return perKind
}

// kindOf returns what an event counts as: the role and the operation, or the secret. If there are too many of these, it
// is the role alone: a role that was assumed is one of the account.
func kindOf(e Event, known map[string]int) string {
	if room(e.What) == perRequest {
		return ""
	}
	role := printable(cmp.Or(e.Role, e.Secret), maxField)
	for n, kind := range []string{strings.TrimSpace(role + " " + printable(e.Operation, maxField)), role} {
		if _, is := known[kind]; is || len(known) < (n+1)*maxKinds {
			return kind
		}
	}
	return "others"
}

// events returns one event for each kind of which some were dropped.
func (d dropped) events() []Event {
	var all []Event
	for _, what := range slices.Sorted(maps.Keys(d.Counts)) {
		for _, kind := range slices.Sorted(maps.Keys(d.Counts[what])) {
			if n := d.Counts[what][kind] - room(what); n > 0 {
				end, _ := time.Parse(dayLayout, d.Day)
				all = append(all, Event{At: end, What: what, Role: kind, Dropped: n,
					Reason: fmt.Sprintf("%d more of %s are not in the log: there were too many", n, d.Day)})
			}
		}
	}
	return all
}

// endDay sets the file of an earlier day aside, with what it has no room for, and deletes files that are too old.
func endDay(dir string, now time.Time) error {
	info, err := os.Stat(file(dir))
	if err != nil || !info.Mode().IsRegular() {
		return nil //nolint:nilerr // there is none yet, or the write reports what is wrong
	}
	day := info.ModTime().UTC().Format(dayLayout)
	if day == now.UTC().Format(dayLayout) {
		return nil
	}
	counted, err := readDropped(dir)
	if err != nil {
		return err
	}
	for _, e := range counted.events() {
		if err := write(dir, e); err != nil {
			return err
		}
	}
	name := filepath.Join(logDir(dir), dayPrefix+day+daySuffix)
	for n := 1; ; n++ { // a clock that was set back leaves a file of the same day
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		name = filepath.Join(logDir(dir), fmt.Sprintf("%s%s.next%d%s", dayPrefix, day, n, daySuffix))
	}
	if err := os.Rename(file(dir), name); err != nil {
		return err
	}
	if err := os.Remove(droppedFile(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return deleteOld(dir, now)
}

// days returns the files of earlier days by their names, the oldest first.
func days(dir string) ([]string, error) {
	entries, err := os.ReadDir(logDir(dir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), dayPrefix) && strings.HasSuffix(e.Name(), daySuffix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// isBefore reports whether a file is of a day before a time.
func isBefore(name string, at time.Time) bool {
	return name < dayPrefix+at.UTC().Format(dayLayout)
}

func deleteOld(dir string, now time.Time) error {
	names, err := days(dir)
	for _, name := range names {
		if isBefore(name, now.AddDate(0, 0, -keepDays)) {
			err = errors.Join(err, os.Remove(filepath.Join(logDir(dir), name)))
		}
	}
	return err
}

// files returns the files with the events since a time, the oldest first.
func files(dir string, since time.Time) ([]string, error) {
	names, err := days(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	old := filepath.Join(dir, "audit.log") // of an earlier release of runnerd
	found := []string{old + ".1", old}
	for _, name := range names {
		if !isBefore(name, since) {
			found = append(found, filepath.Join(logDir(dir), name))
		}
	}
	return append(found, file(dir)), err
}
