// Package tour implements `nuon tour`, which runs the commands of docs/tour.md one after the other in
// a temporary directory, with a separate control plane.
package tour

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	keep := false
	c := &cobra.Command{
		Use: "tour", Args: cobra.NoArgs,
		Short: "Try nuon on this machine, step by step, in a temporary directory",
		Long: `Try nuon on this machine, step by step: an app, a control plane, two customers, an update, a rejected
change and the end of an install. Each command is shown before it runs, and runs when you press Enter.

The tour has a separate directory, control plane ("nuon dev") and configuration, and removes them at the
end; your contexts and repositories do not change. It needs a terminal, git, and what "nuon dev" needs,
which "nuon doctor" lists: the programs reconciler and runnerd, PostgreSQL and Terraform.`,
		Example: "  nuon tour\n  nuon tour --keep",
		RunE: func(c *cobra.Command, _ []string) error {
			return run(c.Context(), e.Console, keep)
		},
	}
	c.Flags().BoolVar(&keep, "keep", false, "keep the directory at the end")
	return c
}

// guide runs the tour in a directory.
type guide struct {
	console *console.Console
	program string // the path of nuon
	root    string // everything that the tour writes is below it
	dir     string // the directory of the next command
	env     []string
	dev     *exec.Cmd // nuon dev; nil before it was started
	ended   chan struct{}
}

// startDev is the command that the tour runs in the background.
const startDev = "nuon dev"

// run makes the directory, runs all commands, and removes the directory.
func run(ctx context.Context, c *console.Console, keep bool) error {
	if !c.Asks() || !c.OutIsTerminal {
		return exitcode.Usagef("nuon tour needs a terminal, because it asks before each command")
	}
	if _, err := exec.LookPath("git"); err != nil {
		return exitcode.Usagef("nuon tour needs git: install it, and check the rest with `nuon doctor`")
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program nuon: %w", err)
	}
	root, err := directory()
	if err != nil {
		return err
	}
	g := newGuide(c, program, root)
	err = errors.Join(g.walk(ctx, sections), g.stop())
	if keep {
		c.Messagef("kept %s; remove it when you do not need it", root)
		return err
	}
	return errors.Join(err, os.RemoveAll(root))
}

// directory makes the directory of the tour.
func directory() (string, error) {
	root, err := os.MkdirTemp("", "nuon-tour-")
	if err == nil && os.Geteuid() == 0 {
		err = os.Chmod(root, 0o711) //nolint:gosec // the user who runs PostgreSQL for root must pass through it
	}
	return root, err
}

func newGuide(c *console.Console, program, root string) *guide {
	return &guide{console: c, program: program, root: root, dir: root, env: append(os.Environ(),
		"PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"NUON_CONFIG="+filepath.Join(root, "config.toml"), "XDG_CACHE_HOME="+filepath.Join(root, "cache"),
		"NUON_URL=", "NUON_TOKEN=", "NUON_CONTEXT=", "NUON_OUTPUT=",
		"GIT_AUTHOR_NAME=Vera", "GIT_AUTHOR_EMAIL=vera@vendor.example",
		"GIT_COMMITTER_NAME=Vera", "GIT_COMMITTER_EMAIL=vera@vendor.example")}
}

// errLeft is returned when the user leaves the tour.
var errLeft = errors.New("left")

// walk shows the sections and runs their commands.
func (g *guide) walk(ctx context.Context, all []section) error {
	g.console.Messagef("The tour runs in %s. Press Enter to run a command, s to skip it, q to leave.", g.root)
	for n, s := range all {
		g.console.Messagef("\n%d of %d: %s\n\n%s", n+1, len(all), s.title, s.text)
		for _, command := range s.commands {
			switch err := g.step(ctx, command); {
			case errors.Is(err, errLeft):
				return nil
			case err != nil:
				return err
			}
		}
	}
	g.console.Messagef("\nThat was the tour. Start with an app of your own: `nuon init --help`, and docs/tour.md.")
	return nil
}

// step shows a command, asks, and runs it.
func (g *guide) step(ctx context.Context, command string) error {
	answer, err := g.console.Ask(ctx, "\n$ "+command+" ")
	switch answer = strings.TrimSpace(answer); {
	case err != nil:
		return err
	case answer == "q":
		return errLeft
	case answer == "s":
		return nil
	}
	if to, is := strings.CutPrefix(command, "cd "); is {
		g.dir = filepath.Join(g.dir, to)
		return nil
	}
	if command == startDev {
		return g.start(ctx)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = g.dir, g.env
	cmd.Stdout, cmd.Stderr = g.console.Out, g.console.Err
	if in, is := g.console.In.(*os.File); is {
		cmd.Stdin = in // any other reader would be read to its end
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return exitcode.Interrupted
	case errors.As(err, &ended) && ended.ExitCode() != exitcode.Waiting:
		g.console.Messagef("The command ended with exit code %d. Enter continues with the next one.", ended.ExitCode())
		return nil
	case ended != nil:
		return nil //nolint:nilerr // a plan waits for an approval
	}
	return err
}

// How often the tour checks whether nuon dev is ready, and how long it waits for it to be and to stop.
const (
	checkEvery  = 100 * time.Millisecond
	readyWithin = 5 * time.Minute
	stopWithin  = 2 * time.Minute
)

// start starts nuon dev in the background and waits until it is ready.
func (g *guide) start(ctx context.Context) error {
	ready, file := filepath.Join(g.root, "ready.json"), filepath.Join(g.root, "dev.log")
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the program has its own descriptor
	const free = "127.0.0.1:0"
	g.dev = exec.Command(g.program, "dev", "--data-dir", filepath.Join(g.root, "dev"), "--ready-file", ready,
		"--listen", free, "--runner-listen", free, "--registry-listen", free)
	g.dev.Dir, g.dev.Env, g.dev.Stdout, g.dev.Stderr = g.dir, g.env, log, log
	if err := g.dev.Start(); err != nil {
		return err
	}
	ended, program := make(chan struct{}), g.dev
	g.ended = ended
	go func() {
		_ = program.Wait() // how it ended is in its log
		close(ended)
	}()
	g.console.Messagef("starting it; its log is in %s …", file)
	late := time.After(readyWithin)
	for {
		select {
		case <-ctx.Done():
			return exitcode.Interrupted
		case <-late:
			return fmt.Errorf("nuon dev is not ready after %s:\n%s", readyWithin, lastLines(file))
		case <-g.ended:
			g.dev = nil
			return fmt.Errorf("nuon dev did not start; run `nuon doctor` to see what is missing:\n%s", lastLines(file))
		case <-time.After(checkEvery):
		}
		if _, err := os.Stat(ready); err == nil {
			g.console.Messagef("nuon dev is ready")
			return nil
		}
	}
}

// stop stops nuon dev, if it runs.
func (g *guide) stop() error {
	if g.dev == nil {
		return nil
	}
	g.console.Messagef("stopping nuon dev …")
	if err := g.dev.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop nuon dev: %w", err)
	}
	select {
	case <-g.ended:
		return nil
	case <-time.After(stopWithin):
		return errors.Join(fmt.Errorf("nuon dev did not stop within %s", stopWithin), g.dev.Process.Kill())
	}
}

// lastLines returns the end of a log.
func lastLines(file string) string {
	const most = 10
	raw, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(len(lines)-most, 0):], "\n")
}
