package journal

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

// The bounds of what waits to be sent.
const (
	// mostChunk is the weight of a chunk. As JSON, with every byte escaped, it is still within what the control plane takes.
	mostChunk = 32 << 10
	// mostChunks is how many chunks wait.
	mostChunks = 64
)

// store is what waits to be sent: in memory, and each chunk in a file besides, for the next start. It is for one goroutine.
type store struct {
	dir    string
	chunks []*chunk // the oldest first
	next   int64
}

// chunk is a part of the log with its number, which is never given to another.
type chunk struct {
	api.NewLogChunk
	size   int
	sealed bool // it was sent once: what the control plane may have is not changed
}

// weight is what a line counts for, in bytes: its message, and its time and level.
func weight(line api.LogLine) int { return len(line.M) + 64 }

// open reads what an earlier run has left. What cannot be read is removed.
func open(dir string) *store {
	s := &store{dir: dir}
	_ = os.MkdirAll(dir, 0o700)
	given, _ := os.ReadFile(s.givenFile())
	s.next, _ = strconv.ParseInt(string(given), 10, 64) // 0 without it
	// In the order of their names, which is that of their numbers.
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() == givenName {
			continue
		}
		file := filepath.Join(dir, entry.Name())
		c := &chunk{sealed: true}
		content, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(content, &c.NewLogChunk) != nil || len(c.Lines) == 0 || nameOf(c.Seq) != entry.Name() {
			_ = os.Remove(file)
			continue
		}
		for _, line := range c.Lines {
			c.size += weight(line)
		}
		s.chunks, s.next = append(s.chunks, c), max(s.next, c.Seq+1)
	}
	s.bound()
	return s
}

// add adds lines to the newest chunk while it has room and was not sent yet, else to new ones.
func (s *store) add(lines []api.LogLine) {
	var changed []*chunk
	for _, line := range lines {
		last := s.last()
		if last == nil || last.sealed || last.size+weight(line) > mostChunk {
			last = &chunk{NewLogChunk: api.NewLogChunk{Seq: s.number()}}
			s.chunks = append(s.chunks, last)
		}
		last.Lines, last.size = append(last.Lines, line), last.size+weight(line)
		if len(changed) == 0 || changed[len(changed)-1] != last {
			changed = append(changed, last)
		}
	}
	for _, c := range changed {
		s.save(c)
	}
	s.bound()
}

// number gives the next number. They go on from one start to the next, also when the clock is put back; and in a new directory, of a
// new machine, for they begin with the time in microseconds.
func (s *store) number() int64 {
	number := max(s.next, time.Now().UnixMicro())
	s.next = number + 1
	_ = spool.WriteFile(s.givenFile(), strconv.AppendInt(nil, s.next, 10))
	return number
}

func (s *store) last() *chunk {
	if len(s.chunks) == 0 {
		return nil
	}
	return s.chunks[len(s.chunks)-1]
}

// save puts a chunk on the disk. Without room there it waits in memory alone.
func (s *store) save(c *chunk) {
	content, err := json.Marshal(c.NewLogChunk)
	if err == nil {
		_ = spool.WriteFile(s.file(c), content)
	}
}

// bound drops the oldest chunks when there are too many. What is dropped is told at the beginning of the oldest that stays, where it
// can still be changed, else of the next.
func (s *store) bound() {
	dropped := 0
	for len(s.chunks) > mostChunks {
		dropped += len(s.chunks[0].Lines)
		s.done()
	}
	for _, c := range s.chunks {
		if dropped == 0 {
			return
		}
		if !c.sealed {
			mark := droppedHere(c.Lines[0].T, dropped)
			c.Lines, c.size = append([]api.LogLine{mark}, c.Lines...), c.size+weight(mark)
			s.save(c)
			return
		}
	}
}

// first gives the oldest chunk, to be sent.
func (s *store) first() (api.NewLogChunk, bool) {
	if len(s.chunks) == 0 {
		return api.NewLogChunk{}, false
	}
	s.chunks[0].sealed = true
	return s.chunks[0].NewLogChunk, true
}

// done forgets the oldest chunk.
func (s *store) done() {
	_ = os.Remove(s.file(s.chunks[0]))
	s.chunks = s.chunks[1:]
}

func (s *store) file(c *chunk) string { return filepath.Join(s.dir, nameOf(c.Seq)) }

// givenName is the file with the least number that was given to no chunk yet.
const givenName = "next"

func (s *store) givenFile() string { return filepath.Join(s.dir, givenName) }

func nameOf(seq int64) string { return fmt.Sprintf("%020d.json", seq) }
