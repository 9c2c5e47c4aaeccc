package workflows

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// group returns the steps of a component that needs others.
func group(component string, status api.StepStatus, needs ...string) []api.Step {
	var steps []api.Step
	var before []string
	for _, n := range needs {
		before = append(before, n+".apply")
	}
	for _, kind := range []api.StepKind{api.StepKindPlan, api.StepKindApprove, api.StepKindApply} {
		id := component + "." + string(kind)
		steps = append(steps, api.Step{ID: id, Kind: kind, Component: component, Status: status, Needs: before})
		before = []string{id}
	}
	return steps
}

func picture(t *testing.T, steps []api.Step, now time.Time) string {
	t.Helper()
	var b strings.Builder
	if err := showTree(&b, steps, now); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTree checks the tree: a node is below the last node that it waits for, and names
// the other ones unless they are above it already.
func TestTree(t *testing.T) {
	steps := group("sandbox", "pending")
	steps = append(steps, group("metrics", "pending", "sandbox")...)
	steps = append(steps, group("network", "pending", "sandbox")...)
	steps = append(steps, group("web", "pending", "sandbox", "network", "metrics")...)
	steps = append(steps,
		api.Step{ID: "a1", Kind: "action", Component: "web", Action: "check", Trigger: "post-deploy-component",
			Status: "pending", Needs: []string{"web.apply"}},
		api.Step{ID: "a2", Kind: "action", Action: "report", Trigger: "post-provision", Status: "pending",
			Needs: []string{"a1", "metrics.apply"}},
		api.Step{ID: "a3", Kind: "action", Action: "by_hand", Trigger: "manual", Status: "pending"})
	want := `  sandbox: plan → approve → apply
  ├─ metrics: plan → approve → apply
  └─ network: plan → approve → apply
     └─ web: plan → approve → apply → action check (after metrics, too)
        └─ report (post-provision): action (after metrics, too)
  by_hand: action
`
	if d := cmp.Diff(want, picture(t, steps, time.Time{})); d != "" {
		t.Error(d)
	}
}

// TestTreeOfRemovals checks that the steps of a removal are described as such.
func TestTreeOfRemovals(t *testing.T) {
	steps := append(group("web", "pending"), group("network", "pending", "web")...)
	for i := range steps {
		steps[i].Destroy = true
	}
	want := "  web: plan removal → approve → remove\n  └─ network: plan removal → approve → remove\n"
	if d := cmp.Diff(want, picture(t, steps, time.Time{})); d != "" {
		t.Error(d)
	}
}

// TestTreeOfTimes checks the times: how long an ended step took, how long a running or
// waiting one has taken, and none for a pending one.
func TestTreeOfTimes(t *testing.T) {
	steps := append(group("net", "succeeded"), group("web", "pending", "net")...)
	steps = append(steps, group("a-long-name-日本", "pending", "net")...)
	for i := range 3 {
		steps[i].StartedAt, steps[i].EndedAt = noon, noon.Add(1500*time.Millisecond)
	}
	steps[3].Status, steps[3].StartedAt = "running", noon.Add(-4*time.Minute)
	steps[7].Status, steps[7].StartedAt, steps[7].Reason = "waiting", noon.Add(-3*time.Hour), "a plan\x1b[2J waits"
	want := `  ✓ plan     net                 succeeded   (1.5s)
  ✓ approve  net                 succeeded   (1.5s)
  ✓ apply    net                 succeeded   (1.5s)
  ├─ … plan     web              running     (for 4m0s)
  │  · approve  web              pending
  │  · apply    web              pending
  └─ · plan     a-long-name-日本 pending
     ? approve  a-long-name-日本 waiting    a plan [2J waits (for 3h0m)
     · apply    a-long-name-日本 pending
`
	if d := cmp.Diff(want, picture(t, steps, noon)); d != "" {
		t.Error(d)
	}
}

// TestTreeOfCode checks that the code of repositories that an action ran is printed below its step.
func TestTreeOfCode(t *testing.T) {
	steps := []api.Step{{ID: "s", Kind: api.StepKindAction, Status: api.StepStatusSucceeded, Action: "check",
		Trigger: manual, Sources: []api.StepSource{
			{Step: "sign in", Name: "actions:scripts", Commit: "0123456789abcdef"},
			{Step: "report", Name: "actions:acme/tools//\x1b[2Jdeploy@main", Commit: "abc"},
		}}}
	want := `  ✓ action   check            succeeded
      ran actions:scripts at commit 0123456 (step sign in)
      ran actions:acme/tools// [2Jdeploy@main at commit abc (step report)
`
	if d := cmp.Diff(want, picture(t, steps, noon)); d != "" {
		t.Error(d)
	}
}

// TestTreeOfAnything checks that each step is printed once for any graph from the
// control plane, including cycles and unknown ids.
func TestTreeOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		names := rapid.SampledFrom([]string{"a", "b", "c", ""})
		var steps []api.Step
		for i := range n {
			s := api.Step{ID: fmt.Sprint(i), Kind: "plan", Component: names.Draw(t, "component"), Status: "running",
				Reason: fmt.Sprintf("<%d>", i)}
			for range rapid.IntRange(0, 3).Draw(t, "needs") {
				s.Needs = append(s.Needs, fmt.Sprint(rapid.IntRange(-1, n).Draw(t, "need")))
			}
			steps = append(steps, s)
		}
		var b strings.Builder
		if err := showTree(&b, steps, noon); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if got := strings.Count(b.String(), fmt.Sprintf("<%d>", i)); got != 1 {
				t.Fatalf("step %d is printed %d times:\n%s", i, got, b.String())
			}
		}
	})
}

// TestLasted checks the format of durations.
func TestLasted(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 40 * time.Millisecond: "40ms", 3210 * time.Millisecond: "3.2s",
		250 * time.Second: "4m10s",
		2*time.Hour + 5*time.Minute + 20*time.Second: "2h5m", time.Hour: "1h0m",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
