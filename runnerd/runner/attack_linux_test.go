package runner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

// attacks is a script that a job runs. It tries what a job must not be able to do, and records
// the outcome of each try: done or refused. $1 is the runner's directory and $2 a program
// that attaches to a process.
const attacks = `
try() { name=$1; shift; if "$@" >"$PWD/last" 2>&1; then echo "$name: done"; else echo "$name: refused"; fi >>"$PWD/said"; }
job=$PPID
runnerd=$(cut -d ' ' -f 4 /proc/$job/stat)
for who in job runnerd; do
	eval pid=\$$who
	try "$who: read environ" cat /proc/$pid/environ
	try "$who: open mem" sh -c "exec 3</proc/$pid/mem"
	try "$who: list files" ls /proc/$pid/fd/
	try "$who: enter its directory" ls /proc/$pid/cwd/
	try "$who: attach" "$2" ptrace $pid
	try "$who: signal" kill -0 $pid
	try "$who: secrets on the command line" grep -q -a -e attempt-token -e register-once /proc/$pid/cmdline
done
try "list the runner's directory" ls "$1"
for file in install.key runner.json runner.toml spool/job_1.1/attempt.json spool/job_1.1/process.json spool/job_1.1/log.ndjson spool/job_2.1/attempt.json programs.json; do
	try "read $file" cat "$1/$file"
done
for dir in spool spool/job_1.1 runnerlog states undelivered jobs work; do
	try "list $dir" ls "$1/$dir"
done
try "write into the runner's directory" touch "$1/planted"
try "write into the spool" touch "$1/spool/planted"
try "change the runner file" sh -c 'echo "enabled = true" >"$1"' - "$1/runner.toml"
try "move the workspaces" mv "$1/jobs" "$1/elsewhere"
try "write beside its workspace" touch ../planted
try "change what the runner shows" sh -c 'echo "# x" >>../shown'
try "replace what the runner shows" ln -sf "$1/install.key" ../shown
try "become root" "$2" root
try "leave its control group" sh -c 'for f in $(find /sys/fs/cgroup -maxdepth 3 -name cgroup.procs); do echo 0 >$f && exit 0; done; exit 1'
try "have groups" sh -c 'test "$(id -G)" != "$(id -g)"'
echo "$(id -u):$(id -g) home=$HOME tmp=$TMPDIR $(grep NoNewPrivs /proc/self/status | tr '\t' ' ')" >who
`

// attack runs the script as handlers run scripts, and records what succeeded.
func attack(ctx context.Context, env *job.Env) (api.JobResult, error) {
	work, err := env.CreateWorkDir()
	if err != nil {
		return api.JobResult{}, err
	}
	own, shown := filepath.Join(work, "own"), filepath.Join(work, "shown")
	err = errors.Join(os.Mkdir(own, 0o700), subprocess.GrantOwnership(own), os.WriteFile(shown, []byte(attacks), 0o600),
		subprocess.GrantRead(shown))
	if err != nil {
		return api.JobResult{}, err
	}
	program := shell(env, "")
	program.Args, program.Dir = []string{"sh", shown, env.Root, self()}, own
	program.Env = append(program.Env, "HOME="+os.Getenv("HOME"), "TMPDIR="+os.Getenv("TMPDIR"))
	if err := program.Run(ctx); err != nil {
		return api.JobResult{}, err
	}
	for _, file := range []string{"said", "who"} {
		content, err := subprocess.ReadUntrusted(own, file, 1<<20)
		if err != nil {
			return api.JobResult{}, err
		}
		for line := range strings.Lines(string(content)) {
			env.Log.Info("%s", strings.TrimSpace(line))
		}
	}
	return succeeded(), nil
}

// attacked runs the script in a job of a runner of the user uid, beside another job,
// and returns the outcome of each try.
func attacked(t *testing.T, uid int, args ...string) (tries map[string]string, who string) {
	t.Helper()
	s, dir := newServer(t), dirOf(t, uid)
	for name, content := range map[string]string{"runner.toml": "enabled = true\n", "states/x": "x",
		"undelivered/x": "x"} {
		path := filepath.Join(dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
		for _, made := range []string{path, filepath.Dir(path)} {
			err = errors.Join(err, os.Chown(made, uid, uid))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	other := s.enqueue("job_2", "wait and succeed", map[string]string{"file": "go"})
	startProgramAs(t, s, dir, uid, args...)
	s.until("the other job runs", func() bool { return len(other.lines) > 0 })
	job := s.enqueue("job_1", "attack", nil)
	s.until("the result is there", job.ended)
	touch(t, dir, "go")
	s.until("the other result is there", other.ended)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if job.result.Status != api.JobResultStatusSucceeded || other.result.Status != api.JobResultStatusSucceeded {
		t.Fatalf("%+v, and the other %+v", job.result, other.result)
	}
	tries = map[string]string{}
	for _, line := range job.messages() {
		if at := strings.LastIndex(line, ": "); at >= 0 && (line[at+2:] == "done" || line[at+2:] == "refused") {
			tries[line[:at]] = line[at+2:]
		} else {
			who = line
		}
	}
	if len(tries) != 40 {
		t.Fatalf("%d tries: %q", len(tries), job.messages())
	}
	return tries, who
}

// doneOf returns the tries that succeeded.
func doneOf(tries map[string]string) []string {
	var done []string
	for _, name := range slices.Sorted(maps.Keys(tries)) {
		if tries[name] == "done" {
			done = append(done, name)
		}
	}
	return done
}

// hidden returns the tries that read the memory of the job process and of runnerd.
func hidden() (names []string) {
	for _, who := range []string{"job", "runnerd"} {
		for _, what := range []string{"read environ", "open mem", "list files", "enter its directory", "attach"} {
			names = append(names, who+": "+what)
		}
	}
	return names
}

// TestAttacksOfAnotherUser checks that programs that a job runs as another user cannot harm
// the runner. As root they can, which proves that the tries are real.
func TestAttacksOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: only root can start programs as another user")
	}
	t.Parallel()
	tries, who := attacked(t, 0, strconv.Itoa(nobody))
	if done := doneOf(tries); len(done) > 0 {
		t.Errorf("the job could: %s", strings.Join(done, "; "))
	}
	for _, want := range []string{fmt.Sprintf("%d:%d ", nobody, nobody), "/jobs/job_1.1/home ", "/jobs/job_1.1/tmp ",
		"NoNewPrivs: 1"} {
		if !strings.Contains(who, want) {
			t.Errorf("it runs as %q, without %q", who, want)
		}
	}
	tries, _ = attacked(t, 0, "root")
	for _, name := range append(hidden(), "read install.key", "read spool/job_2.1/attempt.json",
		"write into the spool", "change the runner file",
		"replace what the runner shows", "become root", "job: signal", "runnerd: signal") {
		if tries[name] != "done" {
			t.Errorf("root could not: %s", name)
		}
	}
}

// TestAttacksOfTheSameUser checks that programs that a job runs as the runner's own user
// can read and change the runner's files, as docs/runner-file.md states, but cannot read
// the memory of its processes.
func TestAttacksOfTheSameUser(t *testing.T) {
	t.Parallel()
	uid := os.Getuid()
	if uid == 0 {
		uid = nobody
	}
	tries, _ := attacked(t, uid)
	for _, name := range append(hidden(), "job: secrets on the command line", "runnerd: secrets on the command line",
		"become root") {
		if tries[name] != "refused" {
			t.Errorf("the job could: %s", name)
		}
	}
	for _, name := range []string{"read install.key", "read runner.json", "read spool/job_1.1/attempt.json",
		"write into the runner's directory", "job: signal", "runnerd: signal"} {
		if tries[name] != "done" {
			t.Errorf("the job could not: %s; docs/runner-file.md says that it can", name)
		}
	}
}
