package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Spool is the directory that holds the attempts of one runner.
type Spool struct {
	// Root is the runner's own directory, an absolute path.
	Root string
}

// jobName is what a job's id may look like: it becomes the name of a directory.
var jobName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// CheckID refuses ids of attempts that cannot be a directory's name. They come from the server, which the runner does not trust
// with its disk.
func CheckID(job string, attempt int) error {
	if !jobName.MatchString(job) || attempt < 1 {
		return fmt.Errorf("%q attempt %d is not the id of an attempt; job ids have letters, digits, - and _, attempts count from 1", job, attempt)
	}
	return nil
}

func (s Spool) dir() string { return filepath.Join(s.Root, "spool") }

func (s Spool) refused() string { return filepath.Join(s.Root, "refused") }

// Attempt gives the directory of an attempt, whether it is there or not.
func (s Spool) Attempt(job string, attempt int) (Attempt, error) {
	if err := CheckID(job, attempt); err != nil {
		return Attempt{}, err
	}
	return Attempt{Dir: filepath.Join(s.dir(), job+"."+strconv.Itoa(attempt))}, nil
}

// Create makes the directory of a new attempt with its record. When it is there already the error wraps fs.ErrExist.
func (s Spool) Create(record Record) (Attempt, error) {
	attempt, err := s.Attempt(record.Job, record.Attempt)
	if err != nil {
		return Attempt{}, err
	}
	if err := s.make(); err != nil {
		return Attempt{}, fmt.Errorf("make the spool: %w", err)
	}
	if err := os.Mkdir(attempt.Dir, 0o700); err != nil {
		return Attempt{}, fmt.Errorf("make the spool of %s/%d: %w", record.Job, record.Attempt, err)
	}
	if err := os.Mkdir(attempt.StateDir(), 0o700); err != nil {
		return Attempt{}, fmt.Errorf("make the spool of %s/%d: %w", record.Job, record.Attempt, err)
	}
	if err := syncDir(s.dir()); err != nil {
		return Attempt{}, fmt.Errorf("make the spool of %s/%d: %w", record.Job, record.Attempt, err)
	}
	return attempt, attempt.SaveRecord(record)
}

// make makes the directory of the attempts if need be; it survives a power failure.
func (s Spool) make() error {
	if info, err := os.Stat(s.dir()); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(s.dir(), 0o700); err != nil {
		return err
	}
	return syncDir(s.Root)
}

// List gives the attempts that are in the spool, by name. What a removal that was cut short has left, and a directory without a
// record (its maker died before it accepted the offer), are removed.
func (s Spool) List() ([]Attempt, error) {
	entries, err := s.entries()
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), goneSuffix) {
			if err := RemoveTree(filepath.Join(s.dir(), entry.Name())); err != nil {
				return nil, fmt.Errorf("clear the spool: %w", err)
			}
		}
	}
	var attempts []Attempt
	for _, attempt := range s.attempts(entries) {
		if _, err := os.Stat(attempt.path(recordFile)); errors.Is(err, fs.ErrNotExist) {
			if err := attempt.Remove(); err != nil {
				return nil, err
			}
			continue
		}
		attempts = append(attempts, attempt)
	}
	return attempts, nil
}

// Look gives the attempts that are in the spool, by name, and removes nothing.
func (s Spool) Look() ([]Attempt, error) {
	entries, err := s.entries()
	return s.attempts(entries), err
}

func (s Spool) entries() ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(s.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the spool: %w", err)
	}
	return entries, nil
}

// attempts gives the entries that are named as an attempt is.
func (s Spool) attempts(entries []fs.DirEntry) []Attempt {
	var attempts []Attempt
	for _, entry := range entries {
		job, number, _ := strings.Cut(entry.Name(), ".")
		count, err := strconv.Atoi(number)
		if err == nil && CheckID(job, count) == nil && entry.IsDir() {
			attempts = append(attempts, Attempt{Dir: filepath.Join(s.dir(), entry.Name())})
		}
	}
	return attempts
}

// SetAside moves an attempt that the server refuses out of the spool, to <root>/refused, and gives where it is now. Nothing of it
// is deleted: it may hold the only copy of a Terraform state.
func (s Spool) SetAside(attempt Attempt) (string, error) {
	refused := s.refused()
	if err := os.MkdirAll(refused, 0o700); err != nil {
		return "", fmt.Errorf("set %s aside: %w", attempt.Dir, err)
	}
	// A name of its own, should the same attempt ever be refused twice.
	target := filepath.Join(refused, filepath.Base(attempt.Dir)+"-"+time.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(attempt.Dir, target); err != nil {
		return "", fmt.Errorf("set %s aside: %w", attempt.Dir, err)
	}
	return target, nil
}

// ClearRefused removes what was set aside before a moment. What holds a Terraform state that the control plane has not got stays,
// however old it is, and is counted in kept.
func (s Spool) ClearRefused(before time.Time) (removed, kept int, err error) {
	entries, err := os.ReadDir(s.refused())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read what was set aside: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(before) {
			continue
		}
		if err != nil {
			return removed, kept, fmt.Errorf("read what was set aside: %w", err)
		}
		attempt := Attempt{Dir: filepath.Join(s.refused(), entry.Name())}
		states, err := attempt.undelivered()
		if err != nil {
			return removed, kept, err
		}
		if !entry.IsDir() || states { // what is no directory is a state, see package module
			kept++
			continue
		}
		if err := RemoveTree(attempt.Dir); err != nil {
			return removed, kept, fmt.Errorf("remove what was set aside: %w", err)
		}
		removed++
	}
	return removed, kept, nil
}

// undelivered tells whether the attempt holds state versions that the control plane has not got.
func (a Attempt) undelivered() (bool, error) {
	info, err := os.Stat(a.Dir)
	if err != nil || !info.IsDir() {
		return false, err
	}
	for _, list := range []func() ([]string, error){a.States, a.RefusedStates} {
		if files, err := list(); err != nil || len(files) > 0 {
			return true, err
		}
	}
	return false, nil
}
