package job

import (
	"fmt"
	"time"
)

// The pace that a job's log may keep for long, and what it may have ahead of it at once. What Terraform says of an apply with some
// thousand resources in one second is within it; what a script in a loop says is not.
const (
	paceLines = 1000 // a second
	paceBytes = 1 << 20
	// paceAhead is how many seconds' worth a log that was quiet has ahead.
	paceAhead = 20
)

// pace decides which lines a log has room for, by the time at which they come. It drops in stretches, not here and there: once a
// line was dropped, all are, until there is room for a second's worth again. The zero pace is full of room. It is for one
// goroutine at a time.
type pace struct {
	last         time.Time
	lines, bytes float64 // used of what may be ahead
	dropping     bool
	// dropped counts since the last gap.
	dropped      int
	droppedBytes int64
}

// admit tells whether a line of size bytes has room now.
func (p *pace) admit(now time.Time, size int) bool {
	// A clock that was put back gives no room, and takes none.
	passed := max(0, now.Sub(p.last).Seconds())
	p.last = now
	p.lines = max(0, p.lines-passed*paceLines)
	p.bytes = max(0, p.bytes-passed*paceBytes)
	room := float64(paceAhead)
	if p.dropping {
		room--
	}
	if p.lines+1 > room*paceLines || p.bytes+float64(size) > room*paceBytes {
		p.dropping = true
		p.dropped++
		p.droppedBytes += int64(size)
		return false
	}
	p.dropping = false
	p.lines, p.bytes = p.lines+1, p.bytes+float64(size)
	return true
}

// droppedFrom is the mark that stands where lines begin to be dropped: it is there even if the process is killed before the next.
var droppedFrom = fmt.Sprintf("lines are dropped from here on: the job logs more than %d lines or %d KiB a second", paceLines, paceBytes>>10)

// droppedTo is the mark that stands where lines are kept again; empty when none were dropped since it was last asked for.
func (p *pace) droppedTo() string {
	if p.dropped == 0 {
		return ""
	}
	mark := fmt.Sprintf("%d lines (%d KiB) were dropped here", p.dropped, (p.droppedBytes+1023)>>10)
	p.dropped, p.droppedBytes = 0, 0
	return mark
}
