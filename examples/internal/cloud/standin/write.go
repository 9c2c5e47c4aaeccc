package standin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Write completes the code in root, a checkout of its repository, and reports whether anything was
// missing there. Different releases of a stand-in differ in what they create.
func (c *Code) Write(root string, release int) (missing bool, err error) {
	dir := filepath.Join(root, filepath.FromSlash(path.Clean("/"+c.Directory)))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, fmt.Errorf("make a stand-in: %w", err)
	}
	kept, dropped, err := clear(dir)
	if err != nil {
		return false, fmt.Errorf("make a stand-in: %w", err)
	}
	files := map[string]string{}
	switch c.Kind {
	case Module:
		if !anyMatch(kept, "*.tf") && !anyMatch(kept, "*.tf.json") {
			files = c.module(release)
		}
	case Chart:
		content, readErr := os.ReadFile(filepath.Join(dir, "Chart.yaml"))
		if len(dropped) > 0 || readErr != nil || slices.Contains(kept, chartFile) || remoteDependency.Match(content) {
			files, err = c.chart(dir, release)
		}
	case Kustomization:
		if !anyMatch(kept, "kustomization.y*ml") || slices.Contains(kept, objectsFile) {
			files = c.kustomization(release)
		}
	case Script:
		for _, name := range c.Files {
			if !slices.Contains(kept, name) {
				files[name] = script
			}
		}
	}
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o755)
		}
	}
	if err != nil {
		return false, fmt.Errorf("make a stand-in: %w", err)
	}
	return len(files) > 0, nil
}

// remoteDependency finds a chart that another depends on and that a chart repository has.
var remoteDependency = regexp.MustCompile(`(?m)^\s*-?\s*repository:\s*"?(https?|oci)://`)

// clear removes placeholders, and earlier stand-ins of modules, and returns the names of the other files
// and those of the removed ones.
func clear(dir string) (kept, dropped []string, err error) {
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if IsPlaceholder(content) || strings.HasPrefix(string(content), moduleMark) {
			dropped = append(dropped, filepath.ToSlash(name))
			return os.Remove(file)
		}
		kept = append(kept, filepath.ToSlash(name))
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return kept, dropped, err
}

func anyMatch(names []string, pattern string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		match, err := path.Match(pattern, name)
		return err == nil && match
	})
}

// script is the content of a stand-in for a script.
const script = "#!/bin/sh\necho 'the script was not published: this is a stand-in'\n"
