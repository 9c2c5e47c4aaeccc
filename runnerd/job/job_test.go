package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/apiclient/contacttest"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

func linesOf(t *testing.T, out *bytes.Buffer) (lines []string) {
	t.Helper()
	for text := range strings.Lines(out.String()) {
		var line api.LogLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if line.T.IsZero() {
			t.Errorf("%q has no time", text)
		}
		lines = append(lines, string(line.L)+" "+line.M)
	}
	return lines
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	secrets := &redact.Set{}
	secrets.Add([]byte("hunter2\nhunter3"))
	log := NewLog(&out, secrets)
	log.Info("two\nlines, %d", 2)
	log.Debug("")
	log.Warn("nul \x00, broken \xff, end\r\n")
	log.Error("is hunter2\nhunter3!")
	writer := log.Writer(api.Debug)
	for _, piece := range []string{"begin", "ning\nhun", "ter2\nhunt", "er3 and ", "on\nlast"} {
		if _, err := writer.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"info two", "info lines, 2", "warn nul \uFFFD, broken \uFFFD, end", "error is (sensitive)!",
		"debug beginning", "debug (sensitive) and on", "debug last",
	}
	if diff := cmp.Diff(want, linesOf(t, &out)); diff != "" {
		t.Error(diff)
	}
}

func TestLongLinesGoOn(t *testing.T) {
	var out bytes.Buffer
	log := NewLog(&out, &redact.Set{})
	// A cut by bytes would split a letter.
	long := strings.Repeat("ä", maxMessage)
	log.Info("a%s", long)
	got := strings.ReplaceAll(strings.Join(linesOf(t, &out), ""), "info ", "")
	if got != "a"+long {
		t.Errorf("%d bytes became %d", len(long)+1, len(got))
	}
	for _, line := range linesOf(t, &out) {
		if len(line) > maxMessage+len("info ") {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func TestALogHasAnEnd(t *testing.T) {
	var out bytes.Buffer
	log := NewLog(&out, &redact.Set{})
	log.left = 1000
	for range 100 {
		log.Info("some line of text")
	}
	lines := linesOf(t, &out)
	if len(lines) > 20 || !strings.Contains(lines[len(lines)-1], "the rest is not kept") {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left on device")

func TestALogThatCannotBeWritten(t *testing.T) {
	log := NewLog(fullDisk{}, &redact.Set{})
	log.Info("x")
	if !errors.Is(log.Err(), errFull) {
		t.Errorf("got %v", log.Err())
	}
}

func TestRegistries(t *testing.T) {
	env := environment{
		url: "https://runner.example:7111/runner/v1/jobs/job_1/attempts/2", token: seal.NewSecret([]byte("attempt-token")),
		registry: "registry.example/dev/x", registryUsername: "u", registryPassword: seal.NewSecret([]byte("p")),
	}
	own := artifact.Reference{Host: "registry.example", Repository: "dev/x"}
	t.Run("build", func(t *testing.T) {
		vendor, install, err := env.registries(api.JobSpec{Kind: api.JobSpecKindBuild})
		if err != nil || install != nil || vendor.Reference != own {
			t.Fatal(vendor, install, err)
		}
		if _, err := install.Open("x"); err == nil || !strings.Contains(err.Error(), "NUON_REGISTRY=host/path") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("plan", func(t *testing.T) {
		vendor, install, err := env.registries(api.JobSpec{Kind: api.JobSpecKindPlan})
		if err != nil || install.Reference != own || vendor != nil {
			t.Fatal(vendor, install, err)
		}
	})
	t.Run("sync", func(t *testing.T) {
		vendor, install, err := env.registries(api.JobSpec{Kind: api.JobSpecKindSync})
		if err != nil || install.Reference != own || vendor.Reference != (artifact.Reference{Host: "runner.example:7111"}) {
			t.Fatal(vendor, install, err)
		}
		if got := vendor.Reference.Child("hello/network").String(); got != "runner.example:7111/hello/network" {
			t.Errorf("below it: %s", got)
		}
	})
	t.Run("action", func(t *testing.T) {
		spec := api.JobSpec{Kind: api.JobSpecKindAction, Action: api.ActionSpec{Steps: []api.ActionStep{{Name: "inline"}}}}
		vendor, install, err := env.registries(spec)
		if err != nil || install.Reference != own || vendor != nil {
			t.Fatal(vendor, install, err)
		}
		spec.Action.Steps = append(spec.Action.Steps, api.ActionStep{Source: api.ActionSource{Name: "actions:scripts"}})
		vendor, install, err = env.registries(spec)
		if err != nil || install.Reference != own || vendor.Reference != (artifact.Reference{Host: "runner.example:7111"}) {
			t.Fatal(vendor, install, err)
		}
	})
	t.Run("none", func(t *testing.T) {
		_, install, err := environment{url: "http://x/"}.registries(api.JobSpec{Kind: api.JobSpecKindPlan})
		if err != nil || install != nil {
			t.Fatal(install, err)
		}
	})
	env.registry = "https://registry.example/x"
	if _, _, err := env.registries(api.JobSpec{Kind: api.JobSpecKindPlan}); err == nil ||
		!strings.Contains(err.Error(), "NUON_REGISTRY") {
		t.Errorf("got %v", err)
	}
}

func TestAttemptURL(t *testing.T) {
	at := timing.From(time.Millisecond)
	for _, bad := range []string{"", "http://x", "http://x/runner/v1/jobs/a/attempts/x",
		"http://x/runner/v1/jobs/a%2Fb/attempts/1", "http://x/runner/v1/jobs/../attempts/1",
		"http://x/runner/v1/jobs/a/attempts/0", "ftp://x/runner/v1/jobs/a/attempts/1"} {
		if _, err := NewAttemptClient(bad, seal.Secret{}, t.TempDir(), at); err == nil {
			t.Errorf("took %q", bad)
		}
	}
	remote, err := NewAttemptClient("http://x:1/runner/v1/jobs/a/attempts/12", seal.Secret{}, t.TempDir(), at)
	if err != nil || remote.job != "a" || remote.attempt != 12 {
		t.Errorf("got %+v %v", remote, err)
	}
}

// remoteOf returns a AttemptClient for a server with the handler handle.
func remoteOf(t *testing.T, handle http.HandlerFunc) (*AttemptClient, spool.Attempt) {
	t.Helper()
	server := httptest.NewServer(contacttest.Unpacked(handle))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	at := timing.From(20 * time.Millisecond)
	at.CallTimeout, at.TransferTimeout, at.UnlockTimeout = testtime.Limit, testtime.Limit, testtime.Limit
	remote, err := NewAttemptClient(server.URL+"/runner/v1/jobs/a/attempts/1", seal.NewSecret([]byte("t")), dir, at)
	if err != nil {
		t.Fatal(err)
	}
	return remote, spool.Attempt{Dir: dir}
}

func TestGetStateTriesAgain(t *testing.T) {
	var calls atomic.Int64
	remote, _ := remoteOf(t, func(w http.ResponseWriter, _ *http.Request) {
		switch calls.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"serial":4,"lineage":"l","digest":"d","sealed":{"key_id":"k","ciphertext":"eA=="}}`)
		}
	})
	state, found, err := remote.GetState(t.Context())
	if err != nil || !found || state.Serial != 4 {
		t.Errorf("got %+v %v %v", state, found, err)
	}
}

func TestNoStateYet(t *testing.T) {
	code := "no_state"
	remote, _ := remoteOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"code":%q}`, code)
	})
	if _, found, err := remote.GetState(t.Context()); found || err != nil {
		t.Errorf("got %v %v", found, err)
	}
	// Only this code means that there is no state: an attempt that the server does not
	// know may well have one.
	code = "not_found"
	if _, _, err := remote.GetState(t.Context()); err == nil {
		t.Error("what is not found counts as no state")
	}
}

// TestAStrangersAnswer checks that a response of a proxy in place of the control plane is never
// taken for an answer, whether it succeeds or fails.
func TestAStrangersAnswer(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusFound, http.StatusNotFound} {
		var calls atomic.Int64
		remote, _ := remoteOf(t, func(w http.ResponseWriter, _ *http.Request) {
			if calls.Add(1) == 1 {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(status)
				fmt.Fprint(w, "<html>back soon</html>")
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"serial":4,"lineage":"l","digest":"d","sealed":{"key_id":"k","ciphertext":"eA=="}}`)
		})
		if state, found, err := remote.GetState(t.Context()); err != nil || !found || state.Serial != 4 {
			t.Errorf("%d: got %+v %v %v", status, state, found, err)
		}
	}
}

func TestLockedError(t *testing.T) {
	remote, _ := remoteOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusLocked)
		fmt.Fprint(w, `{"id":"l1","info":{"Who":"me"},"holder":"job_9/1"}`)
	})
	err := remote.LockState(t.Context(), api.StateLock{ID: "l2", Info: []byte("{}")})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.Holder != "job_9/1" || string(locked.Holder.Info) != `{"Who":"me"}` {
		t.Errorf("got %v", err)
	}
}

// TestUnlockWithoutContact checks that while the control plane is unreachable the unlock stays
// requested and the job is not delayed.
func TestUnlockWithoutContact(t *testing.T) {
	remote, attempt := remoteOf(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	remote.timing.UnlockTimeout = 200 * time.Millisecond
	if err := remote.SpoolState(api.State{Serial: 1}); err != nil {
		t.Fatal(err)
	}
	if err := remote.UnlockState(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := attempt.States()
	if !attempt.UnlockRequested() || err != nil || len(files) != 1 {
		t.Errorf("asked: %v, states: %v %v", attempt.UnlockRequested(), files, err)
	}
}

// TestDeliverState checks that a state that does not fit on the disk arrives
// after those that did.
func TestDeliverState(t *testing.T) {
	var mutex sync.Mutex
	var serials []int64
	remote, _ := remoteOf(t, func(w http.ResponseWriter, r *http.Request) {
		var state api.State
		if err := json.NewDecoder(r.Body).Decode(&state); err != nil {
			t.Error(err)
		}
		mutex.Lock()
		defer mutex.Unlock()
		serials = append(serials, state.Serial)
		w.WriteHeader(http.StatusNoContent)
	})
	if err := remote.SpoolState(api.State{Serial: 1}); err != nil {
		t.Fatal(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop() // it must also work for a job that was canceled
	if err := remote.DeliverState(ended, api.State{Serial: 2}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(serials, []int64{1, 2}) {
		t.Errorf("came: %v", serials)
	}
	away, _ := remoteOf(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	away.timing.UnlockTimeout = 200 * time.Millisecond
	if err := away.DeliverState(t.Context(), api.State{Serial: 3}); err == nil {
		t.Error("a state that did not arrive is said to have")
	}
}

func TestReadEnvironment(t *testing.T) {
	for _, name := range []string{VarURL, VarSecrets, VarDir, VarRoot, VarLock, VarKeyFile, "OTEL_EXPORTER_OTLP_HEADERS"} {
		t.Setenv(name, "")
	}
	if _, err := readEnvironment(); err == nil || !strings.Contains(err.Error(), "runnerd run") {
		t.Errorf("nothing set: %v", err)
	}
	t.Setenv(VarURL, "http://x/runner/v1/jobs/a/attempts/1")
	t.Setenv(VarSecrets, "4000")
	t.Setenv(VarDir, "relative")
	if _, err := readEnvironment(); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("relative directory: %v", err)
	}
	t.Setenv(VarDir, "/r/spool/a.1")
	for number, want := range map[string]string{"x": "not the number of an open file", "-1": "not the number",
		"4000": "bad file descriptor"} {
		t.Setenv(VarSecrets, number)
		if _, err := readEnvironment(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("secrets at %s: %v", number, err)
		}
	}
	hand := func(secrets Secrets) (environment, error) {
		pipe, err := secrets.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		number, err := syscall.Dup(int(pipe.Fd()))
		if err = errors.Join(err, pipe.Close()); err != nil {
			t.Fatal(err)
		}
		t.Setenv(VarSecrets, strconv.Itoa(number))
		env, err := readEnvironment()
		if open := syscall.Fstat(number, &syscall.Stat_t{}); open == nil {
			t.Error("the pipe is left open, for what the job runs to inherit")
		}
		return env, err
	}
	given := Secrets{Token: "secret-token", RegistryPassword: "word",
		Environ: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=b"}}
	env, err := hand(given)
	if err != nil || env.root != "/r" || string(env.token.Reveal()) != "secret-token" ||
		string(env.registryPassword.Reveal()) != "word" {
		t.Errorf("got %+v %v", env, err)
	}
	if got := os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"); got != "a=b" {
		t.Errorf("the headers are %q", got)
	}
	if _, err := hand(Secrets{}); err == nil || !strings.Contains(err.Error(), "no attempt token") {
		t.Errorf("no token: %v", err)
	}
	if _, err := (Secrets{Token: strings.Repeat("x", maxSecrets)}).Pipe(); err == nil ||
		!strings.Contains(err.Error(), "shorten") {
		t.Errorf("too much: %v", err)
	}
}

func TestWork(t *testing.T) {
	env := &Env{Dir: t.TempDir()}
	for range 2 {
		work, err := env.CreateWorkDir()
		if err != nil || work != filepath.Join(env.Dir, "work") {
			t.Fatal(work, err)
		}
	}
	info, err := os.Stat(filepath.Join(env.Dir, "work"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}
