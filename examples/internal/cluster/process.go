package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// process is a container that runs as a process of this machine, with restarts if its pod requests
// them. One goroutine owns it from its start until done.
type process struct {
	worker    *worker
	pod       *corev1.Pod // as it was at the start
	spec      *corev1.Container
	ending    ending
	terminate context.CancelFunc // requests its end
	kill      context.CancelFunc // forces its end
	done      chan struct{}

	mu  sync.Mutex
	now view
}

// startProcess starts a container that runs as a process until it ends, is stopped, or ctx ends.
func startProcess(ctx context.Context, w *worker, pod *corev1.Pod, c *corev1.Container, e ending) *process {
	hard, kill := context.WithCancel(ctx)
	soft, terminate := context.WithCancel(hard)
	p := &process{
		worker: w, pod: pod, spec: c, ending: e, terminate: terminate, kill: kill, done: make(chan struct{}),
		now: view{state: waiting("ContainerCreating", "")},
	}
	go func() {
		// the processes die with this thread, see processAttributes; it ends with this goroutine
		runtime.LockOSThread()
		defer w.rouse()
		defer close(p.done)
		defer kill()
		p.run(soft, hard)
	}()
	return p
}

func (p *process) look(time.Time) view {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// show updates the state of the container.
func (p *process) show(v view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = v
	p.worker.rouse()
}

// run performs the runs of the container. soft requests the end, hard forces it.
func (p *process) run(soft, hard context.Context) {
	defer p.removeHome()
	last := corev1.ContainerState{}
	for restarts := int32(0); ; restarts++ {
		cmd, err := p.prepare(soft)
		for err != nil {
			v := view{state: waiting("CreateContainerConfigError", err.Error()), last: last, restarts: restarts}
			v.warning = warning{"Failed", "Error: " + err.Error()}
			p.show(v)
			if !sleep(soft, 10*soon) {
				return
			}
			cmd, err = p.prepare(soft)
		}
		end := p.runOnce(hard, cmd, restarts, last)
		if end.Terminated.ExitCode == 0 || !p.ending.again || soft.Err() != nil {
			p.show(view{state: end, last: last, restarts: restarts})
			return
		}
		last = end
		p.show(view{
			state: waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container", backoff(restarts))),
			last:  last, restarts: restarts, warning: warning{"BackOff", "Back-off restarting failed container " + p.spec.Name},
		})
		if !sleep(soft, backoff(restarts)) {
			p.show(view{state: last, restarts: restarts})
			return
		}
	}
}

// prepare builds the command from the pod's description. Its errors concern that description and
// may be temporary.
func (p *process) prepare(soft context.Context) (*exec.Cmd, error) {
	variables, err := p.worker.kubelet.environment(soft, p.pod, p.spec)
	if err != nil {
		return nil, err
	}
	home := p.home()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("make the home of the container: %w", err)
	}
	words := variables.expandAll(p.spec.Command)
	words = append(words, variables.expandAll(p.spec.Args)...)
	cmd := exec.CommandContext(soft, words[0], words[1:]...)
	cmd.Dir = home
	if p.spec.WorkingDir != "" {
		cmd.Dir = p.spec.WorkingDir
	}
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "HOSTNAME=" + p.pod.Name},
		variables.list()...)
	cmd.SysProcAttr = processAttributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	return cmd, nil
}

// runOnce runs the command to its end and returns the final state.
func (p *process) runOnce(hard context.Context, cmd *exec.Cmd, restarts int32,
	last corev1.ContainerState) corev1.ContainerState {
	begun := time.Now()
	log, err := p.worker.kubelet.logs.create(p.worker.uid, p.spec.Name, restarts)
	if err != nil {
		return p.unstarted(begun, err)
	}
	defer log.Close() //nolint:errcheck // what was written is there
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(log, err)
		return p.unstarted(begun, err)
	}
	group := cmd.Process.Pid
	// child processes end with it, as in a container
	end := func() { _ = syscall.Kill(-group, syscall.SIGKILL) }
	stop := context.AfterFunc(hard, end)
	defer stop()
	p.show(view{state: running(begun), last: last, restarts: restarts, ready: true})
	_ = cmd.Wait() // the process state has more details
	end()
	return terminated(begun, time.Now(), exitCode(cmd.ProcessState))
}

func (p *process) unstarted(begun time.Time, err error) corev1.ContainerState {
	s := terminated(begun, time.Now(), 127)
	s.Terminated.Reason, s.Terminated.Message = "StartError", err.Error()
	return s
}

// exitCode returns the exit code, or 128 plus the signal for a process that a signal ended.
func exitCode(state *os.ProcessState) int32 {
	if status, is := state.Sys().(syscall.WaitStatus); is && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(state.ExitCode())
}

func (p *process) home() string {
	return filepath.Join(p.worker.kubelet.homes, string(p.worker.uid), p.spec.Name)
}

func (p *process) removeHome() {
	_ = os.RemoveAll(p.home())
	_ = os.Remove(filepath.Dir(p.home())) // succeeds for the last container
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
