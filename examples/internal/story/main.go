package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nuon-toolkit/nuon/examples/internal/kubernetes"
)

func main() {
	bin := flag.String("bin", "bin", "directory of nuon, reconciler and runnerd")
	keep := flag.Bool("keep", false, "leave the system running at the end, until Ctrl-C")
	flag.Parse()
	if err := demos(*bin, *keep, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// demos runs the stories of examples on this terminal. Without names it runs hello and, unless that
// needs a long build, shop; to leave a system running, only hello.
func demos(bin string, keep bool, names []string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	repo, err := root()
	if err != nil {
		return err
	}
	unbuilt := false
	if len(names) == 0 {
		_, built := kubernetes.Built(filepath.Join(repo, "examples", "internal", "cluster"))
		names, unbuilt = []string{"hello"}, !built
		if built && !keep {
			names = append(names, "shop")
		}
	}
	for _, name := range names {
		if err := demo(bin, repo, name, keep); err != nil {
			return err
		}
	}
	if unbuilt {
		fmt.Println("Charts and manifests have a story, too: `make demo-shop`, which builds a Kubernetes first; that takes " +
			"minutes, once on a machine.")
	}
	return nil
}

// demo runs the story of an example.
func demo(bin, repo, name string, keep bool) error {
	dir, err := place()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system's temporary directory is emptied some day
	began := time.Now()
	story := &teller{bin: bin, repo: repo, loud: os.Stdout, demo: true}
	file := filepath.Join(repo, "examples", name, "story.txtar")
	if keep {
		if file, err = withoutTeardown(file, dir); err != nil {
			return err
		}
	}
	p := story.params([]string{file}, dir)
	p.Cmds["leave-running"] = story.leaveRunning
	t := &person{log: os.Stderr}
	t.run(func() { testscript.RunT(t, p) })
	if t.failed {
		return errors.New("the story broke off")
	}
	fmt.Printf("\n\033[1mThe story of %s is told in %s; nothing is left behind.\033[0m\n", name,
		time.Since(began).Round(time.Second))
	return nil
}

// place creates a directory for one story. The user that runs Postgres needs access to it when root
// runs the story.
func place() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "nuon-story-"); err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// withoutTeardown writes a story to dir that waits for Ctrl-C where the given one starts its
// teardown.
func withoutTeardown(file, dir string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	before, _, found := strings.Cut(string(b), "step 'Teardown")
	if !found {
		return "", fmt.Errorf("%s has no teardown", file)
	}
	kept := filepath.Join(dir, "kept.txtar")
	return kept, os.WriteFile(kept, []byte(before+"step 'It is yours'\nleave-running\nstep 'Stop'\ndev stop\n"), 0o600)
}

// leaveRunning prints how to access the running system, and waits for Ctrl-C.
func (s *teller) leaveRunning(ts *testscript.TestScript, _ bool, _ []string) {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	variables := "NUON_CONFIG=" + ts.Getenv("NUON_CONFIG")
	if s.kubeconfig != "" {
		variables += " KUBECONFIG=" + s.kubeconfig
	}
	// the directories that the story has prepended
	path, _, _ := strings.Cut(ts.Getenv("PATH"), string(os.PathListSeparator)+os.Getenv("PATH"))
	fmt.Fprintf(s.loud, "\nThe system goes on running. In another shell:\n\n  export %s PATH=%s:$PATH\n  nuon installs "+
		"list\n\nThe vendor's repository is %s. Ctrl-C here stops everything and removes it.\n",
		variables, path, ts.Getenv("REPO"))
	<-interrupted
}

// root returns the root of this repository's work tree.
func root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the repository (run this with `make demo`): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// person is a testscript.T for a person who watches.
type person struct {
	log    io.Writer
	failed bool
}

// errStop leaves a story that failed or was skipped.
var errStop = errors.New("stop")

func (p *person) run(f func()) {
	defer func() {
		if r := recover(); r != nil && r != errStop { //nolint:errorlint // a panic's value, not a returned error
			panic(r)
		}
	}()
	f()
}

// Skip leaves the story; a demo that did not run counts as failed.
func (p *person) Skip(args ...any) { p.Fatal(args...) }

// Fatal prints why the story failed, and leaves it.
func (p *person) Fatal(args ...any) {
	p.Log(args...)
	p.FailNow()
}

// FailNow leaves the story.
func (p *person) FailNow() {
	p.failed = true
	panic(errStop)
}

// Parallel does nothing, because there is only one story.
func (p *person) Parallel() {}

// Log prints testscript's own transcript, which a demo needs only when it failed.
func (p *person) Log(args ...any) {
	text := fmt.Sprint(args...)
	if strings.Contains(text, "FAIL") {
		fmt.Fprintln(p.log, text)
	}
}

// Run runs one story.
func (p *person) Run(_ string, f func(testscript.T)) { p.run(func() { f(p) }) }

// Verbose makes testscript omit the transcript of successful steps.
func (p *person) Verbose() bool { return false }
