package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// readLocal reads a file of this machine, if this is the machine of the config's author.
func (f *Fetcher) readLocal(name string, limit int64) ([]byte, error) {
	if !f.options.Local {
		return nil, refuse("file:// is only read where the config lies", besides)
	}
	// Looked at before it is opened: opening a pipe waits for somebody to write.
	if info, err := os.Stat(name); err != nil {
		return nil, explainFile(err)
	} else if !info.Mode().IsRegular() {
		return nil, refuse("it is not a regular file", "name a file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, explainFile(err)
	}
	defer func() { _ = file.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, explainFile(err)
	}
	return data, nil
}

func explainFile(err error) *Error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("it does not exist", "check the path")
	case errors.Is(err, fs.ErrPermission):
		return refuse("it may not be read", "check the file's permissions")
	case errors.As(err, &at):
		err = at.Err
	}
	return refuse(fmt.Sprint(err), "check the path")
}
