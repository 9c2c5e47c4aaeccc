package runnerlog

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// The limits for collected lines.
const (
	lineRate  = 20 // sustained lines per second
	lineBurst = 500
	// mostHeld bounds the bytes in memory that the shipper has not taken yet. It is only
	// reached when the disk hangs.
	mostHeld = 256 << 10
	// longestLine bounds one message, in bytes. The control plane accepts twice as much.
	longestLine = 8 << 10
)

// Journal collects log lines. It is safe for concurrent use. New returns one.
type Journal struct {
	secrets *redact.Set
	limit   *rate.Limiter
	// grown has an element when there are lines to take.
	grown chan struct{}

	mutex   sync.Mutex
	lines   []api.LogLine
	size    int
	dropped int // since the last mark
}

// New returns a journal that masks the secrets in its lines, including those that are
// added to secrets later.
func New(secrets *redact.Set) *Journal {
	return &Journal{secrets: secrets, limit: rate.NewLimiter(lineRate, lineBurst), grown: make(chan struct{}, 1)}
}

// note adds one line. It waits only for other calls of note.
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

// keep appends a line, after a mark for lines that were dropped before it.
func (j *Journal) keep(line api.LogLine) {
	if j.dropped > 0 {
		mark := droppedHere(line.T, j.dropped)
		j.lines, j.size, j.dropped = append(j.lines, mark), j.size+weight(mark), 0
	}
	j.lines, j.size = append(j.lines, line), j.size+weight(line)
}

// take removes and returns the collected lines.
func (j *Journal) take() []api.LogLine {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	lines := j.lines
	j.lines, j.size = nil, 0
	return lines
}

// droppedHere returns the mark for dropped lines.
func droppedHere(at time.Time, lines int) api.LogLine {
	return api.LogLine{T: at, L: api.Warn, M: fmt.Sprintf("%d lines of this log were dropped here: there were too many of them, or the control plane was away for too long", lines)}
}
