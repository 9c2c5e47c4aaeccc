package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// Spool is the directory with the attempts of one runner.
type Spool struct {
	// Root is the runner's own directory, an absolute path.
	Root string
}

// jobName matches valid job ids. An id becomes the name of a directory.
var jobName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// CheckID returns an error for the id of an attempt that cannot be the name of a directory.
// Ids come from the server, and the runner does not trust the server with its disk.
func CheckID(job string, attempt int) error {
	if !jobName.MatchString(job) || attempt < 1 {
		return fmt.Errorf("%q attempt %d is not the id of an attempt; job ids have letters, digits, - and _, attempts "+
			"count from 1", job, attempt)
	}
	return nil
}

func (s Spool) dir() string { return filepath.Join(s.Root, "spool") }

// UndeliveredDir is the directory below Root for what the control plane rejected.
const UndeliveredDir = "undelivered"

func (s Spool) undeliveredDir() string { return filepath.Join(s.Root, UndeliveredDir) }

// Attempt returns the directory of an attempt, whether it exists or not.
func (s Spool) Attempt(job string, attempt int) (Attempt, error) {
	if err := CheckID(job, attempt); err != nil {
		return Attempt{}, err
	}
	return Attempt{Dir: filepath.Join(s.dir(), job+"."+strconv.Itoa(attempt))}, nil
}

// Create creates the directory of a new attempt with its record. When it already exists
// the error wraps fs.ErrExist.
func (s Spool) Create(record Record) (Attempt, error) {
	attempt, err := s.Attempt(record.Job, record.Attempt)
	if err != nil {
		return Attempt{}, err
	}
	if err := s.createDir(); err != nil {
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

// createDir creates the directory of the attempts if necessary, so that it survives a power failure.
func (s Spool) createDir() error {
	if info, err := os.Stat(s.dir()); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(s.dir(), 0o700); err != nil {
		return err
	}
	return syncDir(s.Root)
}

// List returns the attempts in the spool by name. It removes the rest of interrupted removals,
// and directories without a record (runnerd died before it accepted the offer).
func (s Spool) List() ([]Attempt, error) {
	entries, err := s.entries()
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), deliveredSuffix) {
			gone := filepath.Join(s.dir(), entry.Name())
			of := Attempt{Dir: strings.TrimSuffix(gone, deliveredSuffix)}
			if err := errors.Join(of.removePod(), RemoveTree(gone)); err != nil {
				return nil, fmt.Errorf("clear the spool: %w", err)
			}
		}
	}
	var attempts []Attempt
	for _, attempt := range s.attempts(entries) {
		if found, err := attempt.hasRecord(); err == nil && !found {
			if err := attempt.Remove(); err != nil {
				return nil, err
			}
			continue
		}
		attempts = append(attempts, attempt)
	}
	return attempts, nil
}

// ListReadOnly returns the attempts in the spool by name, and removes nothing.
func (s Spool) ListReadOnly() ([]Attempt, error) {
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

// attempts returns the entries whose names are those of attempts.
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

// MoveToUndelivered moves an attempt that the server rejects from the spool to <root>/undelivered,
// and returns its new path. It deletes nothing, because the attempt may hold the only copy
// of a Terraform state.
func (s Spool) MoveToUndelivered(attempt Attempt) (string, error) {
	dir := s.undeliveredDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("set %s aside: %w", attempt.Dir, err)
	}
	// The name is unique in case the same attempt is rejected twice.
	target := filepath.Join(dir, filepath.Base(attempt.Dir)+"-"+time.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(attempt.Dir, target); err != nil {
		return "", fmt.Errorf("set %s aside: %w", attempt.Dir, err)
	}
	if err := attempt.removePod(); err != nil {
		return "", fmt.Errorf("set %s aside: %w", attempt.Dir, err)
	}
	return target, nil
}

// PruneUndelivered removes the attempts that were set aside before a time. It never removes one
// with a Terraform state that the control plane does not have, and counts those in kept.
func (s Spool) PruneUndelivered(before time.Time) (removed, kept int, err error) {
	entries, err := os.ReadDir(s.undeliveredDir())
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
		attempt := Attempt{Dir: filepath.Join(s.undeliveredDir(), entry.Name())}
		states, err := attempt.hasUndeliveredStates()
		if err != nil {
			return removed, kept, err
		}
		if !entry.IsDir() || states { // a file here is a state, see package module
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

// hasUndeliveredStates reports whether the attempt holds state versions that the
// control plane does not have.
func (a Attempt) hasUndeliveredStates() (bool, error) {
	info, err := os.Stat(a.Dir)
	if err != nil || !info.IsDir() {
		return false, err
	}
	for _, list := range []func() ([]string, error){a.States, a.RejectedStates} {
		if files, err := list(); err != nil || len(files) > 0 {
			return true, err
		}
	}
	return false, nil
}
