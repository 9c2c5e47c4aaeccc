package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
)

// program runs a script that takes its time after an interrupt, as Terraform does (until
// the test releases it), and records each interrupt.
func program(env *job.Env) error {
	const script = `trap 'echo interrupted >>heard' INT; echo $$ >pid.new; mv pid.new program.pid; until test -e heard -a -e go; do sleep 0.05; done; echo saved >>heard`
	env.Log.Info("running")
	return shell(env, script).Run(context.Background())
}

// TestRestOfAKilledJobEndsByItself checks that the program of a killed job process
// is interrupted once, even if runnerd is restarted in between, and ends before
// the job counts as ended.
func TestRestOfAKilledJobEndsByItself(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		s, dir := newServer(t), t.TempDir()
		job := s.enqueue("job_1", "run a program", nil)
		patient := func(o *runner.Options) { o.Timing.ToolGrace = testtime.Limit }
		w := work(t, s, dir, patient)
		s.until("it runs", func() bool {
			_, err := os.Stat(filepath.Join(dir, "program.pid"))
			return err == nil && job.runs()
		})
		if err := syscall.Kill(pidOfJob(t, dir), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		s.until("it is interrupted", func() bool { _, err := os.Stat(filepath.Join(dir, "heard")); return err == nil })
		if restarted {
			w.end(t)
			beats := 0
			s.until("nothing", func() bool { beats = job.beats; return true })
			work(t, s, dir, patient)
			s.until("it is looked after again", func() bool { return job.beats > beats+2 })
		}
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.until("the result is there", job.ended)
		heard, err := os.ReadFile(filepath.Join(dir, "heard"))
		if err != nil || string(heard) != "interrupted\nsaved\n" {
			t.Fatalf("restarted %v: %q, %v", restarted, heard, err)
		}
		if job.result.Status != "lost" || !strings.Contains(job.result.Error, "nothing more runs here") {
			t.Errorf("got %+v", job.result)
		}
		isGone(t, dir, "program.pid")
	}
}
