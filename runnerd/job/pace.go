package job

import (
	"fmt"
	"time"
)

// The sustained rate limit of a job's log, and its burst. Terraform's output for an
// apply with some thousand resources in one second stays below it; the output of a
// script in a loop does not.
const (
	paceLines = 1000 // per second
	paceBytes = 1 << 20
	// paceAhead is the burst, in seconds of the sustained rate, that a quiet log may use.
	paceAhead = 20
)

// pace is the rate limiter of a log. It drops lines in runs instead of here and there:
// after one dropped line it drops all lines until there is room for a second's worth again.
// The zero pace has its full burst. It is for one goroutine at a time.
type pace struct {
	last         time.Time
	lines, bytes float64 // the used part of the burst
	dropping     bool
	// dropped is the number of lines that were dropped since the last gap.
	dropped      int
	droppedBytes int64
}

// admit reports whether a line of size bytes may be logged now.
func (p *pace) admit(now time.Time, size int) bool {
	// A clock that was set back neither adds nor takes room.
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

// droppedFrom is logged where lines start to be dropped, so that the log has it even if
// the process is killed before the next line.
var droppedFrom = fmt.Sprintf("lines are dropped from here on: the job logs more than %d lines or %d KiB a second",
	paceLines, paceBytes>>10)

// droppedTo returns the message to log where lines are logged again. It is empty when none were
// dropped since the last call.
func (p *pace) droppedTo() string {
	if p.dropped == 0 {
		return ""
	}
	mark := fmt.Sprintf("%d lines (%d KiB) were dropped here", p.dropped, (p.droppedBytes+1023)>>10)
	p.dropped, p.droppedBytes = 0, 0
	return mark
}
