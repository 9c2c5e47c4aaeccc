package main

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestTroubleOf(t *testing.T) {
	for image, want := range map[string]trouble{
		"nginx":                        {},
		"missing":                      {kind: missing},
		"reg.test:5000/a/missing":      {kind: missing},
		"reg.test:5000/a/crash:1.2":    {kind: crash},
		"a/never@sha256:0123":          {kind: never},
		"a/never:1@sha256:0123":        {kind: never},
		"slow-7":                       {kind: slow, delay: 7 * time.Second},
		"slow-":                        {},
		"slow-x":                       {},
		"slow--1":                      {},
		"slow-99999999999999999999999": {},
		"missing/nginx":                {},
		"missing-not":                  {},
		"":                             {},
	} {
		if got := troubleOf(image); got != want {
			t.Errorf("%q asks for %+v, want %+v", image, got, want)
		}
	}
}

// brief returns a short text for a view.
func brief(v view) string {
	state := "?"
	switch {
	case v.state.Running != nil:
		state = "running"
	case v.state.Waiting != nil:
		state = v.state.Waiting.Reason
	case v.state.Terminated != nil:
		state = fmt.Sprintf("ended %d", v.state.Terminated.ExitCode)
	}
	if v.ready {
		state += " ready"
	}
	if v.last.Terminated != nil {
		state += fmt.Sprintf(", last %d", v.last.Terminated.ExitCode)
	}
	if v.warning.reason != "" {
		state += ", warns " + v.warning.reason
	}
	return fmt.Sprintf("%s, restarts %d, next %s", state, v.restarts, v.next)
}

func TestPretended(t *testing.T) {
	for _, test := range []struct {
		image  string
		ending ending
		after  time.Duration
		want   string
	}{
		{"nginx", ending{again: true}, 0, "running ready, restarts 0, next 0s"},
		{"nginx", ending{again: true}, time.Hour, "running ready, restarts 0, next 0s"},
		{"nginx", ending{ends: true, after: time.Second}, 400 * time.Millisecond, "running ready, restarts 0, next 600ms"},
		{"nginx", ending{ends: true, after: time.Second}, time.Second, "ended 0, restarts 0, next 0s"},
		{"nginx", ending{ends: true}, 0, "ended 0, restarts 0, next 0s"},
		{"slow-3", ending{again: true}, time.Second, "running, restarts 0, next 2s"},
		{"slow-3", ending{again: true}, 3 * time.Second, "running ready, restarts 0, next 0s"},
		{"slow-3", ending{ends: true, after: time.Second}, 2 * time.Second, "running, restarts 0, next 1s"},
		{"slow-3", ending{ends: true, after: time.Second}, 3 * time.Second, "ended 0, restarts 0, next 0s"},
		{"never", ending{again: true}, time.Hour, "running, warns Unhealthy, restarts 0, next 0s"},
		{"never", ending{ends: true}, time.Hour, "running, warns Unhealthy, restarts 0, next 0s"},
		{"missing", ending{again: true}, 0, "ErrImagePull, warns Failed, restarts 0, next 1s"},
		{"missing", ending{}, time.Hour, "ImagePullBackOff, warns Failed, restarts 0, next 0s"},
		{"crash", ending{again: true}, 0, "running, restarts 0, next 1s"},
		{"crash", ending{again: true}, time.Second, "CrashLoopBackOff, last 1, warns BackOff, restarts 0, next 1s"},
		{"crash", ending{again: true}, 2500 * time.Millisecond, "running, last 1, restarts 1, next 500ms"},
		{"crash", ending{again: true}, 3 * time.Second, "CrashLoopBackOff, last 1, warns BackOff, restarts 1, next 2s"},
		{"crash", ending{}, time.Minute, "ended 1, restarts 0, next 0s"},
	} {
		begun := time.Unix(1, 0)
		p := &pretended{image: test.image, ending: test.ending, begun: begun}
		if got := brief(p.look(begun.Add(test.after))); got != test.want {
			t.Errorf("%s %+v after %s: %s, want %s", test.image, test.ending, test.after, got, test.want)
		}
	}
}

func TestPhase(t *testing.T) {
	ok, bad := view{state: terminated(time.Time{}, time.Time{}, 0)}, view{state: terminated(time.Time{}, time.Time{}, 3)}
	runs, waits := view{state: running(time.Time{}), ready: true}, view{state: waiting("x", "")}
	loops := view{state: waiting("CrashLoopBackOff", ""), last: bad.state}
	sidecar := corev1.Container{RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}
	for name, test := range map[string]struct {
		specs      []corev1.Container
		init, main []view
		want       corev1.PodPhase
	}{
		"runs":                       {nil, nil, []view{runs, ok}, corev1.PodRunning},
		"one waits":                  {nil, nil, []view{runs, waits}, corev1.PodPending},
		"restarts":                   {nil, nil, []view{loops}, corev1.PodRunning},
		"all well":                   {nil, nil, []view{ok, ok}, corev1.PodSucceeded},
		"one badly":                  {nil, nil, []view{ok, bad}, corev1.PodFailed},
		"init runs":                  {make([]corev1.Container, 1), []view{runs}, []view{waits}, corev1.PodPending},
		"init ended badly":           {make([]corev1.Container, 1), []view{bad}, []view{waits}, corev1.PodFailed},
		"init ended well":            {make([]corev1.Container, 1), []view{ok}, []view{runs}, corev1.PodRunning},
		"sidecar runs, main is done": {[]corev1.Container{sidecar}, []view{runs}, []view{ok}, corev1.PodSucceeded},
		"sidecar waits":              {[]corev1.Container{sidecar}, []view{waits}, []view{waits}, corev1.PodPending},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{InitContainers: test.specs}}
		if got := phase(pod, test.init, test.main); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, test := range []struct {
		text  string
		lines int64
		want  string
	}{
		{"a\nb\nc\n", -1, "a\nb\nc\n"},
		{"a\nb\nc\n", 0, ""},
		{"a\nb\nc\n", 1, "c\n"},
		{"a\nb\nc", 2, "b\nc"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"\n\n", 1, "\n"},
		{"", 3, ""},
	} {
		if got := string(lastLines([]byte(test.text), test.lines)); got != test.want {
			t.Errorf("the last %d lines of %q: %q, want %q", test.lines, test.text, got, test.want)
		}
	}
}
