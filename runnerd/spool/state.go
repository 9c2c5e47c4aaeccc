package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// maxState bounds one sealed state on disk, in bytes.
const maxState = 512 << 20

// AddState stores one more sealed state version, which is on disk when it returns.
// Only one goroutine of the job process may call it at a time.
func (a Attempt) AddState(state api.State, number int) error {
	if err := os.MkdirAll(a.StateDir(), 0o700); err != nil {
		return fmt.Errorf("spool a state: %w", err)
	}
	return a.save(filepath.Join(stateDir, fmt.Sprintf("%06d"+stateSuffix, number)), state)
}

// AppendState adds one more version after the job process has ended.
func (a Attempt) AppendState(state api.State) error {
	number := 0
	for _, list := range []func() ([]string, error){a.States, a.RejectedStates} {
		files, err := list()
		if err != nil {
			return err
		}
		for _, file := range files {
			digits, _, _ := strings.Cut(filepath.Base(file), ".")
			if last, err := strconv.Atoi(digits); err == nil {
				number = max(number, last)
			}
		}
	}
	return a.AddState(state, number+1)
}

// The suffixes of state files.
const (
	stateSuffix    = ".json"
	rejectedSuffix = ".rejected"
)

// States returns the files of the versions that are not delivered yet, oldest first.
func (a Attempt) States() ([]string, error) { return a.stateFiles(stateSuffix) }

// RejectedStates returns the files of the versions that RejectState was called for.
func (a Attempt) RejectedStates() ([]string, error) { return a.stateFiles(rejectedSuffix) }

func (a Attempt) stateFiles(suffix string) ([]string, error) {
	if info, err := os.Lstat(a.StateDir()); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("read the spooled states: %s is not a directory", a.StateDir())
	}
	entries, err := os.ReadDir(a.StateDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the spooled states: %w", err)
	}
	var files []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), suffix) && !strings.HasPrefix(entry.Name(), ".") {
			files = append(files, filepath.Join(a.StateDir(), entry.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}

// EachState calls do for each version that is not delivered yet, oldest first, with its file.
// It skips a version that is delivered in the meantime, and rejects a file that is none: programs of the job wrote it.
func (a Attempt) EachState(do func(file string, state api.State) error) error {
	files, err := a.States()
	if err != nil {
		return err
	}
	for _, file := range files {
		state, found, err := LoadState(file)
		if errors.Is(err, errContent) {
			err = errors.Join(RejectState(file), a.AppendLines(api.Warn, "a state of this job is not delivered: "+err.Error()))
		}
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if err := do(file, state); err != nil {
			return err
		}
	}
	return nil
}

// LoadState reads one file of States. It returns false when the version was
// delivered in the meantime.
func LoadState(file string) (state api.State, found bool, err error) {
	dir, name := splitState(file)
	opened, err := untrusted.Open(dir, name, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return state, false, nil
	}
	if err != nil {
		return state, false, fmt.Errorf("read %s: %w", file, err)
	}
	defer func() { _ = opened.Close() }()
	found, err = decodeJSON(opened, maxState, &state)
	return state, found, err
}

// splitState returns the directory that the directory of a state belongs to, and the rest of the path.
func splitState(file string) (dir, name string) {
	states := filepath.Dir(file)
	return filepath.Dir(states), filepath.Join(filepath.Base(states), filepath.Base(file))
}

// inOwn calls do with the directory that the directory of a state belongs to, out of which no link leads.
func inOwn(file string, do func(root *os.Root, name string) error) error {
	dir, name := splitState(file)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(do(root, name), root.Close())
}

// RemoveState removes a version that has been delivered.
func RemoveState(file string) error {
	err := inOwn(file, (*os.Root).Remove)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a delivered state: %w", err)
	}
	return nil
}

// RejectState renames a version that the server rejects permanently, so that it is
// stored but not sent again.
func RejectState(file string) error {
	err := inOwn(file, func(root *os.Root, name string) error {
		return root.Rename(name, strings.TrimSuffix(name, stateSuffix)+rejectedSuffix)
	})
	if err != nil {
		return fmt.Errorf("store a rejected state: %w", err)
	}
	return nil
}
