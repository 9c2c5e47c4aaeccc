package rollout_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// said formats the status that a View reports.
func said(v rollout.View) []string {
	status, reason := v.Status()
	all := []string{status + ": " + reason, fmt.Sprint("behind: ", v.Behind), fmt.Sprint("applied: ", v.AppliedRelease())}
	for _, c := range v.Components {
		status, reason := v.ComponentStatus(c)
		all = append(all, fmt.Sprintf("%s %s: %s %s %t", c.Name, status, reason, v.Disabled[c.Name], c.Stalled))
	}
	return all
}

// views returns the install's view as computed now, and as stored.
func (w *world) views() (now, stored rollout.View) {
	w.Helper()
	must(w, w.store.ReadTx(w.Context(), w.org, func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.InstallForStatus(ctx, tx.Org, w.install)
		if err != nil {
			return err
		}
		worked, err := rollout.LoadViews(ctx, tx, []store.Install{install})
		if err != nil {
			return err
		}
		read, err := rollout.LoadStoredViews(ctx, tx, []store.Install{install})
		if err == nil {
			now, stored = worked[0], read[0]
		}
		return err
	}))
	return now, stored
}

// TestStoredViewsSayWhatIsWorkedOut: after each event, the stored view of an install
// equals the computed one.
func TestStoredViewsSayWhatIsWorkedOut(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"an input moves", func() { w.input("greeting", "hi") }},
		{"a plan waits", func() { w.runJobs() }},
		{"it is rejected", func() { must(t, w.answer("web", workflow.Reject, "too risky")) }},
		{"a build", func() { w.build("metrics", "running") }},
		{"that fails", func() { w.endBuild("metrics", "failed") }},
		{"a contested state", func() { w.putState("network", "other", "contested") }},
		{"a teardown", func() {
			_, err := w.wish(rollout.DeployRequest{Kind: workflow.KindTeardown, Components: []string{"metrics"}})
			must(t, err)
		}},
		{"an end", func() { w.exec("update installs set desired_presence = 'absent'") }},
	} {
		step.do()
		w.look()
		now, stored := w.views()
		if diff := cmp.Diff(said(now), said(stored)); diff != "" {
			t.Errorf("after %s:\n%s", step.name, diff)
		}
	}
}

// TestAPushLeavesNoStoredViewCurrent: until an install is reconciled with the app's new release,
// lists do not show it as current, so a client that waits for that release keeps waiting.
func TestAPushLeavesNoStoredViewCurrent(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	w.look()
	if _, stored := w.views(); stored.AppliedRelease() == 0 {
		t.Fatalf("before the push it is %v", said(stored))
	}
	w.build("metrics", "succeeded")
	_, stored := w.views()
	if status, reason := stored.Status(); status != rollout.StatusBehind || stored.AppliedRelease() != 0 {
		t.Errorf("after the push it is %s: %s, with release %d applied", status, reason, stored.AppliedRelease())
	}
	w.look()
	if _, stored := w.views(); stored.Unresolved {
		t.Errorf("once it was reconciled it is %v", said(stored))
	}
}
