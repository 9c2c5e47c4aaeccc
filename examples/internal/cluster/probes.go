package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"

	"github.com/nuon-toolkit/nuon/examples/internal/cluster/container"
)

// probe shows the state of a running container as its probes find it, until ctx ends. A container whose startup or
// liveness probe fails is ended.
func (r *containerRun) probe(ctx context.Context, show func(view)) *sync.WaitGroup {
	spec, all := r.owner.spec, &sync.WaitGroup{}
	update := func(change func(*view)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		change(&r.shown)
		show(r.shown)
	}
	healthy := func() {
		update(func(v *view) { v.started = true; v.ready = spec.ReadinessProbe == nil })
		if spec.LivenessProbe != nil {
			all.Go(func() { r.end(ctx, "Liveness", spec.LivenessProbe, update) })
		}
		if spec.ReadinessProbe != nil {
			all.Go(func() { r.ready(ctx, spec.ReadinessProbe, update) })
		}
	}
	if spec.StartupProbe == nil {
		healthy()
		return all
	}
	update(func(*view) {})
	all.Go(func() {
		if r.succeeds(ctx, "Startup", spec.StartupProbe, update) {
			healthy()
		}
	})
	return all
}

// succeeds waits for the success of a startup probe. It ends the container after too many failures.
func (r *containerRun) succeeds(ctx context.Context, name string, p *corev1.Probe, update func(func(*view))) bool {
	ended := false
	r.repeat(ctx, name, p, update, func(failures, successes int32) bool {
		ended = successes >= p.SuccessThreshold
		return ended
	}, true)
	return ended
}

// end ends the container when its liveness probe fails.
func (r *containerRun) end(ctx context.Context, name string, p *corev1.Probe, update func(func(*view))) {
	r.repeat(ctx, name, p, update, func(int32, int32) bool { return false }, true)
}

// ready shows whether the container is ready.
func (r *containerRun) ready(ctx context.Context, p *corev1.Probe, update func(func(*view))) {
	r.repeat(ctx, "Readiness", p, update, func(failures, successes int32) bool {
		if failures >= p.FailureThreshold {
			update(func(v *view) { v.ready = false })
		}
		if successes >= p.SuccessThreshold {
			update(func(v *view) { v.ready = true })
		}
		return false
	}, false)
}

// repeat probes until ctx ends or enough returns true for the number of failures or successes in a row.
func (r *containerRun) repeat(ctx context.Context, name string, p *corev1.Probe, update func(func(*view)),
	enough func(failures, successes int32) bool, ends bool) {
	if !sleep(ctx, time.Duration(p.InitialDelaySeconds)*time.Second) {
		return
	}
	failures, successes := int32(0), int32(0)
	for {
		err := r.probeOnce(ctx, p)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			failures, successes = 0, successes+1
		} else {
			failures, successes = failures+1, 0
			update(func(v *view) { v.warning = warning{"Unhealthy", fmt.Sprintf("%s probe failed: %v", name, err)} })
		}
		if enough(failures, successes) {
			return
		}
		if ends && failures >= p.FailureThreshold {
			r.stop(ctx)
			return
		}
		if !sleep(ctx, time.Duration(p.PeriodSeconds)*time.Second) {
			return
		}
	}
}

// stop ends the container: at once, if it does not within the grace period of the pod.
func (r *containerRun) stop(ctx context.Context) {
	r.container.Signal(syscall.SIGTERM)
	grace := time.Duration(corev1.DefaultTerminationGracePeriodSeconds) * time.Second
	if set := r.owner.pod.Spec.TerminationGracePeriodSeconds; set != nil {
		grace = time.Duration(*set) * time.Second
	}
	select {
	case <-r.container.Done():
	case <-ctx.Done():
	case <-time.After(grace):
		r.container.Signal(syscall.SIGKILL)
	}
}

// probeOnce returns an error if a probe fails.
func (r *containerRun) probeOnce(ctx context.Context, p *corev1.Probe) error {
	timeout := time.Duration(p.TimeoutSeconds) * time.Second
	switch {
	case p.HTTPGet != nil:
		request, err := httpprobe.NewRequestForHTTPGetAction(p.HTTPGet, r.owner.spec, r.sandbox.address, "probe")
		if err != nil {
			return err
		}
		return outcome(httpprobe.New(false).Probe(request, timeout))
	case p.TCPSocket != nil:
		port, err := portOf(p.TCPSocket.Port.String(), r.owner.spec)
		if err != nil {
			return err
		}
		host := p.TCPSocket.Host
		if host == "" {
			host = r.sandbox.address
		}
		return outcome(tcpprobe.New().Probe(host, port, timeout))
	case p.Exec != nil:
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return r.execQuietly(ctx, p.Exec.Command)
	}
	return errors.New("this cluster has no probes of this kind")
}

func outcome(result probe.Result, said string, err error) error {
	if err == nil && result != probe.Success && result != probe.Warning {
		err = errors.New(said)
	}
	return err
}

// portOf returns a port by its number or its name.
func portOf(text string, c *corev1.Container) (int, error) {
	if number, err := strconv.Atoi(text); err == nil {
		return number, nil
	}
	for _, p := range c.Ports {
		if p.Name == text {
			return int(p.ContainerPort), nil
		}
	}
	return 0, fmt.Errorf("the container has no port %s", text)
}

// execQuietly runs a command in the container. Its exit code must be zero.
func (r *containerRun) execQuietly(ctx context.Context, command []string) error {
	p := r.spec.Process
	p.Args = command
	running, err := r.container.Exec(p, container.Streams{})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { running.Signal(syscall.SIGKILL) })
	defer stop()
	<-running.Done()
	if ctx.Err() != nil {
		return fmt.Errorf("command %q timed out", command)
	}
	if code := running.ExitCode(); code != 0 {
		return fmt.Errorf("command %q ended with exit code %d", command, code)
	}
	return nil
}
