package format

import (
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff/align"
)

// contextLines is the number of context lines around a change.
const contextLines = 3

// Unified returns the changes of a file as `diff -u` prints them, with control characters removed.
func Unified(name, before, after string) string {
	old, made := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", console.Line(name), console.Line(name))
	spans := align.Sequences(trimmed(old), trimmed(made))
	for from := 0; from < len(spans); {
		if spans[from].Same {
			from++
			continue
		}
		to := from + 1
		for to+1 < len(spans) && spans[to].AEnd-spans[to].A <= 2*contextLines {
			to += 2
		}
		hunk(&b, old, made, spans, from, to)
		from = to
	}
	return b.String()
}

// trimmed removes the empty element after a final newline.
func trimmed(lines []string) []string {
	if n := len(lines); n > 0 && lines[n-1] == "" {
		return lines[:n-1]
	}
	return lines
}

// hunk writes nearby changes: spans[from:to], which starts and ends with a change.
func hunk(b *strings.Builder, old, made []string, spans []align.Span, from, to int) {
	first, last := spans[from], spans[to-1]
	before, behind := 0, 0
	if from > 0 {
		before = min(contextLines, spans[from-1].AEnd-spans[from-1].A)
	}
	if to < len(spans) {
		behind = min(contextLines, spans[to].AEnd-spans[to].A)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@\n", where(first.A-before, last.AEnd+behind), where(first.B-before, last.BEnd+behind))
	lines(b, ' ', old[first.A-before:first.A])
	for _, s := range spans[from:to] {
		if s.Same {
			lines(b, ' ', old[s.A:s.AEnd])
			continue
		}
		lines(b, '-', old[s.A:s.AEnd])
		lines(b, '+', made[s.B:s.BEnd])
	}
	lines(b, ' ', old[last.AEnd:last.AEnd+behind])
}

// where returns "line,count" of a range; an empty range has the number of the line before it.
func where(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func lines(b *strings.Builder, mark byte, all []string) {
	for _, l := range all {
		text, ended := strings.CutSuffix(l, "\n")
		b.WriteByte(mark)
		b.WriteString(console.Line(strings.ReplaceAll(text, "\t", "    ")))
		b.WriteByte('\n')
		if !ended {
			b.WriteString("\\ No newline at end of file\n")
		}
	}
}
