package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile replaces file by content as a whole, readable by its owner alone. It is on disk when this returns, also after a power
// failure.
func WriteFile(file string, content []byte) error {
	dir := filepath.Dir(file)
	beside, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*") // mode 0600
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

// SaveJSON replaces file by content in JSON, as WriteFile does.
func SaveJSON(file string, content any) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return WriteFile(file, encoded)
}

// LoadJSON reads a small file that SaveJSON wrote; false when it is not there.
func LoadJSON(file string, into any) (bool, error) { return loadJSON(file, 1<<20, into) }

// replaceFile replaces file by content as a whole, without waiting for the disk. Only one process may do so for a file.
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

// syncDir makes a new name in dir itself survive a crash.
func syncDir(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
