package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// maxOutputTail bounds how many bytes at the end of an output file are used.
const maxOutputTail = 64 << 10

// outputTail returns what the job process wrote outside of its log: the trace of a crash,
// or the reason why it could not store a result.
func (a *attempt) outputTail() ([]string, error) {
	var said []string
	for _, file := range []string{a.dir.StdoutFile(), a.dir.StderrFile()} {
		text, err := readEnd(file, maxOutputTail)
		if err != nil {
			return nil, err
		}
		said = append(said, withoutPanicValue(text)...)
	}
	return said, nil
}

func readEnd(file string, most int64) (string, error) {
	opened, err := spool.OpenOutput(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read what the job printed: %w", err)
	}
	defer func() { _ = opened.Close() }()
	size, err := opened.Seek(0, io.SeekEnd)
	if err != nil {
		return "", fmt.Errorf("read what the job printed: %w", err)
	}
	content, err := io.ReadAll(io.NewSectionReader(opened, max(0, size-most), most))
	if err != nil {
		return "", fmt.Errorf("read what the job printed: %w", err)
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(content), "\uFFFD"), "\x00", "\uFFFD"), nil
}

// withoutPanicValue splits text into lines, and removes the value of a Go panic. This runner
// does not have the secrets that the job had opened, and the value is the one part of a crash's
// text that may contain one.
func withoutPanicValue(text string) []string {
	var lines []string
	withheld := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "[signal ") {
			withheld = false
		}
		if strings.HasPrefix(line, "panic: ") && !strings.HasPrefix(line, "panic: runtime error: ") {
			lines = append(lines, "panic: (its value is left out, because it may hold a secret)")
			withheld = true
		}
		if line != "" && !withheld {
			lines = append(lines, line)
		}
	}
	return lines
}
