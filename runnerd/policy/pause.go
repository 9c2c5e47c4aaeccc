package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// pausedFile is the file in a runner's directory that pauses it, with a text that says why.
func pausedFile(dir string) string { return filepath.Join(dir, "paused") }

// Pause makes the runner of a directory accept no more jobs, until Resume.
func Pause(dir, why string) error {
	if err := os.WriteFile(pausedFile(dir), []byte(why+"\n"), 0o600); err != nil {
		return fmt.Errorf("pause the runner: %w", err)
	}
	return nil
}

// Resume ends a pause. It reports false if the runner was not paused.
func Resume(dir string) (bool, error) {
	err := os.Remove(pausedFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("resume the runner: %w", err)
	}
	return true, nil
}

// PausedIn returns the rule of a runner with a directory: one that accepts nothing while the runner is paused there. A
// pause that cannot be read counts.
func (r Rule) PausedIn(dir string) Rule {
	content, err := os.ReadFile(pausedFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return r
	}
	why := strings.TrimSpace(string(content[:min(len(content), 500)]))
	return r.disabled("its owner paused it (" + strings.ToValidUTF8(why, "?") + "); runnerd resume ends that")
}
