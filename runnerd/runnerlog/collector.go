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
	// maxHeld bounds the bytes in memory that the shipper has not taken yet. It is only
	// reached when the disk hangs.
	maxHeld = 256 << 10
	// maxLine bounds one message, in bytes. The control plane accepts twice as much.
	maxLine = 8 << 10
)

// Collector collects log lines. It is safe for concurrent use. New returns one.
type Collector struct {
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
func New(secrets *redact.Set) *Collector {
	return &Collector{secrets: secrets, limit: rate.NewLimiter(lineRate, lineBurst), grown: make(chan struct{}, 1)}
}

// add adds one line. It waits only for other calls of note.
func (c *Collector) add(at time.Time, level api.LogLineL, text string) {
	text = strings.ReplaceAll(strings.ToValidUTF8(c.secrets.String(text), "\uFFFD"), "\x00", "\uFFFD")
	text = strings.ReplaceAll(text, "\n", " ")
	if over := len(text) - maxLine; over > 0 {
		text = fmt.Sprintf("%s… (%d more bytes were cut)", strings.ToValidUTF8(text[:maxLine], ""), over)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.limit.AllowN(at, 1) {
		c.dropped++
		return
	}
	c.appendLine(api.LogLine{T: at.UTC(), L: level, M: text})
	for c.size > maxHeld {
		c.size -= lineSize(c.lines[0])
		c.lines = c.lines[1:]
		c.dropped++
	}
	select {
	case c.grown <- struct{}{}:
	default:
	}
}

// appendLine appends a line, after a mark for lines that were dropped before it.
func (c *Collector) appendLine(line api.LogLine) {
	if c.dropped > 0 {
		mark := droppedMark(line.T, c.dropped)
		c.lines, c.size, c.dropped = append(c.lines, mark), c.size+lineSize(mark), 0
	}
	c.lines, c.size = append(c.lines, line), c.size+lineSize(line)
}

// drain removes and returns the collected lines.
func (c *Collector) drain() []api.LogLine {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	lines := c.lines
	c.lines, c.size = nil, 0
	return lines
}

// droppedMark returns the mark for dropped lines.
func droppedMark(at time.Time, lines int) api.LogLine {
	return api.LogLine{T: at, L: api.Warn, M: fmt.Sprintf("%d lines of this log were dropped here: there were too many "+
		"of them, or the control plane was away for too long", lines)}
}
