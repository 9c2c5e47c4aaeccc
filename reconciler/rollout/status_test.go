package rollout

import (
	"testing"

	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

func TestStatus(t *testing.T) {
	at := func(name, desired, applied string) store.InstallComponent {
		artifact := ""
		if applied != "" {
			artifact = "sha256:a"
		}
		return store.InstallComponent{
			ID: "ico_" + name, Name: name, DesiredPresence: "present", DesiredDigest: desired, AppliedDigest: applied,
			AppliedArtifact: artifact, DesiredReason: "input greeting changed",
		}
	}
	waits := func(c store.InstallComponent, for_ string) store.InstallComponent {
		c.WaitsFor, c.DesiredDigest = for_, ""
		return c
	}
	absent := func(c store.InstallComponent) store.InstallComponent { c.DesiredPresence = "absent"; return c }
	no := func(kind string) map[string]map[string]store.Rejection {
		return map[string]map[string]store.Rejection{"web": {"d2": {Kind: kind, Actor: "alice", Reason: "too risky"}}}
	}
	busy := []store.BusyOfInstallsRow{{Component: "web"}}
	gone := store.Install{DesiredPresence: "absent"}
	for _, c := range []struct {
		name string
		view View
		want string
	}{
		{"nothing known yet", View{}, "new: the app has nothing to deploy yet"},
		{"nothing there", View{Components: []store.InstallComponent{at("web", "d1", "")}},
			"new: web: input greeting changed"},
		{"all there", View{Components: []store.InstallComponent{at("web", "d1", "d1")}, Release: store.Release{Number: 3}},
			"current: everything is at release 3"},
		{"behind", View{Components: []store.InstallComponent{at("web", "d2", "d1")}}, "behind: web: input greeting changed"},
		{"being deployed", View{Components: []store.InstallComponent{at("web", "d2", "d1")}, Busy: busy},
			"deploying: working on web"},
		{"held up by its runner", View{Components: []store.InstallComponent{at("web", "d2", "d1")}, Busy: busy,
			RunnerUnavailable: "runner berlin takes no jobs now (a freeze)"},
			"deploying: working on web, but runner berlin takes no jobs now (a freeze)"},
		{"asked", View{Components: []store.InstallComponent{at("web", "d2", "d1")}, Busy: busy,
			Waiting: []store.WaitingOfInstallsRow{{Component: "web"}}},
			"waiting_for_approval: the plan of web waits for approval"},
		{"rejected", View{Components: []store.InstallComponent{at("web", "d2", "d1")}, Rejections: no("rejected")},
			"rejected: web: behind, rejected by alice: too risky"},
		{"refused before, and applied since", View{Components: []store.InstallComponent{at("web", "d2", "d2")},
			Rejections: no("rejected"), Release: store.Release{Number: 1}}, "current: everything is at release 1"},
		{"stalled", View{App: "shop", Install: store.Install{Name: "acme"},
			Components: []store.InstallComponent{at("web", "d2", "d1")}, Rejections: no("stalled")},
			"stalled: web: behind, stalled: too risky; fix it and push, or try again with `nuon deploy shop/acme`"},
		{"waiting", View{Components: []store.InstallComponent{at("net", "d1", "d1"),
			waits(at("web", "", "d1"), "build 2 of web is running")}}, "waiting: web: waits: build 2 of web is running"},
		{"waiting for ever",
			View{Components: []store.InstallComponent{waits(at("web", "", "d1"), "secret values never pass through templates")},
				Unsatisfiable: map[string]bool{"web": true}},
			"stalled: web: secret values never pass through templates"},
		{"being destroyed", View{Install: gone, Components: []store.InstallComponent{absent(at("web", "d2", "d1"))},
			Busy: busy}, "deprovisioning: everything is being destroyed"},
		{"gone", View{Install: gone, Components: []store.InstallComponent{absent(at("web", "", ""))}},
			"deprovisioned: it is not deployed"},
		{"a component that left and is gone does not count",
			View{Components: []store.InstallComponent{at("net", "d1", "d1"), absent(at("web", "", ""))},
				Release: store.Release{Number: 1}}, "current: everything is at release 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, reason := c.view.Status()
			if got := status + ": " + reason; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestBlocked: an install is not blocked while any part of it may still progress, and
// is blocked if all that is missing comes from a person or another release.
func TestBlocked(t *testing.T) {
	part := func(name, waits string, stuck bool) store.InstallComponent {
		return store.InstallComponent{Name: name, DesiredPresence: "present", WaitsFor: waits, Stalled: stuck}
	}
	stuck, waits, behind := part("web", "input zone has no value", true), part("net", "build 2 of net is running", false),
		part("db", "", false)
	done := store.InstallComponent{Name: "done", DesiredPresence: "present", DesiredDigest: "d", AppliedDigest: "d",
		AppliedArtifact: "a"}
	for name, c := range map[string]struct {
		view View
		want bool
	}{
		"nothing known":         {View{}, false},
		"all there":             {View{Components: []store.InstallComponent{done}}, false},
		"an input":              {View{Components: []store.InstallComponent{done, stuck}}, true},
		"a build":               {View{Components: []store.InstallComponent{waits}}, false},
		"both":                  {View{Components: []store.InstallComponent{stuck, waits}}, false},
		"something else's turn": {View{Components: []store.InstallComponent{stuck, behind}}, false},
		"a workflow": {View{Components: []store.InstallComponent{stuck},
			Busy: []store.BusyOfInstallsRow{{Component: "net"}}}, false},
		"a question": {View{Components: []store.InstallComponent{stuck},
			Waiting: []store.WaitingOfInstallsRow{{Component: "net"}}}, false},
		"settings that wait": {View{Components: []store.InstallComponent{stuck},
			Waiting: []store.WaitingOfInstallsRow{{Kind: workflow.ApprovalOfSettings}}}, true},
		"of an older release": {View{Components: []store.InstallComponent{stuck}, Unresolved: true}, false},
		"of one that is to be gone": {View{Components: []store.InstallComponent{stuck},
			Install: store.Install{DesiredPresence: "absent"}}, false},
	} {
		if got := c.view.Blocked(); got != c.want {
			t.Errorf("%s: blocked %t", name, got)
		}
	}
}

// TestTroubleOfAnOlderReleaseIsNotTheNewOnes: the stored status of a component does
// not apply to a release that it has not been compared with.
func TestTroubleOfAnOlderReleaseIsNotTheNewOnes(t *testing.T) {
	v := View{
		Release: store.Release{Number: 2}, Unsatisfiable: map[string]bool{"web": true},
		Components: []store.InstallComponent{{Name: "web", AppliedArtifact: "a", WaitsFor: "an input that nobody gives"}},
	}
	if status, _ := v.Status(); status != StatusStalled {
		t.Errorf("compared with its release: %s", status)
	}
	v.Unresolved = true
	if status, why := v.Status(); status != StatusBehind || why != "the install is not compared with release 2 yet" {
		t.Errorf("not compared yet: %s, %s", status, why)
	}
}
