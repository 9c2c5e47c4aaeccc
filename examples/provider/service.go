package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// service stands for the cloud: it has the objects, and knows nothing of Terraform.
//
//	<directory>/objects/<name>         what the object's value is
//	<directory>/journal                a line for all that was done
//	<directory>/counts/<step>.<name>…  how often a trouble has happened
type service struct{ directory string }

// changed is what the service adds to the value of an object that changes by itself.
const changed = " (changed by itself)"

// half is the value of an object that was not made to its end.
const half = "(half made)"

func (s *service) file(name string) string { return filepath.Join(s.directory, "objects", name) }

func (s *service) put(name, value string) error {
	if err := os.MkdirAll(filepath.Join(s.directory, "objects"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.file(name), []byte(value), 0o644)
}

// get gives an object's value, false when there is no such object. When drifts is not negative, an object that is older than that
// changes by itself first.
func (s *service) get(name string, drifts time.Duration) (string, bool, error) {
	content, err := os.ReadFile(s.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	value := string(content)
	info, err := os.Stat(s.file(name))
	if err != nil {
		return "", false, err
	}
	if drifts >= 0 && time.Since(info.ModTime()) >= drifts && !strings.HasSuffix(value, changed) {
		value += changed
		s.note("drift", name, "has happened")
		return value, true, s.put(name, value)
	}
	return value, true, nil
}

func (s *service) remove(name string) error {
	if err := os.Remove(s.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// note adds a line to the journal: the time, the step, the object, and what became of it. Lines of several providers at once do
// not mix.
func (s *service) note(step, name, what string) {
	if os.MkdirAll(s.directory, 0o755) != nil {
		return // the step itself says what is wrong with the directory
	}
	journal, err := os.OpenFile(filepath.Join(s.directory, "journal"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	defer func() { _ = journal.Close() }()
	_, _ = fmt.Fprintf(journal, "%s %s %s %s\n", time.Now().UTC().Format("15:04:05.000"), step, name, what)
}

// again counts a trouble, and tells whether it is still to happen: the first most times, or always when most is negative.
func (s *service) again(step, trouble, name string, most int64) (bool, error) {
	if most <= 0 {
		return most < 0, nil
	}
	file := filepath.Join(s.directory, "counts", step+"."+trouble+"."+name)
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	count, _ := strconv.ParseInt(string(content), 10, 64) // none yet counts as 0
	if count >= most {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return false, err
	}
	return true, os.WriteFile(file, []byte(strconv.FormatInt(count+1, 10)), 0o644)
}
