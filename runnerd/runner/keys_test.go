package runner_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testbuffer"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

type keysOnDisk struct {
	RunnerKey string    `json:"runner_key"`
	NextKey   string    `json:"next_key,omitempty"`
	KeySince  time.Time `json:"key_since"`
	RunnerID  string    `json:"runner_id"`
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
}

func keysIn(t *testing.T, dir string) (keys keysOnDisk) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "runner.json"))
	if err == nil {
		err = json.Unmarshal(content, &keys)
	}
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func putKeys(t *testing.T, dir string, keys keysOnDisk) {
	t.Helper()
	content, err := json.Marshal(keys)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "runner.json"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// registered returns a directory with a stopped runner in it.
func registered(t *testing.T, s *server) string {
	t.Helper()
	dir := t.TempDir()
	w := work(t, s, dir)
	s.until("it has asked for work", func() bool { return len(s.calls) > 2 })
	w.end(t)
	return dir
}

func TestAnOldKeyIsChanged(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func() func(*http.Request, bool) int{
		"on a good line": func() func(*http.Request, bool) int { return nil },
		// The response with the key is lost: the old key stays valid, and
		// another one is requested.
		"the first answer is lost": func() func(*http.Request, bool) int {
			var once sync.Once
			return func(r *http.Request, after bool) (status int) {
				if after && r.URL.Path == "/runner/v1/key" {
					once.Do(func() { status = noAnswer })
				}
				return status
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			dir := registered(t, s)
			keys := keysIn(t, dir)
			if keys.KeySince.IsZero() {
				t.Error("the age of the first key is not kept")
			}
			begun := time.Now().Add(-time.Hour) // long after the first key, and before the new one
			keys.KeySince = time.Now().Add(-48 * time.Hour)
			putKeys(t, dir, keys)
			s.setTrouble(trouble())
			work(t, s, dir, func(o *runner.Options) { o.Timing.KeyMaxAge = 12 * time.Second })
			s.until("the new key is in use", func() bool { return s.key != "key-of-the-runner" && s.nextKey == "" })
			testtime.Until(t, "only the new key is on disk", func() bool {
				keys := keysIn(t, dir)
				return keys.NextKey == "" && strings.HasPrefix(keys.RunnerKey, "key-") && keys.KeySince.After(begun)
			})
			job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
			s.until("it works with it", job.ended)
			if info, err := os.Stat(filepath.Join(dir, "runner.json")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("runner.json: %v %v", info.Mode(), err)
			}
		})
	}
}

// TestAKeyThatWasChangedHalfway checks the state that a runnerd leaves that is killed at each
// step of a key rotation.
func TestAKeyThatWasChangedHalfway(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ server, serverNext, disk, diskNext string }{
		"the new one was never used":             {"old", "new", "old", "new"},
		"it was used, and that was not noted":    {"new", "", "old", "new"},
		"the server has forgotten the new one":   {"old", "", "old", "new"},
		"the server gave another one since then": {"old", "newer", "old", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			dir := registered(t, s)
			keys := keysIn(t, dir)
			keys.RunnerKey, keys.NextKey = test.disk, test.diskNext
			putKeys(t, dir, keys)
			s.with(func() { s.key, s.nextKey = test.server, test.serverNext })
			job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
			work(t, s, dir)
			s.until("it works", job.ended)
			testtime.Until(t, "one key is left", func() bool { return keysIn(t, dir).NextKey == "" })
			var good string
			s.with(func() { good = s.key })
			if got := keysIn(t, dir).RunnerKey; got != good {
				t.Errorf("%q is on disk, %q is good", got, good)
			}
		})
	}
}

// TestAKeyThatWasChangedHalfwayUnderAJob checks that while the runner is at capacity and does
// not poll, the heartbeat alone finds out which key is valid.
func TestAKeyThatWasChangedHalfwayUnderAJob(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	one := func(o *runner.Options) { o.Capacity = 1 }
	job := s.enqueue("job_1", "wait and succeed", map[string]string{"file": "go"})
	w := work(t, s, dir, one)
	s.until("it runs", job.runs)
	w.end(t)
	keys := keysIn(t, dir)
	keys.NextKey = "never-known"
	putKeys(t, dir, keys)
	beats := 0
	s.with(func() { beats = job.beats })
	work(t, s, dir, one)
	s.until("the job's lease is kept", func() bool { return job.beats > beats })
	touch(t, dir, "go")
	s.until("the result is there", job.ended)
}

// TestAKeyOfTheFuture checks that a machine whose clock was ahead when it got its key
// still rotates it in time.
func TestAKeyOfTheFuture(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	dir := registered(t, s)
	keys := keysIn(t, dir)
	keys.KeySince = time.Now().Add(1000 * time.Hour)
	putKeys(t, dir, keys)
	work(t, s, dir, func(o *runner.Options) { o.Timing.KeyMaxAge = time.Second })
	s.until("the new key is in use", func() bool { return s.key != "key-of-the-runner" && s.nextKey == "" })
}

// TestAReplacedRunnerDelivers checks that a machine that was believed dead delivers everything
// with the attempts' own tokens.
func TestAReplacedRunnerDelivers(t *testing.T) {
	t.Parallel()
	s, dir, log := newServer(t), t.TempDir(), &testbuffer.Buffer{}
	job := s.enqueue("job_1", "states", map[string]string{"file": "go"})
	waiting := s.enqueue("job_2", "log", nil)
	s.with(func() { s.queue, job.spec.Action.InstallID = s.queue[:1], "ins_1" })
	work(t, s, dir, func(o *runner.Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
	s.until("it runs", job.runs)
	s.with(func() { s.key, s.queue = "", append(s.queue, waiting) })
	touch(t, dir, "go")
	s.until("the result is there", job.ended)
	spoolIsEmpty(t, dir)
	s.with(func() {
		if len(job.states) != 3 || job.result.Status != "succeeded" || job.locked {
			t.Errorf("%d states, %+v, locked %v", len(job.states), job.result, job.locked)
		}
		if waiting.accepted {
			t.Error("it took a job")
		}
	})
	for _, word := range []string{"install=ins_1", "job=job_1", "runner=run_1"} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the log does not contain %s", word)
		}
	}
	testtime.Until(t, "the log reports that the runner was replaced",
		func() bool { return strings.Contains(log.String(), "it was replaced") })
}

func TestRegisteringAgainInAUsedDirectory(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, prepare func(s *server)) (*server, string, *working) {
		s := newServer(t)
		dir := registered(t, s)
		s.with(func() { prepare(s) })
		return s, dir, work(t, s, dir)
	}
	t.Run("the same runner, replaced", func(t *testing.T) {
		t.Parallel()
		s, dir, _ := start(t, func(s *server) { s.key, s.token = "", "register-once"; s.newKey = "second-key" })
		key, err := seal.LoadIdentity(runner.KeyFile(dir))
		if err != nil {
			t.Fatal(err)
		}
		job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
		s.until("it works", job.ended)
		if s.recipient != key.Recipient().String() || keysIn(t, dir).RunnerKey != "second-key" {
			t.Error("registered with another install key, or the new runner key is not kept")
		}
	})
	t.Run("another runner", func(t *testing.T) {
		t.Parallel()
		_, dir, w := start(t, func(s *server) { s.key, s.token, s.runnerID = "", "register-once", "run_2" })
		err := <-w.ended
		w.ended = nil
		if err == nil || !strings.Contains(err.Error(), "belongs to the runner local (run_2)") {
			t.Errorf("got %v", err)
		}
		if got := keysIn(t, dir); got.RunnerID != "run_1" || got.RunnerKey != "key-of-the-runner" {
			t.Errorf("the directory is another runner's now: %+v", got)
		}
	})
	t.Run("a token that is not needed", func(t *testing.T) {
		t.Parallel()
		s, _, _ := start(t, func(s *server) { s.token = "register-once" })
		job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
		s.until("it works", job.ended)
		s.with(func() {
			if s.token == "" {
				t.Error("the token was used up")
			}
		})
	})
	t.Run("a token that is refused", func(t *testing.T) {
		t.Parallel()
		s := newServer(t)
		dir, log := registered(t, s), &testbuffer.Buffer{}
		s.with(func() { s.key = "" })
		work(t, s, dir, func(o *runner.Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
		testtime.Until(t, "the log reports what to do", func() bool {
			text := log.String()
			return strings.Contains(text, "cannot register again") && strings.Contains(text, "nuon runners replace")
		})
		s.with(func() { s.key = "key-of-the-runner" })
		job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
		s.until("it goes on when its key is known again", job.ended)
	})
}

// TestTheProofOfAKeyReadsNothingOut checks that a control plane that sends an input, an output
// or a state in place of the nonce gets no proof.
func TestTheProofOfAKeyReadsNothingOut(t *testing.T) {
	t.Parallel()
	for _, use := range []seal.Context{
		seal.InputContext("ins_1", "token"), {Install: "ins_1", Kind: seal.KindOutput, Component: "ic",
			Path: "components.a.outputs.b"},
		{Install: "ins_1", Kind: seal.KindState, Component: "ic"}, {Kind: seal.KindRegistration, Path: "age1another"},
	} {
		s := newServer(t)
		s.insteadOfNonce = use
		dir := t.TempDir()
		err := runner.Run(t.Context(), testOptions(s.http.URL, dir))
		if err == nil || !strings.Contains(err.Error(), "so nothing was "+
			"answered") || !strings.Contains(err.Error(), use.String()) {
			t.Errorf("%v: %v", use, err)
		}
		if s.recipient != "" {
			t.Errorf("%v: the runner registered", use)
		}
	}
}

// TestAResultOutlivesARotation checks that the result of an attempt is delivered again when the key
// that the call was made with was revoked on the way.
func TestAResultOutlivesARotation(t *testing.T) {
	t.Parallel()
	s, dir := newServer(t), t.TempDir()
	const old = "key-of-the-runner"
	var once sync.Once
	arrived := make(chan struct{})
	s.setTrouble(func(r *http.Request, after bool) int {
		switch {
		case after:
		case r.URL.Path == "/runner/v1/key": // the key changes while the result is on its way
			select {
			case <-arrived:
			case <-r.Context().Done():
			}
		case strings.HasSuffix(r.URL.Path, "/result"):
			once.Do(func() {
				if got := r.Header.Get("Authorization"); got != "Bearer "+old {
					t.Errorf("the result comes with %q", got)
				}
				close(arrived)
				s.until("the new key is in use", func() bool { return s.key != old && s.nextKey == "" })
			})
		}
		return 0
	})
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	s.with(func() { s.queue, job.offered, job.offeredAt, job.accepted = nil, true, time.Now(), true })
	record := spool.Record{Job: "job_1", Attempt: 1, Kind: "action"} // its offer has run out
	if _, err := alreadyRegistered(t, s, dir).Create(record); err != nil {
		t.Fatal(err)
	}
	work(t, s, dir)
	s.until("the result is there", job.ended)
	if job.result.Status != "lost" {
		t.Errorf("got %+v", job.result)
	}
	spoolIsEmpty(t, dir)
}
