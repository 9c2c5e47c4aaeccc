package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestAPinnedInstallNeverMoves: pushes, failed builds, reverts, configs and partial
// releases come in any order. The desired state of an install that is pinned to a release
// stays exactly the same, also when the install returns to that release after others.
//
// More histories: go test ./reconciler/rollout -run NeverMoves -rapid.checks=10000.
func TestAPinnedInstallNeverMoves(t *testing.T) {
	w := newProvisionedWorld(t)
	w.build("web", "succeeded") // so that there are other releases, however the random steps fall
	w.version()
	must(t, w.pin(1))
	w.look()
	at, seen := 1, map[int][]string{1: w.wanted()}
	var history []string
	compare := func(t interface{ Fatalf(string, ...any) }) {
		w.look()
		now := w.wanted()
		if seen[at] == nil {
			seen[at] = now
		}
		if !slices.Equal(seen[at], now) {
			t.Fatalf("release %d is another now (-then +now):\n%s\nafter %q", at, cmp.Diff(seen[at], now), history)
		}
	}
	complete := func() []string {
		return w.list("select number::text from releases where status = 'complete' order by number")
	}
	pin := func(release string) {
		number, err := strconv.Atoi(release)
		must(w, err)
		must(w, w.pin(number))
		at = number
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"sandbox", "metrics", "network", "web"}).Draw(t, "component")
		what := rapid.SampledFrom([]string{"code", "code that fails", "code being built", "builds end", "revert", "config",
			"old config", "partial", "pin"}).Draw(t, "what")
		switch what {
		case "code":
			w.build(name, "succeeded")
		case "code that fails":
			w.build(name, "failed")
		case "code being built":
			w.build(name, "running")
		case "builds end":
			w.endBuilds()
		case "revert":
			old := w.list("select input_id from builds where component_id = $1 and status = 'succeeded' order by number",
				"cmp_"+name)
			w.exec("update components set input_id = $1 where name = $2", rapid.SampledFrom(old).Draw(t, "input"), name)
			w.release()
		case "config":
			w.app.Components[0].Terraform.Vars = map[string]string{"x": strconv.Itoa(len(history))}
			w.version()
		case "old config":
			old := w.list("select id from app_versions order by number")
			w.exec("update apps set version_id = $1", rapid.SampledFrom(old).Draw(t, "version"))
			w.release()
		case "partial":
			_ = w.in(func(ctx context.Context, tx *store.Tx) error { // in most cases there is nothing to release
				app, err := tx.LockApp(ctx, w.org, w.appID)
				if err == nil {
					_, err = release.CreatePartial(ctx, tx, app, "ada")
				}
				return err
			})
		case "pin":
			pin(rapid.SampledFrom(complete()).Draw(t, "release"))
		}
		history = append(history, fmt.Sprintf("%s of %s", what, name))
		compare(t)
	})
	for _, release := range complete() { // the random steps may have pinned few of them
		pin(release)
		compare(t)
	}
	if !w.Failed() && len(seen) < 3 {
		t.Errorf("only %d releases were pinned in %d steps", len(seen), len(history))
	}
}

// wanted returns the desired state of the install.
func (w *world) wanted() []string {
	w.Helper()
	return w.list(`select format('%s %s %s %s', name, desired_presence, desired_digest, waits_for) from install_components
		where desired_presence = 'present' or applied_artifact <> '' order by name`)
}

// endBuilds ends the running builds.
func (w *world) endBuilds() {
	w.Helper()
	for _, input := range w.list("update builds set status = 'succeeded' where status = 'running' returning input_id") {
		must(w, w.in(func(ctx context.Context, tx *store.Tx) error {
			_, err := release.BuildEnded(ctx, tx, input)
			return err
		}))
	}
}
