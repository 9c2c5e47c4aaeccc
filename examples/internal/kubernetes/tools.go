package kubernetes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Tools creates a directory with kubectl: a link to the program of a cluster, which is kubectl when
// it is called by that name. Put the directory first on a PATH.
func Tools(program, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a place for kubectl: %w", err)
	}
	link := filepath.Join(dir, "kubectl")
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace kubectl: %w", err)
	}
	if err := os.Symlink(program, link); err != nil {
		return fmt.Errorf("put kubectl in place: %w", err)
	}
	return nil
}
