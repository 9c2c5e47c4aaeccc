package validate

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxSource is the maximum size of files whose lines are shown, in bytes. No file
// that a config may refer to is larger.
const maxSource = 4 << 20

// source reads lines of the files in one config directory. It reads only regular files
// in it, and follows no links out of it.
type source struct {
	root  *os.Root // nil if it cannot be opened
	name  string   // of the file that was read last
	lines []string
}

func newSource(dir string) *source {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &source{}
	}
	return &source{root: root}
}

func (s *source) close() {
	if s.root != nil {
		_ = s.root.Close() // only read
	}
}

// line returns a line of a file, counted from 1, without its line break. It returns
// false if the file is outside the directory, is missing, or is a directory.
func (s *source) line(name string, number int) (string, bool) {
	if s.root == nil {
		return "", false
	}
	if name != s.name {
		s.name, s.lines = name, s.read(name)
	}
	if number < 1 || number > len(s.lines) {
		return "", false
	}
	return strings.TrimSuffix(s.lines[number-1], "\r"), true
}

func (s *source) read(name string) []string {
	local := filepath.FromSlash(name)
	if info, err := s.root.Lstat(local); err != nil || !info.Mode().IsRegular() || info.Size() > maxSource {
		return nil
	}
	file, err := s.root.Open(local)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(file, maxSource))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
}
