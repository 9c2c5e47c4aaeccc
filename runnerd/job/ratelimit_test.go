package job

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// TestPace checks that a log never gets more lines than its rate limit, that every line
// is logged or counted, and that a log at half of the limit loses none.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p rateLimiter
		begun := time.Unix(1000, 0)
		now, kept, counted, offered := begun, 0, 0, 0
		bytes := 0
		for range rapid.IntRange(1, 30).Draw(t, "bursts") {
			now = now.Add(time.Duration(rapid.IntRange(-100, 4000).Draw(t, "pause")) * time.Millisecond)
			size := rapid.IntRange(0, 9000).Draw(t, "size")
			for range rapid.IntRange(1, 9000).Draw(t, "lines") {
				offered++
				if p.allow(now, size) {
					kept, bytes = kept+1, bytes+size
					counted += countOf(t, p.droppedSummary())
				}
			}
		}
		counted += countOf(t, p.droppedSummary())
		if kept+counted != offered {
			t.Fatalf("%d lines: %d kept and %d counted", offered, kept, counted)
		}
		// Time that the clock was set back may have counted twice.
		seconds := burstSeconds + now.Sub(begun).Seconds() + 30*0.1
		if float64(kept) > seconds*rateLines || float64(bytes) > seconds*rateBytes {
			t.Fatalf("%d lines and %d bytes kept in %.1f s", kept, bytes, seconds)
		}
	})
}

func countOf(t *rapid.T, mark string) int {
	if mark == "" {
		return 0
	}
	n := 0
	if _, err := fmt.Sscanf(mark, "%d lines", &n); err != nil || n == 0 {
		t.Fatalf("the mark is %q", mark)
	}
	return n
}

func TestASteadyLogLosesNothing(t *testing.T) {
	var p rateLimiter
	for i := range 100_000 {
		if !p.allow(time.Unix(0, int64(i)*int64(time.Second)/(rateLines-1)), 500) {
			t.Fatalf("line %d was dropped", i)
		}
	}
}

// TestALogThatIsTooFast checks that there is one message where lines start to be dropped,
// and one with their number where they are logged again. Warnings and errors are always logged.
func TestALogThatIsTooFast(t *testing.T) {
	var out bytes.Buffer
	log := NewLog(&out, &redact.Set{})
	now := time.Unix(1000, 0)
	log.now = func() time.Time { return now }
	const most = rateLines * burstSeconds
	for i := range most + 5 {
		log.Info("line %d", i)
	}
	log.Error("it is broken")
	log.Debug("dropped as well")
	now = now.Add(500 * time.Millisecond)
	log.Info("too early")
	now = now.Add(time.Second)
	log.Info("again")
	for range 2 * most {
		log.Info("and again")
	}
	log.Close()
	log.Close()
	lines := linesOf(t, &out)
	want := []string{fmt.Sprint("info line ", most-1), "warn " + droppedMark, "error it is broken",
		"warn 7 lines (1 KiB) were dropped here", "info again"}
	if got := lines[most-1 : most+4]; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("around the gap:\n%s", strings.Join(got, "\n"))
	}
	last := lines[len(lines)-1]
	if kept := len(lines) - most - 6; last != fmt.Sprintf("warn %d lines (%d KiB) were dropped here", 2*most-kept,
		(9*(2*most-kept)+1023)/1024) {
		t.Errorf("of %d lines %d were kept, and the last is %q", 2*most, kept, last)
	}
}
