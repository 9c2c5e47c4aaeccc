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

// service plays the role of a cloud. It has the objects, and does not depend on Terraform.
//
//	<directory>/objects/<name>         the object's value
//	<directory>/journal                one line for each operation
//	<directory>/counts/<step>.<name>…  how often a trouble has occurred
type service struct{ directory string }

// changed is appended to the value of an object that drifts.
const changed = " (changed by itself)"

// half is the value of a half-created object.
const half = "(half made)"

func (s *service) file(name string) string { return filepath.Join(s.directory, "objects", name) }

func (s *service) put(name, value string) error {
	if err := os.MkdirAll(filepath.Join(s.directory, "objects"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.file(name), []byte(value), 0o644)
}

// get returns an object's value, and false if there is no such object. If drifts is not negative, an
// object that is older than drifts changes its value first.
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

// note appends a line to the journal: the time, the step, the object, and the result. Lines of
// concurrent providers do not mix.
func (s *service) note(step, name, what string) {
	if os.MkdirAll(s.directory, 0o755) != nil {
		return // the step itself reports problems with the directory
	}
	journal, err := os.OpenFile(filepath.Join(s.directory, "journal"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	defer func() { _ = journal.Close() }()
	_, _ = fmt.Fprintf(journal, "%s %s %s %s\n", time.Now().UTC().Format("15:04:05.000"), step, name, what)
}

// again counts a trouble and reports whether it still occurs: the first most times, or always if
// most is negative.
func (s *service) again(step, trouble, name string, most int64) (bool, error) {
	if most <= 0 {
		return most < 0, nil
	}
	file := filepath.Join(s.directory, "counts", step+"."+trouble+"."+name)
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	count, _ := strconv.ParseInt(string(content), 10, 64) // an empty file counts as 0
	if count >= most {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return false, err
	}
	return true, os.WriteFile(file, []byte(strconv.FormatInt(count+1, 10)), 0o644)
}
