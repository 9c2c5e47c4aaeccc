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
	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// The limits of one chunk: bytes in the log file, and lines.
const (
	maxChunkBytes = 64 << 10
	maxChunkLines = 500
)

// Chunks cuts the log of an attempt into numbered chunks. Each cut is written to disk
// before its chunk is returned, so the next process that opens the log cuts the same chunks:
// a chunk that is sent twice has the same content.
type Chunks struct {
	log   *os.File
	index *os.File
	// opened is the time of a first line that has no time.
	opened time.Time
	// cuts holds the end of each chunk in the log, in bytes; the chunk
	// with index i has seq i+1.
	cuts []int64
	// sent is the number of chunks that have arrived.
	sent int
}

// indexEntry is one line of the index: the end of a new chunk, or the number of
// chunks that have arrived.
type indexEntry struct {
	End  int64 `json:"end,omitempty"`
	Sent int   `json:"sent,omitempty"`
}

// Chunks opens the log for shipping. The result is for one goroutine.
func (a Attempt) Chunks() (*Chunks, error) {
	log, err := untrusted.Open(a.Dir, logFile, os.O_RDONLY|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("open the log of the attempt: %w", err)
	}
	index, err := untrusted.Open(a.Dir, chunksFile, os.O_RDWR|os.O_CREATE|os.O_APPEND)
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

// restore reads the index. A power failure may have cut its last line short; nothing was done
// yet on the basis of that line, so restore only terminates it. Programs of a job may have written
// to the index: restore skips a chunk that is larger than any that Next cuts.
func (c *Chunks) restore() error {
	reader := bufio.NewReader(io.LimitReader(c.index, maxFile))
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
		var entry indexEntry
		if json.Unmarshal(line, &entry) != nil {
			continue // an incomplete line that an earlier restore terminated
		}
		if entry.End > c.end() && entry.End-c.end() <= maxChunkBytes {
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

// Next returns up to most chunks that have not arrived yet, oldest first, and cuts new
// ones from the complete lines of the log. complete means that the log no longer grows,
// so that a last line without a newline counts too.
func (c *Chunks) Next(most int, complete bool) ([]api.NewLogChunk, error) {
	for len(c.cuts)-c.sent < most {
		grown, err := c.cutNext(complete)
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

// MarkSent records that n more chunks have arrived. If the record is lost they are sent again,
// which changes nothing.
func (c *Chunks) MarkSent(n int) error {
	c.sent += n
	return c.appendIndex(indexEntry{Sent: c.sent})
}

// cutNext cuts one more chunk. It returns false when there is no complete line.
func (c *Chunks) cutNext(complete bool) (bool, error) {
	window := make([]byte, maxChunkBytes)
	n, err := c.log.ReadAt(window, c.end())
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	window = window[:n]
	size := endOfLines(window)
	if size == 0 && (n == maxChunkBytes || (complete && n > 0)) {
		// Our logs have no line this long; it is split, not lost.
		size = n
	}
	if size == 0 {
		return false, nil
	}
	end := c.end() + int64(size)
	if err := c.appendIndex(indexEntry{End: end}); err != nil {
		return false, err
	}
	if err := c.index.Sync(); err != nil {
		return false, err
	}
	c.cuts = append(c.cuts, end)
	return true, nil
}

// endOfLines returns the length of the complete lines at the start, at most
// maxChunkLines of them.
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

func (c *Chunks) appendIndex(entry indexEntry) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	_, err = c.index.Write(append(line, '\n'))
	return err
}

// read returns the lines of one chunk.
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

// readLine parses one line. A foreign executable may have written to the log:
// a line that is not of the protocol becomes a warning with the time of the line before it,
// so that the same chunk always has the same content.
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
