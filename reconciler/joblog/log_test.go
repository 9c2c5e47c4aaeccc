package joblog_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/reconciler/joblog"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func chunk(seq int64, messages ...string) api.NewLogChunk {
	c := api.NewLogChunk{Seq: seq, Lines: []api.LogLine{}}
	for _, m := range messages {
		c.Lines = append(c.Lines, api.LogLine{T: at, L: api.Info, M: m})
	}
	return c
}

func running(t *testing.T) (*jobstest.World, jobstest.Runner, api.AttemptRef) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	w.Job(t, runner, "build", "")
	ref, _ := w.Start(t, runner)
	return w, runner, ref
}

func TestLogsAreKeptOnceAndInOrder(t *testing.T) {
	w, runner, ref := running(t)
	add := func(chunks ...api.NewLogChunk) {
		t.Helper()
		must(t, w.Logs.Append(t.Context(), runner.Caller, ref, chunks))
	}
	add(chunk(0, "one", "two"))
	add(chunk(0, "one", "two"), chunk(1, "three"))
	add(chunk(1, "forged afterwards"), chunk(2), chunk(2, "twice in a batch"))
	add()
	odd := chunk(3, "NUL\x00", strings.Repeat("x", joblog.MaxMessageBytes+5))
	odd.Lines[0].L = "loud"
	add(odd)
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Failed))
	add(chunk(4, "late")) // the end of a log may arrive after the result
	got, err := readLog(t, w, w.Org.ID, ref.Job)
	must(t, err)
	var lines []string
	for i, c := range got {
		if c.Attempt != 1 || c.Seq != int64(i) {
			t.Errorf("chunk %d is %d/%d", i, c.Attempt, c.Seq)
		}
		for _, l := range c.Lines {
			lines = append(lines, l.M)
			if l.L != api.Info || !l.T.Equal(at) {
				t.Errorf("line %+v", l)
			}
		}
	}
	want := []string{
		"one", "two", "three", "NUL\uFFFD",
		strings.Repeat("x", joblog.MaxMessageBytes) + "… (5 more bytes were cut)", "late",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	for name, chunks := range map[string][]api.NewLogChunk{
		"a negative number": {chunk(-1, "x")},
		"too much at once":  make([]api.NewLogChunk, 1001),
		"a large chunk":     {chunk(9, strings.Split(strings.Repeat(strings.Repeat("y", 10_000)+"\n", 30), "\n")...)},
	} {
		if err := w.Logs.Append(t.Context(), runner.Caller, ref, chunks); err == nil {
			t.Errorf("%s was kept", name)
		}
	}
	_, err = readLog(t, w, w.Org.ID, "job_none")
	wantIs(t, err, jobs.ErrNotFound)
	_, err = readLog(t, w, w.AddOrg(t).ID, ref.Job)
	wantIs(t, err, jobs.ErrNotFound)
}

func TestAnAttemptThatNeverBeganHasNoLog(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindBuild)
	w.Job(t, runner, "build", "")
	ref := w.Offer(t, runner)
	wantIs(t, w.Logs.Append(t.Context(), runner.Caller, ref, []api.NewLogChunk{chunk(0, "x")}),
		jobs.ErrNotRunning)
}

func TestALogHasAnEndThatIsSeen(t *testing.T) {
	w, runner, ref := running(t)
	w.Exec(t, "update attempts set log_bytes = $1", joblog.MaxLogBytes-500)
	big := strings.Repeat("z", 600)
	for range 2 {
		must(t,
			w.Logs.Append(t.Context(), runner.Caller, ref, []api.NewLogChunk{
				chunk(0, "fits"), chunk(1, big), chunk(2, "dropped"),
			}))
		must(t, w.Logs.Append(t.Context(), runner.Caller, ref, []api.NewLogChunk{chunk(3, "dropped")}))
	}
	got, err := readLog(t, w, w.Org.ID, ref.Job)
	must(t, err)
	if len(got) != 2 || got[0].Lines[0].M != "fits" || got[1].Lines[0].L != api.Warn ||
		!strings.Contains(got[1].Lines[0].M, "longer than 32 MiB") {
		t.Errorf("kept %+v", got)
	}
}

// event is one server-sent event.
type event struct{ id, kind, data string }

// follow reads events until the stream ends, or until it has n events.
func follow(t *testing.T, url, lastEventID string, n int) []event {
	t.Helper()
	request, err := http.NewRequestWithContext(testtime.Context(t), http.MethodGet, url, nil)
	must(t, err)
	request.Header.Set("Last-Event-ID", lastEventID)
	answer, err := http.DefaultClient.Do(request)
	must(t, err)
	defer answer.Body.Close() //nolint:errcheck // it was only read
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("answered %s with %s", answer.Status, kind)
	}
	var events []event
	var now event
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			now.id = value
		case "event":
			now.kind = value
		case "data":
			now.data = value
		case "":
			if now != (event{}) {
				events, now = append(events, now), event{}
			}
		}
		if len(events) == n {
			break
		}
	}
	return events
}

// serveLogs serves Stream; each path is a job id.
func serveLogs(t *testing.T, w *jobstest.World) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if err := w.Logs.Stream(
			r.Context(), rw, w.Org.ID, strings.Trim(r.URL.Path, "/"), r.Header.Get("Last-Event-ID"),
		); err != nil {
			http.Error(rw, err.Error(), http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestAFollowerSeesEverythingOnceAndTheEnd(t *testing.T) {
	w, runner, ref := running(t)
	server := serveLogs(t, w)
	const chunks = 100 // several pages
	add := func(seq int64) {
		must(t,
			w.Logs.Append(t.Context(), runner.Caller, ref,
				[]api.NewLogChunk{chunk(seq, fmt.Sprint("line ", seq))}))
	}
	for seq := range int64(chunks / 2) {
		add(seq)
	}
	// A client reconnects where it was: nothing twice, nothing missed.
	first := follow(t, server.URL+"/"+ref.Job, "", 20)
	rest := make(chan []event, 1)
	go func() { rest <- follow(t, server.URL+"/"+ref.Job, first[len(first)-1].id, -1) }()
	for seq := int64(chunks / 2); seq < chunks; seq++ {
		add(seq)
	}
	must(t, w.Jobs.Result(t.Context(), runner.Caller, ref, jobstest.Failed))
	all := append(first, <-rest...)
	if len(all) != chunks+1 {
		t.Fatalf("followed %d events, want %d", len(all), chunks+1)
	}
	for i, e := range all[:chunks] {
		var got api.LogChunk
		must(t, json.Unmarshal([]byte(e.data), &got))
		if e.kind != "log" || e.id != fmt.Sprintf("1/%d", i) || got.Seq != int64(i) ||
			got.Lines[0].M != fmt.Sprint("line ", i) {
			t.Fatalf("event %d is %+v", i, e)
		}
	}
	var job api.Job
	must(t, json.Unmarshal([]byte(all[chunks].data), &job))
	if all[chunks].kind != "end" || job.Status != api.JobStatusFailed || job.Error != "exit 1" {
		t.Errorf("last came %+v", all[chunks])
	}
	// After the end the whole log is still available, and the stream ends at once. An invalid id
	// starts from the beginning.
	if again := follow(t, server.URL+"/"+ref.Job, "nonsense", -1); len(again) != chunks+1 {
		t.Errorf("again %d events", len(again))
	}
}

func TestFollowingNoJobIsAnErrorBeforeTheStream(t *testing.T) {
	w := jobstest.New(t)
	answer, err := http.Get(serveLogs(t, w).URL + "/job_none")
	must(t, err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNotFound {
		t.Errorf("answered %s", answer.Status)
	}
}

// A chunk without lines still costs a row, so a log of empty chunks fills up, too.
func TestEmptyChunksFillALog(t *testing.T) {
	w := jobstest.New(t)
	runner := w.Runner(t, runners.KindInstall)
	w.Job(t, runner, "plan", "")
	ref, _ := w.Start(t, runner)
	w.Exec(t, "update attempts set log_bytes = $1", joblog.MaxLogBytes-1000)
	for batch := range int64(3) {
		var chunks []api.NewLogChunk
		for n := range int64(50) {
			chunks = append(chunks, api.NewLogChunk{Seq: 50*batch + n})
		}
		must(t, w.Logs.Append(t.Context(), runner.Caller, ref, chunks))
	}
	if got := w.Text(t, "select count(*)::text from log_chunks"); got != "8" {
		t.Errorf("%s chunks are stored of a log that had room for 1000 bytes", got)
	}
	chunks := make([]api.NewLogChunk, 0, 500)
	for n := range int64(500) {
		chunks = append(chunks, api.NewLogChunk{Seq: n})
	}
	must(t, w.Logs.AppendRunnerLog(t.Context(), runner.Caller, chunks))
	if got, want := w.Text(t, "select min(size)::text from runner_logs"), "130"; got != want {
		t.Errorf("an empty chunk of a runner's own log counts %s bytes, want %s", got, want)
	}
}
