package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// WriteFile replaces the whole content of file, readable only by its owner. When it returns,
// the content is on disk and survives a power failure.
func WriteFile(file string, content []byte) error {
	err := untrusted.Replace(file, content, true)
	if err == nil {
		err = syncDir(filepath.Dir(file))
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

// syncDir makes a new name in dir survive a crash.
func syncDir(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}
