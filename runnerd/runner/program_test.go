package runner_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/hardening"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/process"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// TestMain makes the test binary also a job process (argument job) and a runnerd that a test
// can kill (argument run).
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "job":
			if slices.Contains(os.Args, "--spare") {
				if assigned, err := job.AwaitAssignment(); err != nil || !assigned {
					exit(err)
				}
			}
			exit(job.RunProcess(context.Background(), job.Handlers{api.JobSpecKindAction: job.HandlerFunc(do)}, testTiming()))
		case "fetch":
			exit(fetch(context.Background(), os.Args[2]))
		case "ptrace":
			exit(attach(os.Args[2]))
		case "root":
			exit(syscall.Setuid(0))
		case "run":
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			options := testOptions(os.Args[2], os.Args[3])
			options.Reaper = true
			if len(os.Args) > 4 {
				options.JobUser = os.Args[4]
			}
			if err := hardening.HideMemory(); err != nil {
				exit(err)
			}
			if err := process.Adopt(); err != nil {
				exit(err)
			}
			exit(runner.Run(ctx, options))
		}
	}
	if raced {
		if err := buildJobProgram(); err != nil {
			exit(err)
		}
	}
	code := m.Run()
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// leftovers are the directories that all tests share.
var leftovers []string

// sharedDir creates a directory that all tests share, and that every user may enter.
func sharedDir() (string, error) {
	dir, err := os.MkdirTemp("", "runner-program-*")
	if err != nil {
		return "", err
	}
	leftovers = append(leftovers, dir)
	return dir, os.Chmod(dir, 0o755)
}

// varJobProgram names the program that runs jobs, also to a runnerd that a test starts. Without it,
// that is the program itself.
const varJobProgram = "RUNNER_TEST_JOB_PROGRAM"

// buildJobProgram builds this program without the race detector, with which each of some hundred
// jobs takes five times as long to start. A job shares no memory with its runner. Those of racedJobs
// have it, for what a job shares among its own goroutines.
func buildJobProgram() error {
	dir, err := sharedDir()
	if err != nil {
		return err
	}
	program := filepath.Join(dir, "job")
	build := exec.Command("go", "test", "-c", "-trimpath", "-ldflags=-w", "-vet=off", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program of jobs: %w\n%s", err, out)
	}
	return os.Setenv(varJobProgram, program)
}

// self returns the path of this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// fetch requests a URL, by which a test sees that a program has started.
func fetch(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// attach attaches to a process as a debugger does, and detaches.
func attach(number string) error {
	runtime.LockOSThread()
	pid, err := strconv.Atoi(number)
	if err == nil {
		err = syscall.PtraceAttach(pid)
	}
	if err == nil {
		_, err = syscall.Wait4(pid, nil, syscall.WALL, nil)
	}
	if err == nil {
		err = syscall.PtraceDetach(pid)
	}
	return err
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// tick is small, so that repeated actions are frequent and waits are short.
const tick = 40 * time.Millisecond

const varTick = "RUNNER_TEST_TICK"

// testTiming returns durations from the small tick, except for those that end a slow operation,
// because a busy machine is slow. Tests in which such a limit has to pass set it.
func testTiming() timing.Timing {
	at, product := timing.From(tick), timing.Default()
	if named, err := time.ParseDuration(os.Getenv(varTick)); err == nil {
		at = timing.From(named)
	}
	at.CallTimeout, at.TransferTimeout = 5*time.Second, product.TransferTimeout // a call without a response is retried
	at.UnlockTimeout, at.JobGrace, at.KillWait = product.UnlockTimeout, product.JobGrace, product.KillWait
	at.PodStart, at.JobLimit = product.PodStart, product.JobLimit
	return at
}

// hasty makes the runner kill a job that ignores an interrupt after a short time.
func hasty(o *runner.Options) { o.Timing.JobGrace = time.Second }

// racedJobs makes the runner start jobs with the race detector if this program has it.
func racedJobs(o *runner.Options) { o.Job[0] = self() }

// withoutSpare makes the runner start each process when there is a job for it.
func withoutSpare(o *runner.Options) { o.SpareProcess = false }

func testOptions(url, dir string) runner.Options {
	options := runner.Options{
		URL: url, Dir: dir, Token: seal.NewSecret([]byte("register-once")), Version: "test",
		Job: []string{cmp.Or(os.Getenv(varJobProgram), self()), "job"}, SpareProcess: true, PassEnv: []string{varTick},
		Timing: testTiming(), Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if runsPods(dir) {
		options.KubeConfig = kubeconfigIn(dir)
	}
	return options
}

// do is the handler of the tests. The action's name selects what it does.
func do(ctx context.Context, env *job.Env) (api.JobResult, error) {
	given := env.Spec.Action.Env
	switch env.Spec.Action.Action {
	case "log":
		lines, _ := strconv.Atoi(given["lines"])
		for i := range lines {
			env.Log.Info("line %d", i)
		}
		return succeeded(), nil
	case "fetch":
		return succeeded(), fetch(ctx, given["url"])
	case "wait":
		env.Log.Info("waiting")
		return api.JobResult{}, waitFor(ctx, filepath.Join(env.Root, given["file"]))
	case "wait and succeed":
		env.Log.Info("waiting")
		if err := waitFor(ctx, filepath.Join(env.Root, given["file"])); err != nil {
			return api.JobResult{}, err
		}
		env.Log.Info("waited")
		return succeeded(), nil
	case "show the environment":
		return showEnvironment(ctx, env)
	case "finish in spite of the interrupt":
		env.Log.Info("waiting")
		<-ctx.Done()
		return succeeded(), nil
	case "deaf":
		return deaf(env)
	case "states":
		return states(ctx, env)
	case "plugged":
		return plugged(ctx, env)
	case "secrets":
		env.Redact.Add([]byte("hunter2-hunter2"))
		env.Log.Info("the password is hunter2-hunter2")
		fmt.Println("a library prints hunter2-hunter2")
		return api.JobResult{}, errors.New("cannot log in with hunter2-hunter2; change it")
	case "panic":
		env.Redact.Add([]byte("hunter2-hunter2"))
		panic("with hunter2-hunter2")
	case "crash":
		go func() { panic("with hunter2-hunter2") }()
		<-ctx.Done()
		return api.JobResult{}, ctx.Err()
	case "rendered secrets":
		work, err := env.CreateWorkDir()
		if err == nil {
			err = os.WriteFile(filepath.Join(work, "script"), []byte("planted"), 0o600)
		}
		if err != nil {
			return api.JobResult{}, err
		}
		env.Log.Info("waiting")
		<-ctx.Done()
		return api.JobResult{}, ctx.Err()
	case "eat":
		env.Log.Info("eating")
		eaten := make([]byte, 96<<20)
		if given["shared"] != "" {
			var err error
			eaten, err = syscall.Mmap(-1, 0, len(eaten), syscall.PROT_READ|syscall.PROT_WRITE,
				syscall.MAP_SHARED|syscall.MAP_ANON)
			if err != nil {
				return api.JobResult{}, err
			}
		}
		for i := range eaten {
			eaten[i] = byte(i)
		}
		<-ctx.Done()
		return api.JobResult{}, fmt.Errorf("after %d bytes: %w", len(eaten), ctx.Err())
	case "escape":
		if err := escape(env); err != nil {
			return api.JobResult{}, err
		}
		env.Log.Info("escaped")
		return succeeded(), waitFor(ctx, filepath.Join(env.Root, "go"))
	case "run a program":
		return api.JobResult{}, program(env)
	case "attack":
		return attack(ctx, env)
	case "leave a process behind":
		return succeeded(), sleeper(env, "left.pid")
	case "environment":
		for _, entry := range os.Environ() {
			env.Log.Info("%s", entry)
		}
		// The kernel's view of this process's environment, which the redactor of
		// the log does not mask.
		shown, err := os.ReadFile("/proc/self/environ")
		if errors.Is(err, os.ErrPermission) && os.Getuid() != 0 {
			shown, err = []byte("hidden"), nil
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(env.Root, "environ"), shown, 0o600)
		}
		return succeeded(), err
	}
	return api.JobResult{}, fmt.Errorf("no such action %q", env.Spec.Action.Action)
}

func succeeded() api.JobResult { return api.JobResult{Status: job.Succeeded} }

// showEnvironment runs a script, as handlers run programs, that writes its environment to a file of the job, and waits.
func showEnvironment(ctx context.Context, env *job.Env) (api.JobResult, error) {
	file := filepath.Join(env.Root, env.Spec.Job+".environ")
	script := shell(env, `env > "`+file+`.new" && mv "`+file+`.new" "`+file+`"`)
	for name, value := range jobenv.ToolEnv(os.Environ()) {
		script.Env = append(script.Env, name+"="+value)
	}
	if err := script.Run(ctx); err != nil {
		return api.JobResult{}, err
	}
	return succeeded(), waitFor(ctx, filepath.Join(env.Root, "go on"))
}

// waitFor waits for a file that the test writes.
func waitFor(ctx context.Context, file string) error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", filepath.Base(file), ctx.Err())
		}
	}
}

// deaf is a job that ignores interrupts, with one process in its group, and an
// orphan in a separate group.
func deaf(env *job.Env) (api.JobResult, error) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	if err := sleeper(env, "child.pid"); err != nil {
		return api.JobResult{}, err
	}
	orphan := exec.Command("sh", "-c",
		`setsid -f true 2>/dev/null; sleep 1000 & echo $! > "$0.new" && mv "$0.new" "$0"`, filepath.Join(env.Root,
			"orphan.pid"))
	orphan.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := orphan.Run(); err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("deaf")
	select {}
}

// escape leaves a process that has forked twice, leads its own session, and has an empty
// environment: neither its parent nor its session shows which job it belongs to.
func escape(env *job.Env) error {
	work, err := env.CreateWorkDir()
	if err != nil {
		return err
	}
	own := filepath.Join(work, "own")
	if err := errors.Join(os.Mkdir(own, 0o700), subprocess.GrantOwnership(own)); err != nil {
		return err
	}
	script := shell(env, `env -i setsid sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' & `+
		`until test -e pid; do sleep 0.05; done`)
	script.Dir = own
	if err := script.Run(context.Background()); err != nil {
		return err
	}
	pid, err := subprocess.ReadUntrusted(own, "pid", 100)
	if err != nil {
		return err
	}
	file := filepath.Join(env.Root, "escaped.pid")
	if err := os.WriteFile(file+".new", pid, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// shell returns a script as a program, as handlers run programs.
func shell(env *job.Env, script string) subprocess.Program {
	return subprocess.Program{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Dir: env.Root, Env: []string{"PATH=" + os.Getenv("PATH")},
		Stdout: io.Discard, Stderr: os.Stderr, Name: "the script", Grace: time.Minute, Warn: env.Log.Warn,
	}
}

func sleeper(env *job.Env, pidFile string) error {
	command := exec.Command("sleep", "1000")
	if err := command.Start(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(env.Root, pidFile), []byte(strconv.Itoa(command.Process.Pid)), 0o600)
}

// plugged is a job with everything that can be lost: it holds the lock, logs a hundred lines,
// leaves a process, and writes three versions of a state. After each step it leaves a file;
// at the step that the test names it waits.
func plugged(ctx context.Context, env *job.Env) (api.JobResult, error) {
	note := func(name string) error { return os.WriteFile(filepath.Join(env.Root, name), nil, 0o600) }
	wait := func(at string) error {
		if env.Spec.Action.Env["pause"] != at {
			return nil
		}
		return waitFor(ctx, filepath.Join(env.Root, "go on"))
	}
	if err := sleeper(env, "left.pid"); err != nil {
		return api.JobResult{}, err
	}
	if err := env.API.LockState(ctx, api.StateLock{ID: "lock-1", Info: []byte(`{}`)}); err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("locked")
	for i := range 100 {
		env.Log.Info("line %d", i)
	}
	if err := errors.Join(note("locked"), wait("running")); err != nil {
		return api.JobResult{}, err
	}
	for serial := int64(1); serial <= 3; serial++ {
		plain := fmt.Appendf(nil, "state %d", serial)
		sealed, err := env.Key.Recipient().Seal(seal.Context{Kind: seal.KindState}, plain)
		if err != nil {
			return api.JobResult{}, err
		}
		if err := env.API.SpoolState(api.State{Serial: serial, Lineage: "line", Digest: env.Key.Hash("state", plain),
			Sealed: sealed}); err != nil {
			return api.JobResult{}, err
		}
		if err := errors.Join(note(fmt.Sprintf("wrote-%d", serial)), wait("writing")); err != nil {
			return api.JobResult{}, err
		}
	}
	return succeeded(), env.API.UnlockState(ctx)
}

// states is a job that writes three versions of a state under the lock.
func states(ctx context.Context, env *job.Env) (api.JobResult, error) {
	if _, found, err := env.API.GetState(ctx); err != nil || found {
		return api.JobResult{}, fmt.Errorf("there is a state, or: %w", err)
	}
	if err := env.API.LockState(ctx, api.StateLock{ID: "lock-1", Info: []byte(`{}`)}); err != nil {
		return api.JobResult{}, err
	}
	env.Log.Info("locked")
	if file := env.Spec.Action.Env["file"]; file != "" {
		if err := waitFor(ctx, filepath.Join(env.Root, file)); err != nil {
			return api.JobResult{}, err
		}
	}
	for serial := range int64(3) {
		plain := fmt.Appendf(nil, "state %d", serial+1)
		sealed, err := env.Key.Recipient().Seal(seal.Context{Kind: seal.KindState}, plain)
		if err != nil {
			return api.JobResult{}, err
		}
		if err := env.API.SpoolState(api.State{Serial: serial + 1, Lineage: "line", Digest: env.Key.Hash("state", plain),
			Sealed: sealed}); err != nil {
			return api.JobResult{}, err
		}
	}
	return succeeded(), env.API.UnlockState(ctx)
}
