package rollout_test

import "testing"

// TestASettledInstallIsOnlyRead: to reconcile an install of which nothing changed allocates a fraction of what it
// takes to decode its rows, and writes nothing.
func TestASettledInstallIsOnlyRead(t *testing.T) {
	w := newProvisionedWorld(t)
	w.look()
	must(t, w.rollout.Reconcile(t.Context(), w.org, w.install)) // with the rows that the first one wrote
	settled := testing.AllocsPerRun(20, func() { must(t, w.rollout.Reconcile(t.Context(), w.org, w.install)) })
	changes := 0
	changing := testing.AllocsPerRun(20, func() {
		changes++
		w.exec("update installs set pin_reason = $1 where id = $2", string(rune('a'+changes)), w.install)
		must(t, w.rollout.Reconcile(t.Context(), w.org, w.install))
	})
	if t.Logf("%.0f allocations, %.0f with a change", settled, changing); settled > changing/2 {
		t.Errorf("an install that is settled takes %.0f allocations, and one that is not %.0f", settled, changing)
	}
}

// TestAChangedInstallIsNotSettled: each change of the rows that an install is reconciled from has its effect, although
// the install had nothing to do before.
func TestAChangedInstallIsNotSettled(t *testing.T) {
	t.Parallel()
	const behind = "select count(*)::text from workflows where status = 'running'"
	for name, test := range map[string]struct {
		change     func(w *world)
		sql, after string
	}{
		"an input": {func(w *world) { w.input("greeting", "servus") }, behind, "1"},
		"an output": {func(w *world) {
			w.exec(`update outputs set value = '"10.9.0.0/16"' where name = 'cidr'`)
		}, behind, "1"},
		"the hash of a sealed output": {func(w *world) {
			w.exec(`update outputs set hash = 'hmac:other' where name = 'join_token'`)
		}, behind, "1"},
		"a release": {func(w *world) { w.build("network", "succeeded") }, behind, "1"},
		"what is applied": {func(w *world) {
			w.exec("update install_components set applied_digest = '' where name = 'web'")
		}, behind, "1"},
		"a teardown": {func(w *world) {
			w.exec("update install_components set torn_down = true where name = 'metrics'")
		}, behind, "1"},
		"what is wanted of the install": {func(w *world) {
			w.exec("update installs set desired_presence = 'absent'")
		}, behind, "1"},
		"the key of the runner": {func(w *world) { w.exec("update runners set recipient = ''") },
			"select (waits_for like 'the runner has not registered yet%')::text from install_components where name = 'web'",
			"true"},
		"a stored result": {func(w *world) {
			w.exec("update install_components set behind = true where name = 'web'")
		}, "select behind::text from install_components where name = 'web'", "false"},
		"a contested state": {func(w *world) {
			w.putState("web", "sha256:other", "contested")
		}, "select (waits_for <> '')::text from install_components where name = 'web'", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newProvisionedWorld(t)
			w.look()
			for range 2 {
				must(t, w.rollout.Reconcile(t.Context(), w.org, w.install))
			}
			test.change(w)
			if got := w.one(test.sql); got == test.after {
				t.Fatalf("it is %s before the install is reconciled", got)
			}
			must(t, w.rollout.Reconcile(t.Context(), w.org, w.install))
			w.want(w.one(test.sql), test.after)
		})
	}
}

// TestASettledInstallAdvancesItsWorkflows: a workflow that runs is advanced each time, although nothing else is done
// for its install: a request that was lost comes back.
func TestASettledInstallAdvancesItsWorkflows(t *testing.T) {
	t.Parallel()
	w := newProvisionedWorld(t)
	w.input("greeting", "servus")
	w.look()
	for range 3 {
		w.exec("delete from river.river_job")
		must(t, w.rollout.Reconcile(t.Context(), w.org, w.install))
		w.want(w.list("select kind || ' ' || (args ->> 'workflow') from river.river_job"),
			w.list("select 'advance ' || id from workflows where status = 'running'"))
	}
}
