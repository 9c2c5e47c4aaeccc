package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trouble is the failure that an image's name requests.
type trouble struct {
	kind  string        // one of the names below; empty for none
	delay time.Duration // for slow
}

const (
	missing = "missing"
	crash   = "crash"
	never   = "never"
	slow    = "slow"
)

// troubleOf parses the last element of an image's path, without tag and digest.
func troubleOf(image string) trouble {
	name, _, _ := strings.Cut(path.Base(strings.SplitN(image, "@", 2)[0]), ":")
	switch name {
	case missing, crash, never:
		return trouble{kind: name}
	}
	if text, is := strings.CutPrefix(name, slow+"-"); is {
		if seconds, err := strconv.ParseUint(text, 10, 16); err == nil {
			return trouble{kind: slow, delay: time.Duration(seconds) * time.Second}
		}
	}
	return trouble{}
}

// view is the state that a container shows at one time.
type view struct {
	state, last corev1.ContainerState
	restarts    int32
	ready       bool
	warning     warning       // empty if there is no problem
	next        time.Duration // time until the next change; zero if there is none
	// Of a real container: its id, the id of its image, and that it passed its startup probe.
	id, imageID string
	started     bool
}

// warning becomes an event of the pod, once for each run of the container.
type warning struct{ reason, message string }

// A terminated state is final: a container that will run again is in a waiting state.
func (v view) ended() bool     { return v.state.Terminated != nil }
func (v view) endedWell() bool { return v.ended() && v.state.Terminated.ExitCode == 0 }

// hasRun reports whether the container is running or has run.
func (v view) hasRun() bool {
	return v.state.Running != nil || v.ended() || v.last.Terminated != nil
}

// ending describes the lifetime of a simulated container.
type ending struct {
	ends  bool // without being stopped
	after time.Duration
	again bool // restart after a failure
}

// pretended is a simulated container.
type pretended struct {
	image string
	ending
	begun time.Time
}

const (
	// crashAfter is the duration of a run of crash; pause is the first pause between two runs, which
	// doubles up to longestPause.
	crashAfter   = time.Second
	pause        = time.Second
	longestPause = 30 * time.Second
	// pulling is the duration of a simulated pull that fails.
	pulling = time.Second
)

// crashLog is the log of each run of crash.
const crashLog = "starting\nconnecting to the database\nfatal: connection refused\n"

// look returns the state of the container, which depends only on the time.
func (p *pretended) look(now time.Time) view {
	since, t := now.Sub(p.begun), troubleOf(p.image)
	switch t.kind {
	case missing:
		return p.unpullable(since)
	case crash:
		return p.crashing(since)
	case never:
		return view{state: running(p.begun), warning: warning{"Unhealthy",
			"Readiness probe failed: the image asks to be never ready"}}
	}
	after := max(t.delay, p.after)
	switch {
	case p.ends && since >= after:
		return view{state: terminated(p.begun, p.begun.Add(after), 0)}
	case p.ends:
		return view{state: running(p.begun), ready: since >= t.delay, next: after - since}
	case since < t.delay:
		return view{state: running(p.begun), next: t.delay - since}
	}
	return view{state: running(p.begun), ready: true}
}

func (p *pretended) unpullable(since time.Duration) view {
	if since < pulling {
		said := fmt.Sprintf("Failed to pull image %q: not found", p.image)
		return view{state: waiting("ErrImagePull", said), warning: warning{"Failed", said}, next: pulling - since}
	}
	return view{
		state:   waiting("ImagePullBackOff", fmt.Sprintf("Back-off pulling image %q: ErrImagePull: not found", p.image)),
		warning: warning{"Failed", "Error: ImagePullBackOff"},
	}
}

// crashing simulates the runs of a failing container up to now.
func (p *pretended) crashing(since time.Duration) view {
	begun, wait, last := time.Duration(0), pause, corev1.ContainerState{}
	for restarts := int32(0); ; restarts++ {
		end := begun + crashAfter
		if since < end {
			return view{state: running(p.begun.Add(begun)), last: last, restarts: restarts, next: end - since}
		}
		last = terminated(p.begun.Add(begun), p.begun.Add(end), 1)
		if !p.again {
			return view{state: last}
		}
		begun = end + wait
		if since < begun {
			said := fmt.Sprintf("back-off %s restarting failed container", wait)
			return view{
				state: waiting("CrashLoopBackOff", said), last: last, restarts: restarts,
				warning: warning{"BackOff", "Back-off restarting failed container"}, next: begun - since,
			}
		}
		wait = min(2*wait, longestPause)
	}
}

func running(since time.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func terminated(from, to time.Time, code int32) corev1.ContainerState {
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: metav1.NewTime(from), FinishedAt: metav1.NewTime(to),
	}}
}
