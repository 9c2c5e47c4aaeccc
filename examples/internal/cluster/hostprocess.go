package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// hostProcess runs a container as a process of this machine, without isolation.
type hostProcess struct{}

// prepare builds the command from the pod's description.
func (h hostProcess) prepare(soft context.Context, p *process, restarts int32) (attempt, error) {
	variables, err := p.worker.kubelet.environment(soft, p.pod, p.spec, podAddress(p.pod))
	if err != nil {
		return nil, err
	}
	home := h.home(p)
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
	return func(_, hard context.Context, show func(view)) corev1.ContainerState {
		return h.runOnce(hard, p, cmd, restarts, show)
	}, nil
}

// runOnce runs the command to its end and returns the final state.
func (h hostProcess) runOnce(hard context.Context, p *process, cmd *exec.Cmd, restarts int32,
	show func(view)) corev1.ContainerState {
	begun := time.Now()
	log, err := p.worker.kubelet.logs.create(p.worker.uid, p.spec.Name, restarts)
	if err != nil {
		return startError(begun, 127, err)
	}
	defer log.Close() //nolint:errcheck // what was written is there
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(log, err)
		return startError(begun, 127, err)
	}
	group := cmd.Process.Pid
	// child processes end with it, as in a container
	end := func() { _ = syscall.Kill(-group, syscall.SIGKILL) }
	stop := context.AfterFunc(hard, end)
	defer stop()
	show(view{state: running(begun), ready: true})
	_ = cmd.Wait() // the process state has more details
	end()
	return terminated(begun, time.Now(), exitCode(cmd.ProcessState))
}

func (h hostProcess) home(p *process) string {
	return filepath.Join(p.worker.kubelet.homes, string(p.worker.uid), p.spec.Name)
}

func (h hostProcess) remove(p *process) {
	_ = os.RemoveAll(h.home(p))
	_ = os.Remove(filepath.Dir(h.home(p))) // succeeds for the last container
}
