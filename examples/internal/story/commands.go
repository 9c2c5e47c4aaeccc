// Command story runs the stories of the examples (examples/*/story.txtar) with the real programs:
// as a demo for people, with the duration of each step, and as tests. A story is a testscript with
// the commands of this file.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
	"github.com/nuon-toolkit/nuon/pkg/imagebuilder"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// teller runs one story.
type teller struct {
	bin  string    // directory of nuon, reconciler and runnerd
	repo string    // root of this repository
	loud io.Writer // receives the output of a demo; io.Discard in a test
	// demo marks a run for people: it may start its own Kubernetes, and the condition [demo] is
	// true.
	demo bool
	// turns limits the number of concurrent stories; nil means no limit.
	turns chan struct{}

	mu    sync.Mutex
	dev   *exec.Cmd
	ended chan error
	log   bytes.Buffer // the system's log
	said  bytes.Buffer // the output of all commands
	// planted holds the secrets of the story.
	planted []secret
	began   time.Time
	title   string
	// kubeconfig is the path for the story's Kubernetes, if it has one, and program that of its program; empty for a
	// person's own cluster.
	kubeconfig, program string
	// charts is the story's chart repository, if it has one, and cloud its simulated cloud.
	charts *chartRepository
	cloud  *cloud.Cloud
	// customer is the account of a customer in that cloud.
	customer *customer
}

// params returns the parameters for testscript: the environment of a person with an empty home, and
// the commands of stories.
func (s *teller) params(files []string, root string) testscript.Params {
	return testscript.Params{
		Files: files, WorkdirRoot: root, RequireUniqueNames: true,
		Setup: s.setup, Condition: s.condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"step": s.step, "nuon": s.nuon, "until": s.until, "dev": s.devCmd, "origin": s.origin, "commit": s.commit,
			"append": appendCmd, "replace": replaceCmd, "settle": s.settle, "kill-runner": s.killRunner,
			"absent": s.absent, "found": s.found, "plant": s.plant, "planted": s.plantedCmd, "reversed": reversed,
			"approve": s.approve, "code": s.code, "count": s.count, "keep": s.keep, "org": s.org, "webhook": s.webhook,
			"upload": s.upload, "page": s.page, "terminal": s.terminal, "screen": s.screen, "cluster": s.clusterCmd,
			"access": s.access, "publish": s.publish, "render": renderCmd, "kubectl": s.kubectl, "grasp": s.grasp,
			"drop": dropCmd, "cloud": s.cloudCmd, "customer": s.customerCmd,
			"compile": s.compile, "pull-secret": s.pullSecret, "job-image": s.jobImage,
		},
	}
}

// condition evaluates the conditions of stories. With [!demo], other stories run at the same time,
// and no person waits.
func (s *teller) condition(name string) (bool, error) {
	switch name {
	case "demo":
		return s.demo, nil
	case "builder":
		return hasBuilder()
	case "containers":
		return s.runsContainers()
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// hasBuilder reports whether a program that builds images works on this machine.
var hasBuilder = sync.OnceValues(func() (bool, error) {
	_, err := imagebuilder.Find(context.Background(), os.Environ())
	if missing := (*imagebuilder.NotFoundError)(nil); errors.As(err, &missing) {
		return false, nil
	}
	return err == nil, err
})

func (s *teller) setup(e *testscript.Env) error {
	if s.turns != nil {
		s.turns <- struct{}{}
		e.Defer(func() { <-s.turns })
	}
	home := filepath.Join(e.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	// The user that runs Postgres needs access to subdirectories when root runs the story.
	if err := os.Chmod(e.WorkDir, 0o755); err != nil {
		return err
	}
	for k, v := range map[string]string{
		"HOME": home, "NUON_CONFIG": filepath.Join(home, "nuon.toml"),
		"PATH": s.bin + string(os.PathListSeparator) + os.Getenv("PATH"), "REPO": filepath.Join(e.WorkDir, "repo"),
		"ORIGIN": filepath.Join(e.WorkDir, "origin.git"), "NO_COLOR": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
		"GIT_AUTHOR_NAME": "Vera Vendor", "GIT_AUTHOR_EMAIL": "vera@vendor.example", "GIT_COMMITTER_NAME": "Vera Vendor",
		"GIT_COMMITTER_EMAIL": "vera@vendor.example", "NUON_TERRAFORM": os.Getenv("NUON_TERRAFORM"), "TZ": "UTC",
		"USER": "vera",
	} {
		e.Setenv(k, v)
	}
	e.Defer(func() { _ = s.stop() }) // an aborted story must not leave processes behind
	return nil
}

// step prints the next step and the duration of the previous one.
func (s *teller) step(ts *testscript.TestScript, _ bool, args []string) {
	s.finish()
	s.title, s.began = args[0], time.Now()
	fmt.Fprintf(s.loud, "\n\033[1m━━ %s\033[0m\n", s.title)
	ts.Logf("━━ %s", s.title)
}

// finish prints the duration of the step.
func (s *teller) finish() {
	if s.title != "" {
		fmt.Fprintf(s.loud, "\033[2m   (%s)\033[0m\n", time.Since(s.began).Round(10*time.Millisecond))
	}
}

// nuon runs the command line tool and shows its output.
func (s *teller) nuon(ts *testscript.TestScript, neg bool, args []string) {
	fmt.Fprintf(s.loud, "\n\033[36m$ nuon %s\033[0m\n", shellWords(args))
	err := s.run(ts, args)
	s.show(ts)
	if (err != nil) != neg {
		ts.Fatalf("nuon %s: %v", shellWords(args), err)
	}
}

func (s *teller) run(ts *testscript.TestScript, args []string) error {
	err := ts.Exec("nuon", args...)
	s.said.WriteString(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	return err
}

func (s *teller) show(ts *testscript.TestScript) {
	for _, name := range []string{"stdout", "stderr"} {
		for line := range strings.Lines(ts.ReadFile(name)) {
			fmt.Fprintf(s.loud, "  %s", line)
		}
	}
}

func shellWords(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = a; strings.ContainsAny(a, " '\"…") {
			out[i] = "'" + a + "'"
		}
	}
	return strings.Join(out, " ")
}

// until repeats a command of nuon or kubectl until its output matches: until 30s 'regexp' nuon ….
// With `processes` instead of a command, the command lines of the story's own processes must match.
func (s *teller) until(ts *testscript.TestScript, _ bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	limit = max(limit, testtime.Limit) // a busy machine may take long
	pattern := regexp.MustCompile("(?m)" + args[1])
	deadline := time.Now().Add(limit)
	for {
		began := time.Now()
		out := s.seen(ts, args[2], args[3:])
		if pattern.MatchString(out) {
			break
		}
		if time.Now().After(deadline) {
			ts.Fatalf("after %s, %q is still not in the output of %s:\n%s\n%s", limit, args[1], shellWords(args[2:]),
				out, s.tail())
		}
		s.pause(ts, began)
	}
	fmt.Fprintf(s.loud, "\n\033[36m$ %s\033[0m   \033[2m(until %s)\033[0m\n", shellWords(args[2:]), args[1])
	if args[2] == "kubectl" || args[2] == "nuon" && !strings.HasPrefix(args[3], "review") {
		s.show(ts)
	}
}

// seen returns the output of a command, also if it fails, or the running processes.
func (s *teller) seen(ts *testscript.TestScript, command string, args []string) string {
	switch command {
	case "nuon":
		_ = s.run(ts, args)
	case "kubectl":
		_ = s.runKubectl(ts, args)
	default:
		return strings.Join(children(ts.Getenv("WORK")), "\n")
	}
	return ts.ReadFile("stdout")
}

// pause waits before the next attempt of a check. It fails the story at once if the system has
// ended.
func (s *teller) pause(ts *testscript.TestScript, began time.Time) {
	select {
	case err := <-s.ended:
		s.ended <- err
		ts.Fatalf("nuon dev has ended: %v\n%s", err, s.tail())
	case <-time.After(testtime.Rest(time.Since(began))):
	}
}

// tail returns the end of the system's log.
func (s *teller) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.log.Bytes()
	return string(b[max(0, len(b)-6000):])
}

// Write appends to the system's log.
func (s *teller) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

// devCmd starts and stops `nuon dev`, with additional environment variables and flags:
// dev start NAME… [-- FLAG…].
func (s *teller) devCmd(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "stop" {
		ts.Check(s.stop())
		if left := children(ts.Getenv("WORK")); len(left) > 0 {
			ts.Fatalf("left running: %s", strings.Join(left, "\n"))
		}
		s.finish()
		s.title = ""
		return
	}
	work := ts.Getenv("WORK")
	ready := filepath.Join(work, "ready.json")
	names, flags := args[1:], []string(nil)
	if i := slices.Index(names, "--"); i >= 0 {
		names, flags = names[:i], names[i+1:]
	}
	s.dev = exec.CommandContext(context.Background(), filepath.Join(s.bin, "nuon"),
		append([]string{"dev", "--data-dir", filepath.Join(work, "dev"), "--listen", "127.0.0.1:0", "--runner-listen",
			"127.0.0.1:0", "--registry-listen", "127.0.0.1:0",
			"--allow-file-remotes", work, "--poll", "500ms", "--ready-file", ready}, flags...)...)
	s.dev.Dir, s.dev.Stdout, s.dev.Stderr = work, s, s
	s.dev.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, name := range []string{"HOME", "NUON_CONFIG", "PATH", "NUON_TERRAFORM", "TZ", "NO_COLOR", "USER"} {
		s.dev.Env = append(s.dev.Env, name+"="+ts.Getenv(name))
	}
	for _, name := range names {
		s.dev.Env = append(s.dev.Env, name+"="+ts.Getenv(name))
	}
	for _, name := range []string{"NUON_POSTGRES_BIN", "DATABASE_URL", "TMPDIR"} {
		if v, ok := os.LookupEnv(name); ok {
			s.dev.Env = append(s.dev.Env, name+"="+v)
		}
	}
	ts.Check(s.dev.Start())
	dev, ended := s.dev, make(chan error, 1)
	s.ended = ended
	go func() { ended <- dev.Wait() }()
	fmt.Fprintf(s.loud, "\n\033[36m$ %s\033[0m\n", strings.TrimSpace("nuon dev "+shellWords(flags)))
	for deadline := time.Now().Add(testtime.Limit); ; s.pause(ts, time.Now()) {
		if b, err := os.ReadFile(ready); err == nil {
			fmt.Fprintf(s.loud, "  %s\n", strings.TrimSpace(string(b)))
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nuon dev is not ready\n%s", s.tail())
		}
	}
}

// stop ends `nuon dev` as Ctrl-C does.
func (s *teller) stop() error {
	if s.dev == nil || s.dev.Process == nil {
		return nil
	}
	dev := s.dev
	s.dev = nil
	if err := dev.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("stop nuon dev: %w", err)
	}
	select {
	case err := <-s.ended:
		if err != nil {
			return fmt.Errorf("nuon dev: %w\n%s", err, s.tail())
		}
		return nil
	case <-testtime.After():
		_ = syscall.Kill(-dev.Process.Pid, syscall.SIGKILL)
		return errors.New("nuon dev does not stop\n" + s.tail())
	}
}

// origin creates a bare repository with directories of examples of this repository, and a work tree beside it:
// origin shop.
func (s *teller) origin(ts *testscript.TestScript, _ bool, args []string) {
	repo, bare := ts.Getenv("REPO"), ts.Getenv("ORIGIN")
	for _, name := range args {
		to := filepath.Join(repo, "examples", name)
		ts.Check(os.MkdirAll(filepath.Dir(to), 0o755))
		ts.Check(os.CopyFS(to, os.DirFS(filepath.Join(s.repo, "examples", name))))
		// The story itself is not part of the app; it names the secret that it plants.
		stories, err := filepath.Glob(filepath.Join(to, "story*.txtar"))
		ts.Check(err)
		for _, f := range stories {
			ts.Check(os.Remove(f))
		}
	}
	ts.Check(os.WriteFile(filepath.Join(repo, "README.md"), []byte("# A vendor's repository\n"), 0o644))
	ts.Check(ts.Exec("git", "init", "-q", "--bare", "-b", "main", bare))
	ts.Check(ts.Chdir(repo))
	ts.Check(ts.Exec("git", "init", "-q", "-b", "main"))
	ts.Check(ts.Exec("git", "remote", "add", "origin", bare))
	s.push(ts, "Package the app")
}

// commit commits everything and pushes it.
func (s *teller) commit(ts *testscript.TestScript, _ bool, args []string) { s.push(ts, args[0]) }

func (s *teller) push(ts *testscript.TestScript, message string) {
	ts.Check(ts.Exec("git", "add", "-A"))
	ts.Check(ts.Exec("git", "commit", "-q", "-m", message))
	ts.Check(ts.Exec("git", "push", "-q", "-u", "origin", "main"))
	ts.Check(ts.Exec("git", "show", "--stat", "--stat-count=12", "--format=%h %s", "HEAD"))
	fmt.Fprintf(s.loud, "\n\033[36m$ git commit -am '%s' && git push\033[0m\n", message)
	s.show(ts)
}

// appendCmd appends a line to a file: append FILE LINE.
func appendCmd(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(ts.ReadFile(args[0])+args[1]+"\n"), 0o644))
}

// replaceCmd replaces a text that must exist in a file: replace FILE OLD NEW.
func replaceCmd(ts *testscript.TestScript, _ bool, args []string) {
	old := ts.ReadFile(args[0])
	if !strings.Contains(old, args[1]) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(old, args[1], args[2])), 0o644))
}

// renderCmd writes a file with the values of variables for $NAME: render FROM TO.
func renderCmd(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(os.Expand(ts.ReadFile(args[0]), ts.Getenv)), 0o644))
}

// approve approves what is pending as a script does, by the printed ids: approve acme/web.
func (s *teller) approve(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(s.run(ts, append([]string{"review", "-o", "name"}, args...)))
	ids := strings.Fields(ts.ReadFile("stdout"))
	if len(ids) == 0 {
		ts.Fatalf("nothing waits at %s", shellWords(args))
	}
	fmt.Fprintf(s.loud, "\n\033[36m$ nuon review -o name %s\033[0m\n  %s\n", shellWords(args), strings.Join(ids, "\n  "))
	s.nuon(ts, false, append([]string{"approve"}, ids...))
}

// settle approves everything for an install until it is current or has the named status:
// settle 90s acme [gone].
func (s *teller) settle(ts *testscript.TestScript, _ bool, args []string) {
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	limit = max(limit, testtime.Limit) // a busy machine may take long
	install, status := args[1], "current"
	if len(args) > 2 {
		status = args[2]
	}
	reached := regexp.MustCompile(`(?m)^` + install + `\t[^\t]*\t[^\t]*\t` + status + `\t`)
	began := time.Now()
	for deadline := began.Add(limit); ; s.pause(ts, began) {
		began = time.Now()
		if err := s.run(ts, []string{"installs", "list"}); err == nil && reached.MatchString(ts.ReadFile("stdout")) {
			s.show(ts)
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("after %s, %s is not %s:\n%s\n%s", limit, install, status, ts.ReadFile("stdout"), s.tail())
		}
		ts.Check(s.run(ts, []string{"review", "--install", install, "-o", "name"}))
		for _, approval := range strings.Fields(ts.ReadFile("stdout")) {
			ts.Check(s.run(ts, []string{"approve", approval}))
			fmt.Fprintf(s.loud, "\033[36m$ nuon approve %s\033[0m   %s", approval, ts.ReadFile("stdout"))
		}
	}
}

// killRunner sends SIGKILL to a runner of `nuon dev` only: kill-runner local. Its jobs survive,
// unless they must end as with a machine: kill-runner local and-its-jobs.
func (s *teller) killRunner(ts *testscript.TestScript, _ bool, args []string) {
	all := processes()
	for pid, line := range all {
		if !strings.Contains(line, "runnerd run") || !strings.Contains(line, ts.Getenv("WORK")) ||
			!strings.Contains(line, "--name "+args[0]) {
			continue
		}
		s.kill(ts, pid, args[0]+" runner")
		for job, command := range all {
			_, dir, _ := strings.Cut(line, " --dir ")
			dir, _, _ = strings.Cut(dir, " ")
			if len(args) > 1 && strings.Contains(command, "runnerd job --dir "+dir+"/") {
				s.kill(ts, job, "its job")
			}
		}
		return
	}
	ts.Fatalf("there is no runner %s", args[0])
}

func (s *teller) kill(ts *testscript.TestScript, pid int, what string) {
	fmt.Fprintf(s.loud, "\n\033[36m$ kill -9 %d\033[0m   \033[2m(%s)\033[0m\n", pid, what)
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
}

// children returns the command lines that contain a word.
func children(word string) []string {
	var found []string
	for pid, line := range processes() {
		if pid != os.Getpid() && strings.Contains(line, word) {
			found = append(found, strconv.Itoa(pid)+" "+line)
		}
	}
	return found
}

// processes returns the command lines of all processes, by pid.
func processes() map[int]string {
	all := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, d := range dirs {
		b, err := os.ReadFile(d)
		if err != nil || len(b) == 0 {
			continue // it has ended, or is a kernel thread
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(d))) // the pattern matches only digits
		all[pid] = strings.ReplaceAll(strings.TrimSuffix(string(b), "\x00"), "\x00", " ")
	}
	return all
}
