package runnerlog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// The limits for pending chunks.
const (
	// maxChunk bounds the weight of a chunk. Even as JSON with every byte escaped it is below
	// the control plane's limit.
	maxChunk = 32 << 10
	// maxChunks bounds the number of pending chunks.
	maxChunks = 64
)

// store holds the pending chunks in memory, and each also in a file for the next start.
// It is for one goroutine.
type store struct {
	dir    string
	chunks []*chunk // oldest first
	next   int64
}

// chunk is a part of the log with its number, which is never reused.
type chunk struct {
	api.NewLogChunk
	size   int
	sealed bool // it was sent once: the control plane may have it, so it no longer changes
}

// lineSize returns the size that a line counts for, in bytes: its message,
// plus its time and level.
func lineSize(line api.LogLine) int { return len(line.M) + 64 }

// open reads the chunks that an earlier run left. It removes files that it cannot read.
func open(dir string) *store {
	s := &store{dir: dir}
	_ = os.MkdirAll(dir, 0o700)
	given, _ := os.ReadFile(s.nextFile())
	s.next, _ = strconv.ParseInt(string(given), 10, 64) // 0 if the file is missing
	// ReadDir sorts by name, which is the order of the numbers.
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() == nextName {
			continue
		}
		file := filepath.Join(dir, entry.Name())
		c := &chunk{sealed: true}
		content, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(content, &c.NewLogChunk) != nil || len(c.Lines) == 0 ||
			nameOf(c.Seq) != entry.Name() {
			_ = os.Remove(file)
			continue
		}
		for _, line := range c.Lines {
			c.size += lineSize(line)
		}
		s.chunks, s.next = append(s.chunks, c), max(s.next, c.Seq+1)
	}
	s.dropOldest()
	return s
}

// add appends lines to the newest chunk if it has room and was never sent,
// and otherwise to new chunks.
func (s *store) add(lines []api.LogLine) {
	var changed []*chunk
	for _, line := range lines {
		last := s.last()
		if last == nil || last.sealed || last.size+lineSize(line) > maxChunk {
			last = &chunk{NewLogChunk: api.NewLogChunk{Seq: s.number()}}
			s.chunks = append(s.chunks, last)
		}
		last.Lines, last.size = append(last.Lines, line), last.size+lineSize(line)
		if len(changed) == 0 || changed[len(changed)-1] != last {
			changed = append(changed, last)
		}
	}
	for _, c := range changed {
		s.save(c)
	}
	s.dropOldest()
}

// number returns the next number. Numbers increase across restarts, even when the clock
// is set back, and in a new directory on a new machine, because they start with the
// time in microseconds.
func (s *store) number() int64 {
	number := max(s.next, time.Now().UnixMicro())
	s.next = number + 1
	_ = spool.WriteFile(s.nextFile(), strconv.AppendInt(nil, s.next, 10))
	return number
}

func (s *store) last() *chunk {
	if len(s.chunks) == 0 {
		return nil
	}
	return s.chunks[len(s.chunks)-1]
}

// save writes a chunk to disk. On a full disk it stays only in memory.
func (s *store) save(c *chunk) {
	content, err := json.Marshal(c.NewLogChunk)
	if err == nil {
		_ = spool.WriteFile(s.file(c), content)
	}
}

// dropOldest drops the oldest chunks when there are too many. It adds the mark for the dropped lines
// to the oldest remaining chunk that was never sent.
func (s *store) dropOldest() {
	dropped := 0
	for len(s.chunks) > maxChunks {
		dropped += len(s.chunks[0].Lines)
		s.removeFirst()
	}
	for _, c := range s.chunks {
		if dropped == 0 {
			return
		}
		if !c.sealed {
			mark := droppedMark(c.Lines[0].T, dropped)
			c.Lines, c.size = append([]api.LogLine{mark}, c.Lines...), c.size+lineSize(mark)
			s.save(c)
			return
		}
	}
}

// first returns the oldest chunk to send.
func (s *store) first() (api.NewLogChunk, bool) {
	if len(s.chunks) == 0 {
		return api.NewLogChunk{}, false
	}
	s.chunks[0].sealed = true
	return s.chunks[0].NewLogChunk, true
}

// removeFirst removes the oldest chunk.
func (s *store) removeFirst() {
	_ = os.Remove(s.file(s.chunks[0]))
	s.chunks = s.chunks[1:]
}

func (s *store) file(c *chunk) string { return filepath.Join(s.dir, nameOf(c.Seq)) }

// nextName is the name of the file with the lowest unused number.
const nextName = "next"

func (s *store) nextFile() string { return filepath.Join(s.dir, nextName) }

func nameOf(seq int64) string { return fmt.Sprintf("%020d.json", seq) }
