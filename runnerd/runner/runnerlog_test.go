package runner_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
)

// TestTheRunnersOwnLog checks that runnerd's own log arrives, from before it could be sent
// to its last line, through an outage and a restart, and without secrets.
func TestTheRunnersOwnLog(t *testing.T) {
	t.Setenv("VENDOR_API", "planted-named")
	s, dir := newServer(t), t.TempDir()
	rules := filepath.Join(dir, "planted-named-key-of-the-runner.toml")
	if err := os.WriteFile(rules, []byte("enabled = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := func() *working {
		return work(t, s, dir, func(o *runner.Options) {
			o.PassEnv = append(o.PassEnv, "VENDOR_API", "NOT_SET")
			o.Policy = rules
			o.Timing.LongPollSilence = testtime.Limit // only the outage may end the contact
		})
	}
	w := begin()
	s.until("it has introduced itself", func() bool {
		return strings.Contains(s.said(), "info runner started") &&
			strings.Contains(s.said(), "warn --pass-env names a variable that is not set here")
	})
	s.setTrouble(func(*http.Request, bool) int { return noAnswer })
	testtime.Until(t, "the outage waits on the disk", func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "runnerlog", "*.json"))
		for _, file := range files {
			if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), "lost contact") {
				return true
			}
		}
		return err != nil
	})
	w.end(t)
	s.setTrouble(nil)
	job := s.enqueue("job_1", "log", map[string]string{"lines": "1"})
	w = begin()
	s.until("it has told of the outage and of a job", func() bool {
		return strings.Contains(s.said(), "warn lost contact with the control plane") &&
			strings.Contains(s.said(), "delivered the result") && job.ended()
	})
	w.end(t)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	said := s.said()
	if strings.Count(said, "info runner started") != 2 || strings.Count(said, "install_key=") != 2 ||
		strings.Count(said, "lost contact") != 1 {
		t.Errorf("it said\n%s", said)
	}
	if !strings.Contains(said, "(sensitive)-(sensitive).toml") || strings.Contains(said, "planted") {
		t.Errorf("a secret is in what it said:\n%s", said)
	}
	if strings.Contains(said, "line 0") {
		t.Errorf("it tells what a job said:\n%s", said)
	}
}

// TestNoKubeConfig checks that a missing kubeconfig is reported at the start,
// not by the first action.
func TestNoKubeConfig(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		options := testOptions("http://127.0.0.1:1", t.TempDir())
		options.KubeConfig = path
		if err := runner.Run(t.Context(), options); err == nil || !strings.Contains(err.Error(), "--kubeconfig: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
