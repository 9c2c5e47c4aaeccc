package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// process is a container that runs programs, with restarts if its pod requests them. One goroutine owns it from its
// start until done.
type process struct {
	worker    *worker
	pod       *corev1.Pod // as it was at the start
	spec      *corev1.Container
	ending    ending
	launcher  launcher
	terminate context.CancelFunc // requests its end
	kill      context.CancelFunc // forces its end
	done      chan struct{}

	mu  sync.Mutex
	now view
}

// launcher prepares the runs of a container: hostProcess or contained.
type launcher interface {
	// prepare prepares the run after a number of restarts. Its errors concern the description of the container, and may
	// be temporary.
	prepare(soft context.Context, p *process, restarts int32) (attempt, error)
	// remove removes what is left after the last run.
	remove(p *process)
}

// attempt runs a container to its end, and returns its state then. soft requests the end, hard forces it. It calls show
// when the container runs, with its state except for restarts and the last end.
type attempt func(soft, hard context.Context, show func(view)) corev1.ContainerState

// reasonError is an error of prepare with a reason other than CreateContainerConfigError.
type reasonError struct {
	reason string
	error
}

// Unwrap returns the error.
func (e *reasonError) Unwrap() error { return e.error }

// startProcess starts a container that runs programs until it ends, is stopped, or ctx ends. before is its status if an
// earlier kubelet ran it.
func startProcess(ctx context.Context, w *worker, pod *corev1.Pod, c *corev1.Container, e ending, l launcher,
	before *corev1.ContainerStatus) *process {
	hard, kill := context.WithCancel(ctx)
	soft, terminate := context.WithCancel(hard)
	p := &process{
		worker: w, pod: pod, spec: c, ending: e, launcher: l, terminate: terminate, kill: kill, done: make(chan struct{}),
		now: view{state: waiting("ContainerCreating", "")},
	}
	restarts, last := int32(0), corev1.ContainerState{}
	if before != nil {
		restarts, last = before.RestartCount+1, lostState(time.Now())
		p.now.restarts, p.now.last = restarts, last
	}
	go func() {
		// processes of the host die with this thread, see processAttributes; it ends with this goroutine
		runtime.LockOSThread()
		defer w.rouse()
		defer close(p.done)
		defer kill()
		p.run(soft, hard, restarts, last)
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
func (p *process) run(soft, hard context.Context, restarts int32, last corev1.ContainerState) {
	defer p.launcher.remove(p)
	for ; ; restarts++ {
		attempt := p.prepare(soft, restarts, last)
		if attempt == nil {
			return
		}
		shown := view{}
		end := attempt(soft, hard, func(v view) {
			v.last, v.restarts = last, restarts
			shown = v
			p.show(v)
		})
		over := view{state: end, last: last, restarts: restarts, imageID: shown.imageID, id: shown.id}
		if !p.ending.again || end.Terminated.ExitCode == 0 && p.ending.ends || soft.Err() != nil {
			p.show(over)
			return
		}
		last = end
		p.show(view{
			state: waiting("CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container", backoff(restarts))),
			last:  last, restarts: restarts, warning: warning{"BackOff", "Back-off restarting failed container " + p.spec.Name},
			imageID: shown.imageID, id: shown.id,
		})
		if !sleep(soft, backoff(restarts)) {
			over.last = corev1.ContainerState{}
			p.show(over)
			return
		}
	}
}

// prepare returns the next run, which it tries until it succeeds; nil if the container is to end.
func (p *process) prepare(soft context.Context, restarts int32, last corev1.ContainerState) attempt {
	for tries := 0; ; tries++ {
		next, err := p.launcher.prepare(soft, p, restarts)
		if err == nil {
			return next
		}
		reason, known := "CreateContainerConfigError", (*reasonError)(nil)
		if errors.As(err, &known) {
			reason = known.reason
		}
		if reason == errImagePull && tries > 0 {
			reason = "ImagePullBackOff"
		}
		p.show(view{state: waiting(reason, err.Error()), last: last, restarts: restarts,
			warning: warning{"Failed", "Error: " + err.Error()}})
		if !sleep(soft, 10*soon) {
			return nil
		}
	}
}

func startError(begun time.Time, code int32, err error) corev1.ContainerState {
	s := terminated(begun, time.Now(), code)
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
