package dev

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// FindProgram returns the path of a nuon program: in the directory of the running one,
// where a build or a release puts them together, else on PATH.
func FindProgram(name string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program %s: %w", name, err)
	}
	beside := []string{filepath.Dir(self)}
	if resolved, err := filepath.EvalSymlinks(self); err == nil && filepath.Dir(resolved) != beside[0] {
		beside = append(beside, filepath.Dir(resolved))
	}
	for _, dir := range beside {
		// For a path with a slash, LookPath only checks that the file is executable.
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf(
			"program %s not found beside nuon (%s) or on PATH; build it (make build) or install it there",
			name, beside[0])
	}
	return filepath.Abs(found)
}
