package job

import (
	"fmt"
	"time"
)

// The sustained rate limit of a job's log, and its burst. Terraform's output for an
// apply with some thousand resources in one second stays below it; the output of a
// script in a loop does not.
const (
	rateLines = 1000 // per second
	rateBytes = 1 << 20
	// burstSeconds is the burst, in seconds of the sustained rate, that a quiet log may use.
	burstSeconds = 20
)

// rateLimiter is the rate limiter of a log. It drops lines in runs instead of here and there:
// after one dropped line it drops all lines until there is room for a second's worth again.
// The zero pace has its full burst. It is for one goroutine at a time.
type rateLimiter struct {
	last         time.Time
	lines, bytes float64 // the used part of the burst
	dropping     bool
	// dropped is the number of lines that were dropped since the last gap.
	dropped      int
	droppedBytes int64
}

// allow reports whether a line of size bytes may be logged now.
func (l *rateLimiter) allow(now time.Time, size int) bool {
	// A clock that was set back neither adds nor takes room.
	passed := max(0, now.Sub(l.last).Seconds())
	l.last = now
	l.lines = max(0, l.lines-passed*rateLines)
	l.bytes = max(0, l.bytes-passed*rateBytes)
	room := float64(burstSeconds)
	if l.dropping {
		room--
	}
	if l.lines+1 > room*rateLines || l.bytes+float64(size) > room*rateBytes {
		l.dropping = true
		l.dropped++
		l.droppedBytes += int64(size)
		return false
	}
	l.dropping = false
	l.lines, l.bytes = l.lines+1, l.bytes+float64(size)
	return true
}

// droppedMark is logged where lines start to be dropped, so that the log has it even if
// the process is killed before the next line.
var droppedMark = fmt.Sprintf("lines are dropped from here on: the job logs more than %d lines or %d KiB a second",
	rateLines, rateBytes>>10)

// droppedSummary returns the message to log where lines are logged again. It is empty when none were
// dropped since the last call.
func (l *rateLimiter) droppedSummary() string {
	if l.dropped == 0 {
		return ""
	}
	mark := fmt.Sprintf("%d lines (%d KiB) were dropped here", l.dropped, (l.droppedBytes+1023)>>10)
	l.dropped, l.droppedBytes = 0, 0
	return mark
}
