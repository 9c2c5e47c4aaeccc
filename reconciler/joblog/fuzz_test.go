package joblog

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// FuzzLogBatch checks that any batch from a runner is refused, or stored as lines that are within
// the limits, come back as they were stored, and form one event for a client.
func FuzzLogBatch(f *testing.F) {
	f.Add([]byte(`{"chunks":[{"seq":1,"lines":[{"t":"2026-01-01T00:00:00Z","l":"info","m":"one"},{"t":"2026-01-01T00:00:00.123456789+02:00","l":"loud","m":"<a href=\"x\">\u0000\n\u2028\ud800"}]}]}`))
	f.Add([]byte(`{"chunks":[{"seq":0,"lines":null},{"seq":9223372036854775807,"lines":[]},{"seq":0,"lines":[{}]}]}`))
	f.Add([]byte(`{"chunks":[{"seq":-1,"lines":[{"m":"x"}]}]}`))
	f.Add([]byte(`{"chunks":[{"seq":3,"lines":[{"t":"0000-01-01T00:00:00+23:59","l":"error","m":"` +
		strings.Repeat("ä", MaxMessageBytes) + `"}]}]}`))
	s := &Service{}
	f.Fuzz(func(t *testing.T, body []byte) {
		var batch api.LogBatch
		if json.Unmarshal(body, &batch) != nil {
			return
		}
		rows, err := s.encodeChunks(batch.Chunks)
		if err != nil {
			return
		}
		for i, row := range rows {
			text, err := unpack(row.compressed)
			if err != nil || int64(len(text))+chunkCost != row.size || len(text) > MaxChunkBytes {
				t.Fatalf("chunk %d: %d bytes as %d, %v", row.seq, len(text), row.size, err)
			}
			if slices.Contains(text, '\n') || !utf8.Valid(text) {
				t.Fatalf("chunk %d is not the line of an event: %q", row.seq, text)
			}
			var lines []api.LogLine
			if err := json.Unmarshal(text, &lines); err != nil {
				t.Fatalf("chunk %d: %v\n%s", row.seq, err, text)
			}
			if len(lines) != len(batch.Chunks[i].Lines) {
				t.Fatalf("%d lines became %d", len(batch.Chunks[i].Lines), len(lines))
			}
			for j, line := range lines {
				came := sanitizeLine(batch.Chunks[i].Lines[j])
				if line.M != came.M || line.L != came.L || !line.T.Equal(came.T) || strings.Contains(line.M, "\x00") ||
					len(line.M) > MaxMessageBytes+60 {
					t.Fatalf("line %+v became %+v", came, line)
				}
			}
		}
	})
}

// FuzzLines compares the encoder of lines with encoding/json.
func FuzzLines(f *testing.F) {
	f.Add("plain", int64(0))
	f.Add("\x00\x1f\x7f\u2028\"\\/<>&é\xff", int64(1767225600123456789))
	f.Fuzz(func(t *testing.T, message string, nanos int64) {
		lines := []api.LogLine{
			{T: time.Unix(0, nanos), L: api.Info, M: message}, {T: time.Unix(nanos%1e9, 0), L: api.Error, M: "second"},
		}
		mine, err := appendLines(nil, lines)
		if err != nil {
			t.Skip("a year that JSON has no word for")
		}
		theirs, err := json.Marshal(lines)
		if err != nil {
			t.Fatal(err)
		}
		var a, b []api.LogLine
		if err := json.Unmarshal(mine, &a); err != nil {
			t.Fatalf("%s: %v", mine, err)
		}
		if err := json.Unmarshal(theirs, &b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, a); diff != "" {
			t.Fatalf("(-encoding/json +ours)\n%s", diff)
		}
	})
}

// FuzzEventID checks that any event id parses to a position in the log or to its beginning, and
// that the ids that we issue parse to what they were made from.
func FuzzEventID(f *testing.F) {
	for _, id := range []string{
		"", "1/0", " 2/17 ", "1/2/3", "-1/-1", "+1/+2", "99999999999/1", "1/9223372036854775807",
		"1/9223372036854775808", "1\n/2", "\x00",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		at := parsePosition(id)
		if again := parsePosition(eventID(at.attempt, at.seq)); again != at {
			t.Fatalf("%q is %+v, which is %+v", id, at, again)
		}
	})
}
