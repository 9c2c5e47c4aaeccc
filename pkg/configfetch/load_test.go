package configfetch

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestOnlyAFewAtOnce(t *testing.T) {
	var now, most atomic.Int64
	arrived, leave := make(chan struct{}, 100), make(chan struct{})
	at, fetcher := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		arrived <- struct{}{}
		<-leave
		fmt.Fprint(w, "x")
	})
	read := fetcher.Load(t.Context())
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			if _, err := read(fmt.Sprintf("%s/%d", at, i), limit); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxConcurrent {
		<-arrived
	}
	select {
	case <-arrived:
		t.Error("one more is read at the same time")
	case <-time.After(100 * time.Millisecond): //walltime: nothing says that nothing comes
	}
	close(leave)
	wait.Wait()
	if most.Load() != maxConcurrent {
		t.Errorf("%d were read at once", most.Load())
	}
}

func TestALoadEnds(t *testing.T) {
	t.Run("in number", func(t *testing.T) {
		var asked atomic.Int64
		at, fetcher := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
		read := fetcher.Load(t.Context())
		for i := range maxReferences + 100 {
			_, err := read(fmt.Sprintf("%s/%d", at, i), limit)
			if i >= maxReferences {
				refused(t, err, "more than 500 references")
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if asked.Load() != maxReferences {
			t.Errorf("the server was asked %d times", asked.Load())
		}
	})
	t.Run("in bytes", func(t *testing.T) {
		at, fetcher := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("a", limit))
		})
		l := &load{fetcher: fetcher, end: time.Now().Add(time.Hour), budget: newBudget(2*limit + 100),
			slots: make(chan struct{}, 1)}
		for range 2 {
			if _, err := l.fetch(t.Context(), at+"/x", limit); err != nil {
				t.Fatal(err)
			}
		}
		_, err := l.fetch(t.Context(), at+"/x", limit)
		refused(t, err, "more is sent than may be read")
	})
	t.Run("in time", func(t *testing.T) {
		at, fetcher := serve(t, func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
		l := &load{fetcher: fetcher, end: time.Now().Add(100 * time.Millisecond), budget: newBudget(limit),
			slots: make(chan struct{}, 1)}
		for range 400 {
			_, err := l.fetch(t.Context(), at+"/x", limit)
			refused(t, err, "together took more than")
			passes(t, err)
		}
	})
}

func TestLocalFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file://" + filepath.Join(dir, name)
	}
	good := write("a", "text")
	if data, err := Local().Fetch(t.Context(), good, limit); err != nil || string(data) != "text" {
		t.Fatalf("got %q, %v", data, err)
	}
	_, err := New(Options{}).Fetch(t.Context(), good, limit)
	refused(t, err, "only read where the config lies")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for reference, words := range map[string]string{
		write("large", strings.Repeat("a", limit+1)): "larger than", write("binary", "\xff"): "not UTF-8",
		"file://" + dir: "not a regular file", "file://" + dir + "/pipe": "not a regular file",
		"file:///dev/zero": "not a regular file", "file://" + dir + "/none": "does not exist",
	} {
		_, err := Local().Fetch(t.Context(), reference, limit)
		refused(t, err, words)
	}
}
