package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// WriteFile replaces the whole content of file, readable only by its owner. When it returns,
// the content is on disk and survives a power failure.
func WriteFile(file string, content []byte) error {
	dir := filepath.Dir(file)
	beside, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*") // with mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	defer func() { _ = os.Remove(beside.Name()) }()
	_, err = beside.Write(content)
	if err == nil {
		err = beside.Sync()
	}
	if err = errors.Join(err, beside.Close()); err == nil {
		err = os.Rename(beside.Name(), file)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// SaveJSON writes content to file as JSON, with the guarantees of WriteFile.
func SaveJSON(file string, content any) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return WriteFile(file, encoded)
}

// LoadJSON reads a small file that SaveJSON wrote. It returns false when
// the file does not exist.
func LoadJSON(file string, into any) (bool, error) { return loadJSON(file, 1<<20, into) }

// replaceFile replaces the whole content of file without waiting for the disk. Only one process
// may write the same file.
func replaceFile(file string, content []byte) error {
	beside := file + ".new"
	if err := os.WriteFile(beside, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(beside, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// openOwn opens a file of a directory that the programs of a job can write to. It follows no link out of that
// directory, because runnerd may read files that those programs may not, and it never waits for a pipe.
func openOwn(dir, name string, flags int) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
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

// syncDir makes a new name in dir survive a crash.
func syncDir(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
