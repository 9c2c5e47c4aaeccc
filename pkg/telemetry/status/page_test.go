package status

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestFormsOfThePage checks which clients get HTML and which get JSON, and the headers that keep a browser from
// running or storing what is on the page.
func TestFormsOfThePage(t *testing.T) {
	handler := NewBoard().Handler("runnerd", "v1", nil)
	for request, html := range map[string]bool{
		"/|text/html": true, "/|application/xhtml+xml, text/html;q=0.9": true, "/?format=html|text/html": true,
		"/?format=json|text/html": false, "/|": false, "/|application/json": false, "/?format=html|*/*": false,
	} {
		target, accept, _ := strings.Cut(request, "|")
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		want := "application/json"
		if html {
			want = "text/html; charset=utf-8"
		}
		if got := w.Header().Get("Content-Type"); got != want || w.Header().Get("Cache-Control") != "no-store" ||
			w.Header().Get("X-Content-Type-Options") != "nosniff" ||
			html != strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") ||
			strings.HasPrefix(w.Body.String(), "{") == html {
			t.Errorf("%s: %v\n%s", request, w.Header(), w.Body)
		}
	}
}

// TestFailingWork checks what the page shows of work that fails, and when that cannot be read.
func TestFailingWork(t *testing.T) {
	body := func(failing func(context.Context) ([]Failure, error), accept string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		NewBoard().Handler("reconciler", "v<1>", failing).ServeHTTP(w, r)
		return w.Body.String()
	}
	some := func(context.Context) ([]Failure, error) {
		return []Failure{{What: "sync of <app>", Tries: 12, Error: "no & such"}}, nil
	}
	broken := func(context.Context) ([]Failure, error) {
		return []Failure{{What: "half"}}, errors.New("the database is gone")
	}
	none := func(context.Context) ([]Failure, error) { return nil, nil }
	if page := body(some, "text/html"); !strings.Contains(page, "<td>sync of &lt;app&gt;<td>12<td>no &amp; such</tr>") ||
		!strings.Contains(page, "<h1>reconciler v&lt;1&gt;</h1>") {
		t.Errorf("the page is\n%s", page)
	}
	if page := body(broken, "text/html"); !strings.Contains(page,
		"<td>reading what fails<td>0<td>the database is gone</tr>") ||
		strings.Contains(page, "half") {
		t.Errorf("the page is\n%s", page)
	}
	if page := body(none, "text/html"); strings.Contains(page, "Tried again") {
		t.Errorf("the page is\n%s", page)
	}
	if text := body(none, ""); strings.Contains(text, "failing") || !strings.Contains(text, `"tasks": []`) {
		t.Errorf("the JSON is\n%s", text)
	}
}

// TestTimesOfTasks checks since when a task does what it does, and how long an error is shown.
func TestTimesOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := NewBoard()
		start := time.Now()
		late := Register(board.WithBoard(t.Context()), "sweep")
		time.Sleep(time.Second)
		early := Register(board.WithBoard(t.Context()), "sweep")
		time.Sleep(time.Second)
		late.SetWorking("taking objects")
		late.ReportResult(errors.New("no route"))
		time.Sleep(time.Second)
		late.SetWaiting("for the next sweep")
		tasks := board.Tasks()
		if len(tasks) != 2 || tasks[0].What != "starting" || !tasks[0].Since.Equal(start.Add(time.Second)) ||
			!tasks[1].Since.Equal(start.Add(3*time.Second)) || tasks[1].Error != "no route" ||
			!tasks[1].ErrorAt.Equal(start.Add(2*time.Second)) {
			t.Errorf("the board is %+v", tasks)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		handler := board.Handler("runnerd", "v1", nil)
		time.Sleep(1500 * time.Millisecond)
		handler.ServeHTTP(w, r)
		for _, want := range []string{"up for 1.5s", "<td>starting<td>3.5s<td class=bad></tr>",
			"<td>waits for the next sweep<td>1.5s<td class=bad>no route (2.5s ago)</tr>"} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("the page lacks %s:\n%s", want, w.Body)
			}
		}
		late.ReportResult(nil)
		if tasks := board.Tasks(); tasks[1].Error != "" || !tasks[1].ErrorAt.IsZero() || !tasks[1].Waiting {
			t.Errorf("after a success: %+v", tasks[1])
		}
		early.Unregister()
		early.Unregister()
		if tasks := board.Tasks(); len(tasks) != 1 {
			t.Errorf("after the end of one: %+v", tasks)
		}
	})
}

// TestServeErrors checks that an address in use is reported, and that the address is free again after stop.
func TestServeErrors(t *testing.T) {
	page := NewBoard().Handler("runnerd", "v1", nil)
	at, stop, err := Serve(t.Context(), "127.0.0.1:0", page)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Serve(t.Context(), at, page); err == nil || !strings.HasPrefix(err.Error(), "listen for status: ") {
		t.Errorf("an address in use: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	_, again, err := Serve(t.Context(), at, page)
	if err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}
