package status

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"context"
)

func TestTasksSayWhatTheyDo(t *testing.T) {
	board := NewBoard()
	ctx := board.WithBoard(t.Context())
	sweep, bell := Register(ctx, "sweep"), Register(ctx, "bell")
	sweep.SetWaiting("for the next sweep")
	bell.SetWorking("connecting")
	bell.ReportResult(errors.New("no <route>"))
	tasks := board.Tasks()
	if len(tasks) != 2 || tasks[0].Name != "bell" || tasks[0].Waiting || tasks[0].Error != "no <route>" ||
		!tasks[1].Waiting || tasks[1].What != "for the next sweep" {
		t.Fatalf("the board is %+v", tasks)
	}
	if page := get(t, board, "text/html"); !strings.Contains(page, "no &lt;route&gt;") ||
		!strings.Contains(page, "waits for the next sweep") || !strings.Contains(page, "a &lt;job&gt;") {
		t.Errorf("the page is\n%s", page)
	}
	var page Page
	if err := json.Unmarshal([]byte(get(t, board, "*/*")), &page); err != nil || len(page.Tasks) != 2 ||
		page.Failing[0].Tries != 3 {
		t.Errorf("the JSON is %+v, %v", page, err)
	}
	bell.ReportResult(nil)
	sweep.Unregister()
	if tasks := board.Tasks(); len(tasks) != 1 || tasks[0].Error != "" {
		t.Errorf("the board is %+v", tasks)
	}
}

// TestWithoutABoard checks that a task without a board accepts every call and stores nothing, and
// that it does not appear on another board.
func TestWithoutABoard(t *testing.T) {
	other := NewBoard()
	kept := Register(other.WithBoard(t.Context()), "kept")
	task := Register(t.Context(), "alone")
	if task != nil {
		t.Errorf("a task without a board is %+v", task)
	}
	task.SetWaiting("for nothing")
	task.SetWorking("at nothing")
	task.ReportResult(errors.New("bad"))
	task.Unregister()
	if tasks := other.Tasks(); len(tasks) != 1 || tasks[0].Name != "kept" ||
		tasks[0].What != "starting" || tasks[0].Error != "" {
		t.Errorf("another board has %+v", tasks)
	}
	kept.Unregister()
}

func TestServe(t *testing.T) {
	at, stop, err := Serve(t.Context(), "127.0.0.1:0", NewBoard().Handler("runnerd", "1", nil))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get("http://" + at + "/") //nolint:noctx // of this test's own server
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%v %v", answer, err)
	}
	_ = answer.Body.Close()
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, board *Board, accept string) string {
	t.Helper()
	failing := func(context.Context) ([]Failure, error) { return []Failure{{What: "a <job>", Tries: 3}}, nil }
	r := httptest.NewRequest(http.MethodGet, "/debug/status", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	board.Handler("reconciler", "1", failing).ServeHTTP(w, r)
	return w.Body.String()
}
