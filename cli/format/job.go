package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/style"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// maxFile is the number of bytes read of a file: one more than package style accepts,
// so that it rejects larger files.
const maxFile = 1<<20 + 1

// job formats one file after the other.
type job struct {
	options
	done     Formatted
	diffs    []string // of done.Changed, with --diff
	streamed bool
}

// stream formats standard input.
func (j *job) stream(in io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	j.streamed = true
	formatted := j.format("-", text)
	j.done.Text = string(formatted)
	return nil
}

// file formats one file in place. It records problems of the file as diagnostics; an
// error means a problem of the machine, and ends the job.
func (j *job) file(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return missing(name, err)
	}
	if why := reasonNotFormatted(info.Mode()); why != "" {
		j.refuse(name, 1, 1, why)
		return nil
	}
	text, err := read(name)
	if err != nil {
		return missing(name, err)
	}
	formatted := j.format(name, text)
	if formatted == nil || bytes.Equal(formatted, text) || !j.done.Written {
		return nil
	}
	if err := replace(name, formatted, info.Mode()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// reasonNotFormatted returns the reason why something cannot be formatted; empty for a regular file.
func reasonNotFormatted(mode os.FileMode) string {
	switch {
	case mode&os.ModeSymlink != 0:
		return "symbolic link; name the file that it points to"
	case !mode.IsRegular():
		return "not a regular file"
	}
	return ""
}

// read reads at most maxFile bytes of a file.
func read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// format formats a text and records the result. It returns nil if the text is invalid.
func (j *job) format(name string, text []byte) []byte {
	formatted, err := style.Format(text)
	if err != nil {
		line, column := 1, 1
		var at *style.Error
		if errors.As(err, &at) {
			line, column, err = at.Line, at.Column, errors.New(at.Message)
		}
		j.refuse(name, line, column, err.Error())
		return nil
	}
	if bytes.Equal(formatted, text) {
		j.done.Unchanged++
		return formatted
	}
	j.done.Changed = append(j.done.Changed, name)
	if j.diff {
		j.diffs = append(j.diffs, Unified(name, string(text), string(formatted)))
	}
	return formatted
}

func (j *job) refuse(name string, line, column int, why string) {
	j.done.Diagnostics = append(j.done.Diagnostics, diagnostic.Diagnostic{
		File:     filepath.ToSlash(name),
		Line:     line,
		Column:   column,
		Severity: diagnostic.Error,
		Rule:     "toml-syntax",
		Message:  why,
	})
}

// replace replaces the content of a file atomically.
func replace(name string, text []byte, mode os.FileMode) (err error) {
	next, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(next.Name()))
		}
	}()
	_, err = next.Write(text)
	if err == nil {
		err = next.Chmod(mode.Perm())
	}
	if err == nil {
		err = next.Sync()
	}
	if err := errors.Join(err, next.Close()); err != nil {
		return err
	}
	return os.Rename(next.Name(), name)
}
