package initialize

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// file is a file to write; its path is relative to the directory, with slashes.
type file struct{ path, text string }

// write writes the files. It returns an error before writing anything if one of them exists.
func (p place) write(files []file) error {
	var there []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(p.dir, filepath.FromSlash(f.path))); err == nil {
			there = append(there, f.path)
		} else if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("write the app: %w", err)
		}
	}
	if len(there) > 0 {
		slices.Sort(there)
		return exitcode.Usagef("%s already has %s, and no file is overwritten; name another directory",
			p.dir, strings.Join(there, ", "))
	}
	for _, f := range files {
		name := filepath.Join(p.dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write the app: %w", err)
		}
		out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("write the app: %w", err)
		}
		_, err = out.WriteString(f.text)
		if err := errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("write the app: %w", err)
		}
	}
	return nil
}
