package spool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// The limits of one chunk: bytes in the log file, and lines.
const (
	maxChunkBytes = 64 << 10
	maxChunkLines = 500
)

// Chunks cuts the log of an attempt into numbered chunks. Where each was cut is on disk before it is handed out, so whoever opens
// the log next cuts the same chunks: a chunk that is sent twice is the same chunk.
type Chunks struct {
	log   *os.File
	index *os.File
	// opened is the time of a first line that names none.
	opened time.Time
	// cuts holds the end of each chunk in the log; the chunk of index i has seq i+1.
	cuts []int64
	// sent counts the chunks that have arrived.
	sent int
}

// cut is one line of the index: a new end, or how many chunks have arrived.
type cut struct {
	End  int64 `json:"end,omitempty"`
	Sent int   `json:"sent,omitempty"`
}

// Chunks opens the log for shipping. It is for one goroutine.
func (a Attempt) Chunks() (*Chunks, error) {
	log, err := os.OpenFile(a.path(logFile), os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of the attempt: %w", err)
	}
	index, err := os.OpenFile(a.path(chunksFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the chunks of the attempt: %w", err), log.Close())
	}
	chunks := &Chunks{log: log, index: index}
	if info, err := os.Stat(a.path(recordFile)); err == nil {
		chunks.opened = info.ModTime().UTC()
	}
	if err := chunks.restore(); err != nil {
		return nil, errors.Join(fmt.Errorf("read the chunks of the attempt: %w", err), chunks.Close())
	}
	return chunks, nil
}

// restore reads the index. Its last line may be torn by a power failure; what it would have said was then not acted upon, and it
// is ended.
func (c *Chunks) restore() error {
	reader := bufio.NewReader(c.index)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				_, err = c.index.Write([]byte("\n"))
				return err
			}
			return nil
		}
		if err != nil {
			return err
		}
		var entry cut
		if json.Unmarshal(line, &entry) != nil {
			continue // a torn line that was ended before
		}
		if entry.End > c.end() {
			c.cuts = append(c.cuts, entry.End)
		}
		c.sent = min(max(c.sent, entry.Sent), len(c.cuts))
	}
}

// Close closes the files.
func (c *Chunks) Close() error { return errors.Join(c.log.Close(), c.index.Close()) }

func (c *Chunks) end() int64 {
	if len(c.cuts) == 0 {
		return 0
	}
	return c.cuts[len(c.cuts)-1]
}

// Next gives up to most chunks that have not arrived yet, oldest first. It cuts new ones of the whole lines that are there;
// complete says that the log will not grow, so that a last line without its end counts too.
func (c *Chunks) Next(most int, complete bool) ([]api.NewLogChunk, error) {
	for len(c.cuts)-c.sent < most {
		grown, err := c.cutOne(complete)
		if err != nil {
			return nil, fmt.Errorf("cut the log: %w", err)
		}
		if !grown {
			break
		}
	}
	var chunks []api.NewLogChunk
	for i := c.sent; i < len(c.cuts) && i < c.sent+most; i++ {
		lines, err := c.read(i)
		if err != nil {
			return nil, fmt.Errorf("read chunk %d of the log: %w", i+1, err)
		}
		chunks = append(chunks, api.NewLogChunk{Seq: int64(i + 1), Lines: lines})
	}
	return chunks, nil
}

// Sent notes that n more chunks have arrived. When that note is lost they are sent again, which changes nothing.
func (c *Chunks) Sent(n int) error {
	c.sent += n
	return c.note(cut{Sent: c.sent})
}

// cutOne makes one more chunk; false when there is no whole line.
func (c *Chunks) cutOne(complete bool) (bool, error) {
	window := make([]byte, maxChunkBytes)
	n, err := c.log.ReadAt(window, c.end())
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	window = window[:n]
	size := endOfLines(window)
	if size == 0 && (n == maxChunkBytes || (complete && n > 0)) {
		size = n // a line that no log of ours has; it is broken, not lost
	}
	if size == 0 {
		return false, nil
	}
	end := c.end() + int64(size)
	if err := c.note(cut{End: end}); err != nil {
		return false, err
	}
	if err := c.index.Sync(); err != nil {
		return false, err
	}
	c.cuts = append(c.cuts, end)
	return true, nil
}

// endOfLines gives the length of the first whole lines, at most maxChunkLines.
func endOfLines(window []byte) int {
	size := 0
	for range maxChunkLines {
		end := bytes.IndexByte(window[size:], '\n')
		if end < 0 {
			break
		}
		size += end + 1
	}
	return size
}

func (c *Chunks) note(entry cut) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	_, err = c.index.Write(append(line, '\n'))
	return err
}

// read gives the lines of one chunk.
func (c *Chunks) read(i int) ([]api.LogLine, error) {
	start := int64(0)
	if i > 0 {
		start = c.cuts[i-1]
	}
	content := make([]byte, c.cuts[i]-start)
	n, err := c.log.ReadAt(content, start)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	lines, before := []api.LogLine{}, c.opened
	for text := range bytes.Lines(content[:n]) {
		if text = bytes.TrimSpace(text); len(text) > 0 {
			line := readLine(text, before)
			lines, before = append(lines, line), line.T
		}
	}
	return lines, nil
}

// readLine reads one line. The log may be written by an executable that is not ours:
// what is no line of the protocol is passed on as a warning, at the time of the line before it, so that the same chunk has the
// same content again.
func readLine(text []byte, before time.Time) api.LogLine {
	var line api.LogLine
	if json.Unmarshal(text, &line) != nil || line.T.IsZero() {
		line = api.LogLine{T: before, L: api.Warn, M: strings.ToValidUTF8(string(text), "\uFFFD")}
	}
	switch line.L {
	case api.Debug, api.Info, api.Warn, api.Error:
	default:
		line.L = api.Info
	}
	line.M = strings.ReplaceAll(line.M, "\x00", "\uFFFD")
	return line
}
