package kubernetes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/execretry"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

const (
	// startLimit only ends a hang: a start takes some seconds, or minutes on a very busy machine.
	startLimit = testtime.Limit
	// stopLimit only ends a hang: the program takes some seconds.
	stopLimit = 2 * time.Minute
)

// Options configures a cluster.
type Options struct {
	Program string    // from Build or Built
	Dir     string    // stores the state; the next start in the same directory continues with it
	Port    int       // of the API server; zero for the previous one of Dir, otherwise a free one
	Log     io.Writer // receives the program's output; nil drops it
}

// Cluster is a running Kubernetes. It ends with the process that started it, in any case.
type Cluster struct {
	Kubeconfig string // path of the admin's kubeconfig, which only its owner can read

	cmd   *exec.Cmd
	stdin io.Closer // the write end of the program's standard input: the program ends when this process does
	said  *tail
	done  chan struct{} // closed when the program has ended
	err   error         // the result; read it after done
}

// Up finds the sources of the cluster above the working directory, builds it if necessary, and
// starts one in dir, with the log file cluster.log there. program is the path of the started
// program.
func Up(ctx context.Context, dir string, port int, progress io.Writer) (c *Cluster, program string, err error) {
	source, err := Source()
	if err != nil {
		return nil, "", err
	}
	program, err = Build(ctx, source, progress)
	if err != nil {
		return nil, "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", fmt.Errorf("make a place for the cluster: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "cluster.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, "", fmt.Errorf("make the log of the cluster: %w", err)
	}
	c, err = Start(ctx, Options{Program: program, Dir: dir, Port: port, Log: log})
	if err != nil {
		return nil, "", errors.Join(err, log.Close())
	}
	go func() { // until the program has ended
		<-c.done
		_ = log.Close()
	}()
	return c, program, nil
}

// Start starts a cluster and waits until its node accepts pods. If ctx ends first, the start fails;
// later ctx has no effect. An error contains the end of the program's output.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	now := time.Now()
	_ = os.Chtimes(o.Program, now, now) // only for removeOld
	c := &Cluster{said: &tail{to: o.Log}, done: make(chan struct{})}
	words := make(chan string, 1)
	if err := execretry.Retry(ctx, func() error { return c.launch(o, words) }); err != nil {
		return nil, fmt.Errorf("start the cluster's program: %w", err)
	}
	select {
	case c.Kubeconfig = <-words:
		return c, nil
	case <-c.done:
		return nil, fmt.Errorf("the cluster ended at its start: %s: %s", c.cmd.ProcessState, c.said)
	case <-ctx.Done():
		c.Kill()
		return nil, fmt.Errorf("wait for the cluster: %w: %s", ctx.Err(), c.said)
	}
}

// launch starts the program. words receives the path of the kubeconfig when the cluster is ready.
func (c *Cluster) launch(o Options, words chan<- string) error {
	c.cmd = exec.Command(o.Program, "-tied", "-dir", o.Dir, "-port", strconv.Itoa(o.Port))
	// an interrupt at the terminal is for this process, which stops the cluster in time
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Stderr = c.said
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.stdin = stdin
	go func() { // until the program has ended
		listen(out, words)
		c.err = c.cmd.Wait()
		close(c.done)
	}()
	return nil
}

// listen reads the output of the program to its end.
func listen(out io.Reader, words chan<- string) {
	path, lines := "", bufio.NewScanner(out)
	for lines.Scan() {
		if found, is := strings.CutPrefix(lines.Text(), "KUBECONFIG="); is {
			path = found
		}
		if lines.Text() == "ready" {
			words <- path
		}
	}
	_, _ = io.Copy(io.Discard, out) // an overlong line of another origin must not block the program
}

// Ended returns a channel that is closed when the cluster has ended for any reason.
func (c *Cluster) Ended() <-chan struct{} { return c.done }

// Stop stops the cluster and waits for its end. It kills a cluster that does not end in time, and
// returns an error then.
func (c *Cluster) Stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-c.done:
		if c.err != nil {
			return fmt.Errorf("the cluster ended badly: %w: %s", c.err, c.said)
		}
		return nil
	case <-limit.C:
		c.Kill()
		return fmt.Errorf("the cluster did not end in %s and was killed: %s", stopLimit, c.said)
	}
}

// Kill ends the cluster like a crash, and waits for its end. Its directory can be started again.
func (c *Cluster) Kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.done
	_ = c.stdin.Close()
}
