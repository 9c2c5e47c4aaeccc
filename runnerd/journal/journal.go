package journal

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// The bounds of what is taken down.
const (
	lineRate  = 20 // lines a second for long
	lineBurst = 500
	// mostHeld is how many bytes wait in memory to be taken over; more come only when the disk hangs.
	mostHeld = 256 << 10
	// longestLine is that of one message in bytes. The control plane takes twice as much.
	longestLine = 8 << 10
)

// Journal takes down lines, for any number of goroutines. New makes one.
type Journal struct {
	secrets *redact.Set
	limit   *rate.Limiter
	// grown has an element when there is a line to take over.
	grown chan struct{}

	mutex   sync.Mutex
	lines   []api.LogLine
	size    int
	dropped int // since the last mark
}

// New makes a journal whose lines are without what secrets knows, or learns later.
func New(secrets *redact.Set) *Journal {
	return &Journal{secrets: secrets, limit: rate.NewLimiter(lineRate, lineBurst), grown: make(chan struct{}, 1)}
}

// note takes down one line. It never waits for anything but another note.
func (j *Journal) note(at time.Time, level api.LogLineL, text string) {
	text = strings.ReplaceAll(strings.ToValidUTF8(j.secrets.String(text), "\uFFFD"), "\x00", "\uFFFD")
	text = strings.ReplaceAll(text, "\n", " ")
	if over := len(text) - longestLine; over > 0 {
		text = fmt.Sprintf("%s… (%d more bytes were cut)", strings.ToValidUTF8(text[:longestLine], ""), over)
	}
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if !j.limit.AllowN(at, 1) {
		j.dropped++
		return
	}
	j.keep(api.LogLine{T: at.UTC(), L: level, M: text})
	for j.size > mostHeld {
		j.size -= weight(j.lines[0])
		j.lines = j.lines[1:]
		j.dropped++
	}
	select {
	case j.grown <- struct{}{}:
	default:
	}
}

// keep adds a line, after the mark for those that were dropped before it.
func (j *Journal) keep(line api.LogLine) {
	if j.dropped > 0 {
		mark := droppedHere(line.T, j.dropped)
		j.lines, j.size, j.dropped = append(j.lines, mark), j.size+weight(mark), 0
	}
	j.lines, j.size = append(j.lines, line), j.size+weight(line)
}

// take takes over what was taken down.
func (j *Journal) take() []api.LogLine {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	lines := j.lines
	j.lines, j.size = nil, 0
	return lines
}

// droppedHere is the mark for lines that had no room.
func droppedHere(at time.Time, lines int) api.LogLine {
	return api.LogLine{T: at, L: api.Warn, M: fmt.Sprintf("%d lines of this log were dropped here: there were too many of them, or the control plane was away for too long", lines)}
}
