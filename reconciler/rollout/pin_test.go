package rollout_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// pin pins the install to a release; 0 unpins it.
func (w *world) pin(number int) error {
	w.Helper()
	return w.in(func(ctx context.Context, tx *store.Tx) error {
		install, err := tx.LockInstall(ctx, w.org, w.install)
		if err != nil {
			return err
		}
		if number == 0 {
			return rollout.Unpin(ctx, tx, install, "alice")
		}
		return rollout.Pin(ctx, tx, install, number, "it was good", "alice")
	})
}

// TestAPinnedInstallStaysAtItsRelease: later releases do not affect a pinned install,
// and it returns to an earlier release like to any other.
func TestAPinnedInstallStaysAtItsRelease(t *testing.T) {
	w := newWorld(t)
	w.provision()
	first := w.one("select applied_artifact from install_components where name = 'metrics'")

	// Release 3 has another metrics, no web, and a new component cache.
	w.app.Components = append(slices.DeleteFunc(w.app.Components, func(c appconfig.Component) bool {
		return c.Name == "web"
	}),
		appconfig.Component{Name: "cache", Kind: "terraform_module", Terraform: &appconfig.Terraform{Version: "1.11.4"}})
	w.app.Actions = nil
	w.addComponent("cache")
	w.build("metrics", "succeeded")
	w.version()
	w.look()
	w.approveAll()
	if status, reason := w.status(); status != "current" {
		t.Fatalf("the install is %s: %s", status, reason)
	}
	w.want(w.list("select name from install_components where applied_artifact <> '' order by 1"),
		"[cache metrics network sandbox]")

	must(t, w.pin(1))
	w.queue()
	if status, reason := w.component("cache"); status != "behind" ||
		!strings.Contains(reason, "cache is not part of release 1, to which the install is pinned") {
		t.Errorf("cache is %s: %s", status, reason)
	}
	w.want(w.workflows()[len(w.workflows())-2:], "[deploy running teardown running]")
	w.approveAll()
	status, reason := w.status()
	w.want(status+": "+reason, "current: pinned at release 1 (newest is "+w.one("select max(number)::text from releases")+
		"): it was good")
	w.want(w.list("select name from install_components where applied_artifact <> '' order by 1"),
		"[metrics network sandbox web]")
	w.want(w.one("select applied_artifact from install_components where name = 'metrics'"), first)

	// Another config, and new code under the config of the pinned release, change nothing.
	flows := w.workflows()
	w.app.Components[0].Terraform.Version = "1.12.0"
	w.version()
	w.build("network", "succeeded")
	w.look()
	w.want(w.workflows(), flows)
	if status, reason := w.status(); status != "current" ||
		!strings.Contains(reason, "newest is "+w.one("select max(number)::text from releases")) {
		t.Errorf("the install is %s: %s", status, reason)
	}

	must(t, w.pin(0))
	w.queue()
	w.approveAll()
	if status, reason := w.status(); status != "current" || strings.Contains(reason, "pinned") {
		t.Errorf("the install is %s: %s", status, reason)
	}
	w.want(w.list("select name from install_components where applied_artifact <> '' order by 1"),
		"[cache metrics network sandbox]")
}

// TestAFrozenInstallGetsNoCode: new code under the config of the pinned release does
// not reach the install.
func TestAFrozenInstallGetsNoCode(t *testing.T) {
	w := newWorld(t)
	w.exec("update installs set approval = 'approve-all'")
	w.provision()
	before := w.one("select applied_artifact from install_components where name = 'metrics'")
	must(t, w.pin(1))
	w.queue()
	flows := w.workflows()
	w.build("metrics", "succeeded")
	w.look()
	w.runJobs()
	w.want(w.workflows(), flows)
	w.want(w.one("select applied_artifact from install_components where name = 'metrics'"), before)
}

// TestARollbackOfCodeBringsTheVeryDigestsBack: the release differs from the one
// before only in code.
func TestARollbackOfCodeBringsTheVeryDigestsBack(t *testing.T) {
	w := newWorld(t)
	w.provision()
	applied := func() []string {
		return w.list("select name || ' ' || applied_artifact || ' ' || applied_digest from install_components order by 1")
	}
	before := applied()
	w.build("metrics", "succeeded")
	w.look()
	w.approveAll()
	if after := applied(); cmp.Equal(before, after) {
		t.Fatal("the code that was pushed was not applied")
	}
	must(t, w.pin(1))
	w.queue()
	w.want(w.one("select string_agg(distinct component, ' ') from steps s join workflows w on w.id = s.workflow_id "+
		"where w.status = 'running'"), "metrics")
	w.approveAll()
	if diff := cmp.Diff(before, applied()); diff != "" {
		t.Error(diff)
	}
}

// TestAnIncompleteReleaseIsHeld: no part of it reaches an install, not even what
// could be built, until it is complete.
func TestAnIncompleteReleaseIsHeld(t *testing.T) {
	w := newWorld(t)
	w.provision()
	flows := w.workflows()
	w.build("web", "running")
	w.build("metrics", "succeeded")
	w.look()
	w.want(w.workflows(), flows)
	status, reason := w.status()
	w.want(status+": "+reason, "current: everything is at release 1; release 3 is being built")
	w.endBuild("web", "failed")
	w.look()
	w.want(w.workflows(), flows)
	status, reason = w.status()
	w.want(status+": "+reason,
		"current: everything is at release 1; release 3 is held because it is incomplete: build 2 of web failed")
	w.build("web", "succeeded")
	w.look()
	w.approveAll()
	status, reason = w.status()
	w.want(status+": "+reason, "current: everything is at release 4")
}

// TestBeforeTheFirstCompleteRelease: nothing is planned, and every component states
// what it waits for.
func TestBeforeTheFirstCompleteRelease(t *testing.T) {
	w := newWorld(t)
	w.exec("delete from releases")
	w.build("network", "running")
	w.look()
	_, reason := w.component("network")
	w.want(reason, "waits: build 2 of network is running")
	_, reason = w.component("metrics")
	w.want(reason, "waits: release 1 is being built: build 2 of network has not ended")
	w.endBuild("network", "failed")
	w.look()
	_, reason = w.component("network")
	w.want(reason, "waits: network's build 2 failed: no such file")
	_, reason = w.component("metrics")
	w.want(reason, "waits: release 1 is incomplete: build 2 of network failed")
	w.want(w.workflows(), "[]")
	w.build("network", "succeeded")
	w.provision()
}

// TestAReleaseThatCannotBeHad: a release that is unknown or incomplete cannot be pinned.
func TestAReleaseThatCannotBeHad(t *testing.T) {
	w := newWorld(t)
	code := func(err error) string {
		var conflict *refusal.Error
		if !errors.As(err, &conflict) {
			t.Fatalf("got %v", err)
		}
		return conflict.Code + ": " + conflict.Title
	}
	w.want(code(w.pin(7)), "unknown_release: the app of install acme has no release 7")
	w.build("web", "running")
	w.want(code(w.pin(2)), "not_complete: release 2 is building: build 2 of web has not ended")
	w.endBuild("web", "failed")
	w.want(code(w.pin(2)), "not_complete: release 2 is incomplete: build 2 of web failed")
	must(t, w.pin(1))
}

// TestAPinForgetsJustTheNoToWhatItAsksFor: a pin deletes only the refusal of the
// desired state that it requests.
func TestAPinForgetsJustTheNoToWhatItAsksFor(t *testing.T) {
	w := newWorld(t)
	w.provision()
	applied := w.one("select applied_digest from install_components where name = 'metrics'")
	w.build("metrics", "succeeded")
	w.app.Metadata.Description = "two"
	w.version()
	w.look()
	w.runJobs()
	must(t, w.answer("metrics", workflow.Reject, "not today"))
	w.exec(`insert into rejections (org_id, install_component_id, desired_digest, kind, actor, reason, workflow_id)
		select $1, id, $2, 'stalled', 'nuon', 'it failed once', 'wfl' from install_components where name = 'metrics'`,
		w.org, applied)
	w.exec("update install_components set applied_digest = 'sha256:other' where name = 'metrics'")
	must(t, w.pin(1))
	w.want(w.list("select kind from rejections"), "[rejected]")
}

// TestPreviewWritesNothing: a preview runs in a read-only transaction, and changes no row.
func TestPreviewWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.app.Components[0].Toggleable, w.app.Components[0].DefaultEnabled = true, true // metrics
	w.version()
	w.provision()
	before := w.everything()
	var effects []rollout.ComponentEffect
	preview := func(toggles map[string]bool, inputs ...store.InstallInput) error {
		return w.store.ReadTx(t.Context(), w.org, func(ctx context.Context, tx *store.Tx) error {
			install, err := tx.InstallForStatus(ctx, w.org, w.install)
			if err != nil {
				return err
			}
			as := install
			if as.Toggles, err = json.Marshal(toggles); err != nil {
				return err
			}
			effects, err = rollout.Preview(ctx, tx, install, rollout.InstallChange{Install: as, Inputs: inputs})
			return err
		})
	}
	howdy := "howdy"
	must(t, preview(map[string]bool{"metrics": false}, store.InstallInput{Name: "greeting", Value: &howdy}))
	want := []rollout.ComponentEffect{
		{Component: "sandbox", Effect: "none", Reason: "it is already up to date"},
		{Component: "metrics", Effect: "removed", Reason: "metrics is disabled on this install"},
		{Component: "network", Effect: "none", Reason: "it is already up to date"},
		{Component: "web", Effect: "behind", Reason: "input greeting changed"},
	}
	if diff := cmp.Diff(want, effects); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, w.everything()); diff != "" {
		t.Errorf("the preview changed rows:\n%s", diff)
	}
}

// everything returns all rows of all tables.
func (w *world) everything() []string {
	w.Helper()
	var all []string
	for _, table := range w.list(
		"select format('%I.%I', table_schema, table_name) from information_schema.tables where table_schema in ('public', " +
			"'river') and table_type = 'BASE TABLE' order by 1") {
		all = append(all, w.list("select t::text from "+table+" t order by 1")...)
	}
	return all
}

// toggle sets the components that the install switches on and off.
func (w *world) toggle(toggles map[string]bool) {
	w.Helper()
	raw, err := json.Marshal(toggles)
	must(w, err)
	w.exec("update installs set toggles = $1", raw)
}

// TestToggles: a component that is switched off is destroyed after an approval, stays
// away, and can return.
func TestToggles(t *testing.T) {
	w := newWorld(t)
	w.app.Components[0].Toggleable, w.app.Components[0].DefaultEnabled = true, true // metrics
	w.version()
	w.provision()
	w.exec("update installs set approval = 'approve-all', allow_destroy = true")
	w.toggle(map[string]bool{"metrics": false})
	w.look()
	w.runJobs()
	w.want(w.asked(), "[metrics]") // always a person, even if the install's rule approves all plans
	must(t, w.answer("metrics", workflow.Approve, "yes"))
	w.runJobs()
	status, reason := w.component("metrics")
	w.want(status+": "+reason, "removed: metrics is disabled on this install")
	w.want(w.one("select status from workflows order by number desc limit 1"), "succeeded")
	if status, reason := w.status(); status != "current" {
		t.Errorf("the install is %s: %s", status, reason)
	}
	flows := w.workflows()
	w.build("metrics", "succeeded") // new code of a component that is off has no effect
	w.look()
	w.want(w.workflows(), flows)
	w.toggle(map[string]bool{"metrics": true})
	w.look()
	w.approveAll()
	status, _ = w.component("metrics")
	w.want(status, "current")
}

// TestViewsOfManyInstalls: views that are loaded together equal those loaded one by one.
func TestViewsOfManyInstalls(t *testing.T) {
	w := newWorld(t)
	w.provision()
	for i := range 3 {
		w.exec("insert into installs (org_id, id, app_id, name, runner_id) select org_id, id || $1, app_id, name || $1, "+
			"runner_id from installs where id = $2", string(rune('0'+i)), w.install)
	}
	w.exec("update installs set pin_release_id = (select id from releases) where name = 'acme1'")
	w.exec("insert into install_inputs (org_id, install_id, name, value, hash) select org_id, id, 'greeting', name, 'h' " +
		"from installs where name = 'acme2'")
	must(t, w.store.ReadTx(t.Context(), w.org, func(ctx context.Context, tx *store.Tx) error {
		var installs []store.Install
		for _, id := range w.list("select id from installs order by name") {
			install, err := tx.InstallForStatus(ctx, w.org, id)
			must(t, err)
			installs = append(installs, install)
		}
		all, err := rollout.LoadViews(ctx, tx, installs)
		must(t, err)
		for i, install := range installs {
			one, err := rollout.LoadViews(ctx, tx, []store.Install{install})
			must(t, err)
			if diff := cmp.Diff(one[0], all[i]); diff != "" {
				t.Errorf("%s is another among others:\n%s", install.Name, diff)
			}
		}
		if got := len(all); got != 4 {
			t.Errorf("%d views", got)
		}
		return nil
	}))
}
