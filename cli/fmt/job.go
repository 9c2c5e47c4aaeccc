package fmt

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

// maxFile is how much of a file is read: one byte more than package style formats, so that it can refuse it.
const maxFile = 1<<20 + 1

// job formats one file after the other.
type job struct {
	options
	done     Formatted
	diffs    []string // of done.Changed, with --diff
	streamed bool
}

// stream formats what comes in.
func (j *job) stream(in io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return fmt.Errorf("read what comes in: %w", err)
	}
	j.streamed = true
	formatted := j.format("-", text)
	j.done.Text = string(formatted)
	return nil
}

// file formats one file where it lies. What is wrong with it is a diagnostic; an error is of the machine, and ends the job.
func (j *job) file(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return missing(name, err)
	}
	if why := unfit(info.Mode()); why != "" {
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

// unfit says why something is not a file to format.
func unfit(mode os.FileMode) string {
	switch {
	case mode&os.ModeSymlink != 0:
		return "this is a symbolic link; name the file that it leads to"
	case !mode.IsRegular():
		return "this is no regular file"
	}
	return ""
}

// read reads what style may refuse as too much, and no more.
func read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// format formats a text and takes note of what comes of it; nil for one that is left as it is.
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
		j.diffs = append(j.diffs, unified(name, string(text), string(formatted)))
	}
	return formatted
}

func (j *job) refuse(name string, line, column int, why string) {
	j.done.Diagnostics = append(j.done.Diagnostics, diagnostic.Diagnostic{
		File: filepath.ToSlash(name), Line: line, Column: column, Severity: diagnostic.Error, Rule: "toml-syntax", Message: why,
	})
}

// replace puts a new text in the place of a file at once, whatever ends the program meanwhile.
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
