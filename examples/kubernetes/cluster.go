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

	"github.com/nuon-toolkit/nuon/pkg/launch"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

const (
	// startLimit only ends a hang: a start takes some seconds, and minutes on a machine that is very busy.
	startLimit = testtime.Limit
	// stopLimit only ends a hang: the program gives itself some seconds.
	stopLimit = 2 * time.Minute
)

// Options say what to start.
type Options struct {
	Program string    // from Build or Built
	Dir     string    // keeps the state, which the next start of the same directory takes up again
	Port    int       // of the API server; zero for the one that Dir had, else a free one
	Log     io.Writer // what the program says; nil drops it
}

// Cluster is a started Kubernetes. It ends with the process that started it, however that ends.
type Cluster struct {
	Kubeconfig string // the path of the file for its admin; only its owner can read it

	cmd   *exec.Cmd
	stdin io.Closer // its other end is the program's standard input: the program ends when this process does
	said  *tail
	done  chan struct{} // closed when the program has ended
	err   error         // how, to be read after done
}

// Up finds the sources of the cluster above the working directory, builds it if need be, and starts one in dir, whose log is the file
// cluster.log there. Program is what it started.
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

// Start starts a cluster and waits until its node takes pods. When ctx ends first, the start is given up; later it has no effect. An error
// holds the last words of the program.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	now := time.Now()
	_ = os.Chtimes(o.Program, now, now) // only for removeOld
	c := &Cluster{said: &tail{to: o.Log}, done: make(chan struct{})}
	words := make(chan string, 1)
	if err := launch.Patiently(ctx, func() error { return c.launch(o, words) }); err != nil {
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

// launch starts the program. Words gets the path of the kubeconfig when it is ready.
func (c *Cluster) launch(o Options, words chan<- string) error {
	c.cmd = exec.Command(o.Program, "-tied", "-dir", o.Dir, "-port", strconv.Itoa(o.Port))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for this process, which stops it when it is time
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

// listen reads what the program prints, to its end.
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
	_, _ = io.Copy(io.Discard, out) // a line too long to be one of ours must not stop the program
}

// Ended is closed when the cluster has ended, by itself or not.
func (c *Cluster) Ended() <-chan struct{} { return c.done }

// Stop ends the cluster and waits for its end. It kills one that does not end in time, and says so.
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

// Kill ends the cluster as a crash would, and waits for its end. Its directory can be started again.
func (c *Cluster) Kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.done
	_ = c.stdin.Close()
}
