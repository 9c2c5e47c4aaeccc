package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/devcontract"
)

// Ready is the content of --ready-file, written when everything is up.
type Ready struct {
	devcontract.Ready
	// Org is the name of the org; Context is the name of the CLI context for it.
	Org     string `json:"org"`
	Context string `json:"context"`
	// DataDir is where all data is stored.
	DataDir string `json:"data_dir"`
	// PID is the process to interrupt to stop everything.
	PID int `json:"pid"`
}

// jsonLimit limits the size of the JSON files that the programs exchange.
const jsonLimit = 1 << 20

// readJSON reads a small JSON file into value. The error for a missing file wraps fs.ErrNotExist.
func readJSON(file string, value any) error {
	opened, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	content, err := io.ReadAll(io.LimitReader(opened, jsonLimit+1))
	if err != nil {
		return err
	}
	if len(content) > jsonLimit {
		return fmt.Errorf("read %s: larger than %d bytes", file, jsonLimit)
	}
	if err := json.Unmarshal(content, value); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// writeJSON writes a small JSON file atomically, readable only by its owner.
func writeJSON(file string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	beside, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	defer func() { _ = os.Remove(beside.Name()) }() // fails after the rename
	_, err = beside.Write(append(content, '\n'))
	if err = errors.Join(err, beside.Sync(), beside.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(beside.Name(), file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// removeFile removes a file if it exists.
func removeFile(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
