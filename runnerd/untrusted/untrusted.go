// Package untrusted opens and replaces files in directories that programs of a job can write to.
//
// It owns the rule for these: runnerd may read and write files that those programs may not, so it follows no link out
// of the directory, and it never waits for a pipe.
package untrusted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Open opens a regular file of a directory. It follows no link out of that directory.
func Open(dir, name string, flags int) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return OpenIn(root, name, flags)
}

// OpenIn opens a regular file below root. It follows no link out of root.
func OpenIn(root *os.Root, name string, flags int) (*os.File, error) {
	opened, err := root.OpenFile(name, flags|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", opened.Name())
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// Replace replaces the whole content of a file, readable only by its owner. It writes to a new file beside it, which no
// program can have replaced by a link. With synced, the content is on disk when it returns.
func Replace(file string, content []byte, synced bool) error {
	beside, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // with mode 0600 and O_EXCL
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(beside.Name()) }()
	_, err = beside.Write(content)
	if err == nil && synced {
		err = beside.Sync()
	}
	if err = errors.Join(err, beside.Close()); err != nil {
		return err
	}
	return os.Rename(beside.Name(), file)
}
