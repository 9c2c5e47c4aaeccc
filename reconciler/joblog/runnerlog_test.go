package joblog_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

// said returns the lines of a log, each with the number of its chunk.
func said(chunks []api.LogChunk) []string {
	var lines []string
	for _, c := range chunks {
		for _, l := range c.Lines {
			lines = append(lines, fmt.Sprintf("%d %s", c.Seq, l.M))
		}
	}
	return lines
}

func runnerLog(t *testing.T, w *jobstest.World, runner jobstest.Runner) []string {
	t.Helper()
	chunks, err := w.Logs.ReadRunnerLog(t.Context(), runner.Org, runner.Runner)
	must(t, err)
	return said(chunks)
}

func TestARunnersOwnLogIsKeptOnceAndInOrder(t *testing.T) {
	w := jobstest.New(t)
	mine, other := w.Runner(t, runners.KindInstall), w.Runner(t, runners.KindInstall)
	add := func(chunks ...api.NewLogChunk) {
		t.Helper()
		must(t, w.Logs.AppendRunnerLog(t.Context(), mine.Caller, chunks))
	}
	add(chunk(12, "three"), chunk(10, "one", "two\x00"))
	add(chunk(10, "forged afterwards"), chunk(12, "three"), chunk(13, "four"), chunk(13, "twice in a batch"))
	add()
	if diff := cmp.Diff([]string{"10 one", "10 two\uFFFD", "12 three", "13 four"}, runnerLog(t, w, mine)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if got := runnerLog(t, w, other); len(got) > 0 {
		t.Errorf("another runner said %v", got)
	}
	if got, err := w.Logs.ReadRunnerLog(t.Context(), w.AddOrg(t).ID, mine.Runner); err != nil || len(got) > 0 {
		t.Errorf("another org sees %v, %v", got, err)
	}
	wantIs(t,
		w.Logs.AppendRunnerLog(t.Context(), mine.Caller, []api.NewLogChunk{chunk(-1, "x")}), refusal.ErrInvalid)
}

// TestTheNewestOfARunnersLogIsKept checks the limits by lines and by bytes.
func TestTheNewestOfARunnersLogIsKept(t *testing.T) {
	w := jobstest.New(t)
	for name, one := range map[string]struct {
		message string
		lines   int // of one chunk
		keeps   int // chunks
	}{
		"lines": {"x", 600, 9},                         // the ninth passes 5,000
		"bytes": {strings.Repeat("y", 10_000), 20, 21}, // the 21st passes 4 MiB
	} {
		t.Run(name, func(t *testing.T) {
			runner := w.Runner(t, runners.KindInstall)
			const sent = 30
			for seq := range int64(sent) {
				c := chunk(seq)
				for range one.lines {
					c.Lines = append(c.Lines, api.LogLine{T: at, L: api.Info, M: one.message})
				}
				must(t, w.Logs.AppendRunnerLog(t.Context(), runner.Caller, []api.NewLogChunk{c}))
			}
			chunks, err := w.Logs.ReadRunnerLog(t.Context(), runner.Org, runner.Runner)
			must(t, err)
			if len(chunks) != one.keeps || chunks[len(chunks)-1].Seq != sent-1 ||
				chunks[0].Seq != int64(sent-one.keeps) {
				t.Errorf("%d chunks are kept, from %d", len(chunks), chunks[0].Seq)
			}
		})
	}
}

// TestARunnersLogIsFollowed checks that a client gets all earlier and later lines once, also one
// that reconnects.
func TestARunnersLogIsFollowed(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_ = w.Logs.StreamRunnerLog(r.Context(), rw, runner.Org, runner.Runner, r.Header.Get("Last-Event-ID"))
	}))
	t.Cleanup(server.Close)
	const chunks = 600 // several pages
	add := func(seq int64) {
		must(t,
			w.Logs.AppendRunnerLog(t.Context(), runner.Caller,
				[]api.NewLogChunk{chunk(seq, fmt.Sprint("line ", seq))}))
	}
	var before []api.NewLogChunk
	for seq := range int64(chunks - 10) {
		before = append(before, chunk(seq, fmt.Sprint("line ", seq)))
	}
	must(t, w.Logs.AppendRunnerLog(t.Context(), runner.Caller, before))
	first := follow(t, server.URL, "", 3)
	rest := make(chan []event, 1)
	go func() { rest <- follow(t, server.URL, first[2].id, chunks-3) }()
	for seq := int64(chunks - 10); seq < chunks; seq++ {
		add(seq)
	}
	all := append(first, <-rest...)
	if len(all) != chunks {
		t.Fatalf("%d events came", len(all))
	}
	for i, e := range all {
		var c api.LogChunk
		must(t, json.Unmarshal([]byte(e.data), &c))
		if e.kind != "log" || e.id != fmt.Sprint(i) || c.Seq != int64(i) || c.Lines[0].M != fmt.Sprint("line ", i) {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
	if again := follow(t, server.URL, "nonsense", 1); again[0].id != "0" {
		t.Errorf("an id that is none gives %+v", again)
	}
}
