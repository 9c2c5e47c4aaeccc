package runnerlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// plane accepts each chunk once, as the control plane does.
type plane struct {
	mutex sync.Mutex
	fails func() error // before a chunk is accepted; nil for never
	after func() error // after it was accepted, so that the response is lost
	taken map[int64][]api.LogLine
	calls int
}

func (p *plane) send(_ context.Context, c api.NewLogChunk) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.calls++
	if p.fails != nil {
		if err := p.fails(); err != nil {
			return err
		}
	}
	if p.taken == nil {
		p.taken = map[int64][]api.LogLine{}
	}
	if _, again := p.taken[c.Seq]; !again {
		p.taken[c.Seq] = slices.Clone(c.Lines)
	}
	if p.after != nil {
		return p.after()
	}
	return nil
}

// lines returns all accepted lines, in the order of the chunks' numbers.
func (p *plane) lines() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var seqs []int64
	for seq := range p.taken {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	var lines []string
	for _, seq := range seqs {
		for _, l := range p.taken[seq] {
			lines = append(lines, string(l.L)+" "+l.M)
		}
	}
	return lines
}

// run runs a journal against the plane until stop is called.
func run(t *testing.T, j *Collector, p *plane, dir string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.Run(ctx, Options{Dir: dir, Send: p.send, Timing: timing.Default()})
	}()
	return func() {
		cancel()
		<-ended
	}
}

func nothingWaits(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != nextName {
		t.Errorf("%v are left, %v", left, err)
	}
}

var away = errors.New("no answer")

func TestWhatIsTakenDown(t *testing.T) {
	secrets := &redact.Set{}
	secrets.Add([]byte("planted-secret"))
	begun, j := time.Now(), New(secrets)
	var below strings.Builder
	log := j.Tee(slog.New(slog.NewTextHandler(&below, &slog.HandlerOptions{Level: slog.LevelWarn})))
	log.Info("started", "kind", "install", "time", "mine")
	log.With("runner", "run_1").WithGroup("g").Warn("a b", "c", "d e", "key", "planted-secret")
	log.Error("bad\nplanted-secret\x00", "error", errors.New("x: \"y\""))
	log.Debug("not this")
	late := "planted-later"
	secrets.Add([]byte(late))
	log.Info("the new key is " + late)
	log.Info(strings.Repeat("é", maxLine))
	var got []string
	for _, l := range j.drain() {
		if l.T.Location() != time.UTC || l.T.Before(begun.Add(-time.Second)) || l.T.After(time.Now()) {
			t.Errorf("at %s", l.T)
		}
		got = append(got, string(l.L)+" "+l.M)
	}
	want := []string{
		"info started kind=install", `warn a b runner=run_1 g.c="d e" g.key=` + redact.Mask,
		`error bad ` + redact.Mask + "\uFFFD error=\"x: \\\"y\\\"\"",
		"info the new key is " + redact.Mask, "info " + strings.Repeat("é", maxLine/2) + "… (8192 more bytes were cut)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if said := below.String(); strings.Count(said, "\n") != 2 || !strings.Contains(said, `runner=run_1 g.c="d e"`) {
		t.Errorf("below came %s", said)
	}
}

// TestAFloodIsCut checks that the logging code is not delayed, that the flood is marked,
// and that the log continues after it.
func TestAFloodIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, p := New(&redact.Set{}), &plane{}
		log := j.Tee(slog.New(slog.NewTextHandler(io.Discard, nil)))
		for n := range 5000 {
			log.Info(fmt.Sprint(n))
		}
		time.Sleep(2 * time.Second) // the time of the synctest bubble
		log.Info("after")
		defer run(t, j, p, t.TempDir())()
		time.Sleep(10 * time.Second)
		got := p.lines()
		if len(got) != lineBurst+2 || got[lineBurst-1] != "info 499" ||
			!strings.HasPrefix(got[lineBurst], "warn 4500 lines of this log were dropped here") ||
			got[lineBurst+1] != "info after" {
			t.Errorf("%d lines, at the end %q", len(got), got[max(0, len(got)-3):])
		}
	})
}

// TestAwayForLong checks that pending lines are bounded in memory and on disk, and that
// dropped lines are marked.
func TestAwayForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, p, dir := New(&redact.Set{}), &plane{fails: func() error { return away }}, t.TempDir()
		log := j.Tee(slog.New(slog.NewTextHandler(io.Discard, nil)))
		stop := run(t, j, p, dir)
		text := strings.Repeat("x", 4000)
		for n := range 1000 {
			log.Info(fmt.Sprint(n, " ", text))
			time.Sleep(time.Second)
		}
		size := int64(0)
		files, err := os.ReadDir(dir)
		if err != nil || len(files) > maxChunks+1 {
			t.Errorf("%d files, %v", len(files), err)
		}
		for _, file := range files {
			if info, err := file.Info(); err == nil {
				size += info.Size()
			}
		}
		if size > maxChunks*(maxChunk+8<<10) || p.calls > 1000/10 {
			t.Errorf("%d bytes, %d tries", size, p.calls)
		}
		p.mutex.Lock()
		p.fails = nil
		p.mutex.Unlock()
		time.Sleep(time.Minute)
		stop()
		got := p.lines()
		if len(got) < 300 || !strings.HasPrefix(got[len(got)-1], "info 999 ") ||
			!strings.Contains(strings.Join(got[:20], ""), "were dropped here") {
			t.Errorf("%d lines from %.60q to %.60q", len(got), got[0], got[len(got)-1])
		}
		nothingWaits(t, dir)
	})
}

// TestTheNextStartGoesOn checks that the next run sends what was not sent, and ignores
// files of other programs.
func TestTheNextStartGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := &plane{fails: func() error { return away }}
		j := New(&redact.Set{})
		stop := run(t, j, p, dir)
		j.add(time.Now(), api.Info, "one")
		time.Sleep(time.Minute)
		j.add(time.Now(), api.Warn, "two") // at the moment of the stop
		stop()
		for name, content := range map[string]string{"nonsense": "x", nameOf(7): "{",
			nameOf(8): `{"seq":9,"lines":[{"m":"x"}]}`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p.fails = nil
		j = New(&redact.Set{})
		stop = run(t, j, p, dir)
		j.add(time.Now(), api.Info, "three")
		time.Sleep(time.Minute)
		stop()
		if diff := cmp.Diff([]string{"info one", "warn two", "info three"}, p.lines()); diff != "" {
			t.Error(diff)
		}
		nothingWaits(t, dir)
	})
}

// TestRefused checks that a permanently rejected chunk does not block the next ones,
// and that one that is rejected because of the key is sent again.
func TestRefused(t *testing.T) {
	for status, kept := range map[int]bool{http.StatusBadRequest: false, http.StatusNotFound: false,
		http.StatusUnauthorized: true, http.StatusServiceUnavailable: true} {
		synctest.Test(t, func(t *testing.T) {
			refuse := true
			p := &plane{}
			p.fails = func() error {
				if refuse {
					return &apiclient.ResponseError{Status: status}
				}
				return nil
			}
			j := New(&redact.Set{})
			stop := run(t, j, p, t.TempDir())
			j.add(time.Now(), api.Info, "one")
			time.Sleep(time.Minute)
			p.mutex.Lock()
			refuse = false
			p.mutex.Unlock()
			j.add(time.Now(), api.Info, "two")
			time.Sleep(time.Minute)
			stop()
			want := []string{"info two"}
			if kept {
				want = []string{"info one", "info two"}
			}
			if diff := cmp.Diff(want, p.lines()); diff != "" {
				t.Errorf("%d: %s", status, diff)
			}
		})
	}
}

// TestEveryLineOnce checks that all lines arrive once and in order, with calls that fail before
// or after they took effect, and with restarts.
func TestEveryLineOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		moves := rapid.SliceOfN(rapid.SampledFrom([]string{"say", "say", "wait", "lose", "fail", "heal", "restart"}),
			1, 30).Draw(rt, "moves")
		var want []string
		p := &plane{}
		synctest.Test(t, func(t *testing.T) {
			j := New(&redact.Set{})
			stop := run(t, j, p, dir)
			for n, move := range moves {
				p.mutex.Lock()
				switch move {
				case "lose":
					p.fails, p.after = nil, func() error { return away }
				case "fail":
					p.fails, p.after = func() error { return away }, nil
				case "heal":
					p.fails, p.after = nil, nil
				}
				p.mutex.Unlock()
				switch move {
				case "say":
					j.add(time.Now(), api.Info, fmt.Sprint(n))
					want = append(want, "info "+fmt.Sprint(n))
				case "wait":
					time.Sleep(10 * time.Second)
				case "restart":
					stop()
					j = New(&redact.Set{})
					stop = run(t, j, p, dir)
				}
			}
			p.mutex.Lock()
			p.fails, p.after = nil, nil
			p.mutex.Unlock()
			time.Sleep(time.Minute)
			stop()
		})
		if diff := cmp.Diff(want, p.lines()); diff != "" {
			rt.Fatalf("%v: %s", moves, diff)
		}
	})
}
