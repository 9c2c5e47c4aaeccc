package rollout

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

const key = "key-0000000000000001"

// newSnapshot returns an install of an app with a sandbox, network, web (reads
// network and two inputs) and metrics, all built and none deployed.
func newSnapshot() *snapshot {
	s := &snapshot{
		org: store.Org{ID: "org_1", Name: "acme"}, app: store.App{ID: "app_1", Name: "hello"},
		release: store.Release{ID: "rel_1", Number: 1, Status: "complete"}, install: store.Install{ID: "ins_1", Name: "east",
			DesiredPresence: "present"},
		runnerKey: key, components: map[string]*installComponent{}, inputs: map[string]store.InstallInput{},
		outputs: map[outputOwner][]store.Output{},
		config: &appconfig.App{
			Sandbox: &appconfig.Component{Name: "sandbox", Kind: "sandbox", Terraform: &appconfig.Terraform{}},
			Inputs:  []appconfig.Input{{Name: "greeting", Required: true}, {Name: "note"}, {Name: "api_token", Sensitive: true}},
			Components: []appconfig.Component{
				{Name: "metrics", Kind: "terraform_module", Terraform: &appconfig.Terraform{}},
				{Name: "network", Kind: "terraform_module", Terraform: &appconfig.Terraform{}},
				{Name: "web", Kind: "terraform_module", MaxAutoRetries: 50, Terraform: &appconfig.Terraform{Vars: map[string]string{
					"cidr": "{{.nuon.components.network.outputs.net.cidr}}", "join": "{{.nuon.components.network.outputs.join}}",
					"greeting": "{{.nuon.install.inputs.greeting}}", "status": "{{.nuon.components.network.status}}",
				}}},
			},
		},
	}
	for _, name := range []string{"sandbox", "network", "web", "metrics"} {
		p := &installComponent{
			componentRow: componentRow{row: store.InstallComponent{ID: "ico_" + name, ComponentID: "cmp_" + name, Name: name},
				rejections: map[string]store.Rejection{}},
			component: store.Component{ID: "cmp_" + name, Name: name, Present: true},
			artifact: &store.Build{ArtifactDigest: "sha256:" + name, Number: 1, Status: "succeeded",
				Reason: "commit 1a2b3c4 changed it"},
		}
		p.newest = p.artifact
		s.components[name] = p
		p.declaration = declarationOf(s.config, name)
	}
	hello := "hello"
	s.inputs["greeting"] = store.InstallInput{Name: "greeting", Value: &hello}
	return s
}

// land records the desired state of components as applied, as workflow does after an apply.
func (s *snapshot) land(names ...string) {
	for _, name := range names {
		w, p := s.desiredStates()[name], s.components[name]
		p.row.AppliedDigest, p.row.AppliedArtifact = w.Digest, w.digestInputs.Artifact
		p.applied = appliedRecord{DependsOn: p.dependsOn, DigestInputs: w.digestInputs}
		if name == "network" {
			s.outputs[outputOwner{"component", "network"}] = []store.Output{
				{Scope: "component", Name: "net", Value: json.RawMessage(`{"cidr": "10.0.0.0/16", "zone": "a"}`), Hash: "hmac:2"},
				{Scope: "component", Name: "join", Sealed: sealedTo(key), Hash: "hmac:1"},
			}
		}
	}
}

// upgrade changes the config of a component.
func (s *snapshot) upgrade(name string) {
	p := s.components[name]
	p.config.Terraform.Version = "1.12.0"
	p.digest = p.config.ConfigDigest()
}

func sealedTo(id string) json.RawMessage {
	raw, _ := json.Marshal(seal.Sealed{KeyID: id, Ciphertext: []byte("x")})
	return raw
}

func (s *snapshot) landAll() { s.land("sandbox", "network"); s.land("web", "metrics") }

// stands describes the status of each component: current, behind, waits, stuck, refused or gone.
func (s *snapshot) stands() map[string]string {
	all := map[string]string{}
	for name, w := range s.desiredStates() {
		switch {
		case w.Current && w.Absent:
			all[name] = "gone"
		case w.Current:
			all[name] = "current"
		case w.Stalled:
			all[name] = "stuck: " + w.WaitReason
		case w.WaitReason != "":
			all[name] = "waits: " + w.WaitReason
		case w.RejectionReason != "":
			all[name] = "rejected: " + w.RejectionReason
		default:
			all[name] = "behind: " + w.Reason
		}
	}
	return all
}

func TestDesire(t *testing.T) {
	current := map[string]string{"sandbox": "current", "network": "current", "web": "current", "metrics": "current"}
	with := func(changes ...string) map[string]string {
		all := map[string]string{}
		for name, how := range current {
			all[name] = how
		}
		for i := 0; i < len(changes); i += 2 {
			all[changes[i]] = changes[i+1]
		}
		return all
	}
	howdy := "howdy"
	for _, c := range []struct {
		name   string
		change func(*snapshot)
		want   map[string]string
	}{
		{"nothing moved", func(*snapshot) {}, current},
		{"a new artifact", func(s *snapshot) {
			s.components["metrics"].artifact = &store.Build{ArtifactDigest: "sha256:new", Number: 2,
				Reason: "commit 5d6e changed modules/metrics"}
		}, with("metrics", "behind: artifact changed: build 2 of metrics, because commit 5d6e changed modules/metrics")},
		{"a new artifact upstream", func(s *snapshot) {
			s.components["network"].artifact = &store.Build{ArtifactDigest: "sha256:new", Number: 2, Reason: "r"}
		}, with("network", "behind: artifact changed: build 2 of network, because r", "web",
			"waits: network, which is behind")},
		{"the same artifact from another build", func(s *snapshot) {
			s.components["metrics"].artifact = &store.Build{ArtifactDigest: "sha256:metrics", Number: 7}
		}, current},
		{"an input", func(s *snapshot) { s.inputs["greeting"] = store.InstallInput{Value: &howdy} },
			with("web", "behind: input greeting changed")},
		{"an input that nothing reads", func(s *snapshot) { s.inputs["note"] = store.InstallInput{Value: &howdy} }, current},
		{"a required input without a value", func(s *snapshot) { delete(s.inputs, "greeting") },
			with("web", "stuck: input greeting has no value; set it: nuon installs update hello/east --input greeting=VALUE")},
		{"the value of a secret", func(s *snapshot) {
			s.components["web"].refs = append(s.components["web"].refs, render.Path{"install", "secrets", "smtp_password"})
		}, with("web", "behind: secret smtp_password changed")},
		{"a part of an output that is read", func(s *snapshot) {
			s.outputs[outputOwner{"component", "network"}][0].Value = json.RawMessage(`{"cidr": "10.9.0.0/16", "zone": "a"}`)
		}, with("web", "behind: output net.cidr of network changed")},
		{"a part of an output that nobody reads", func(s *snapshot) {
			s.outputs[outputOwner{"component", "network"}][0].Value = json.RawMessage(`{"zone":"b","cidr":"10.0.0.0/16"}`)
		}, current},
		{"an output that went away", func(s *snapshot) {
			s.outputs[outputOwner{"component", "network"}] = s.outputs[outputOwner{"component", "network"}][1:]
		}, with("web", "behind: output net.cidr of network changed")},
		{"a sealed output by its hash", func(s *snapshot) {
			s.outputs[outputOwner{"component", "network"}][1].Hash = "hmac:2"
		}, with("web", "behind: output join of network changed")},
		{"the ciphertext of a sealed output", func(s *snapshot) {
			raw, _ := json.Marshal(seal.Sealed{KeyID: key, Ciphertext: []byte("another")})
			s.outputs[outputOwner{"component", "network"}][1].Sealed = raw
		}, current},
		{"a sealed output that the runner cannot open", func(s *snapshot) {
			s.outputs[outputOwner{"component", "network"}][1].Sealed = sealedTo("key-other")
		}, with("web", "stuck: output join of network is sealed to a key that the runner does not have; deploy what "+
			"outputs it again")},
		{"the config of a component", func(s *snapshot) { s.release.Number = 4; s.upgrade("metrics") },
			with("metrics", "behind: config changed in release 4")},
		{"retries", func(s *snapshot) { s.components["metrics"].config.MaxAutoRetries = 9 }, current},
		{"a release that is being built", func(s *snapshot) {
			s.release.Status, s.release.Reason = "building", "build 2 of network has not ended"
			s.components["network"].artifact, s.components["network"].newest = nil, &store.Build{Number: 2, Status: "running"}
		}, map[string]string{
			"sandbox": "waits: release 1 is being built: build 2 of network has not ended",
			"network": "waits: build 2 of network is running",
			"web":     "waits: release 1 is being built: build 2 of network has not ended",
			"metrics": "waits: release 1 is being built: build 2 of network has not ended"}},
		{"a release that lacks something is held", func(s *snapshot) {
			s.release.Status, s.release.Reason = "incomplete", "metrics cannot be built: modules/metrics is missing"
			s.components["metrics"].component.Problem = "modules/metrics is missing"
		}, map[string]string{
			"sandbox": "stuck: release 1 is incomplete: metrics cannot be built: modules/metrics is missing",
			"metrics": "stuck: metrics cannot be built: modules/metrics is missing",
			"web":     "stuck: release 1 is incomplete: metrics cannot be built: modules/metrics is missing",
			"network": "stuck: release 1 is incomplete: metrics cannot be built: modules/metrics is missing"}},
		{"a build that runs", func(s *snapshot) {
			s.components["network"].artifact, s.components["network"].newest = nil, &store.Build{Number: 2, Status: "running"}
		}, with("network", "waits: build 2 of network is running", "web", "waits: network, which is also waiting "+
			"(build 2 of "+
			"network is running)")},
		{"a build that failed", func(s *snapshot) {
			s.components["network"].artifact, s.components["network"].newest = nil,
				&store.Build{Number: 2, Status: "failed", Error: "main.tf:3: no"}
		}, with("network", "stuck: network's build 2 failed: main.tf:3: no", "web",
			"stuck: network, which is also waiting (network's build 2 failed: main.tf:3: no)")},
		{"a component that cannot be built",
			func(s *snapshot) { s.components["metrics"].component.Problem = "modules/metrics is missing" },
			with("metrics", "stuck: metrics cannot be built: modules/metrics is missing")},
		{"an apply under way", func(s *snapshot) { s.components["network"].row.AppliedDigest = "" }, with(
			"network", "behind: what exists is unknown: its last apply failed or was interrupted, or its state changed",
			"web", "waits: network, which failed to deploy, or its runner has lost contact")},
		{"a no", func(s *snapshot) {
			s.inputs["greeting"] = store.InstallInput{Value: &howdy}
			digest := s.desiredStates()["web"].Digest
			s.components["web"].rejections[digest] = store.Rejection{Kind: "rejected", Actor: "alice", Reason: "too risky"}
		}, with("web", "rejected: behind, rejected by alice: too risky")},
		{"a no to what is not wanted any more", func(s *snapshot) {
			s.inputs["greeting"] = store.InstallInput{Value: &howdy}
			s.components["web"].rejections["sha256:old"] = store.Rejection{Kind: "rejected", Actor: "alice"}
		}, with("web", "behind: input greeting changed")},
		{"a component that left", func(s *snapshot) { s.release.Number = 2; s.components["metrics"].config = nil },
			with("metrics", "behind: metrics was removed from the app in release 2")},
		{"a component that is switched off", func(s *snapshot) {
			s.toggle("metrics",
				false)
			s.toggles = map[string]bool{"metrics": false}
		},
			with("metrics", "behind: metrics is disabled on this install")},
		{"one that is off by default", func(s *snapshot) { s.toggle("metrics", false) },
			with("metrics", "behind: metrics is disabled unless the install enables it")},
		{"one that is off by default and switched on", func(s *snapshot) {
			s.toggle("metrics",
				false)
			s.toggles = map[string]bool{"metrics": true}
		}, current},
		{"one that is on by default", func(s *snapshot) { s.toggle("metrics", true) }, current},
		{"a switch that the app no longer has", func(s *snapshot) { s.toggles = map[string]bool{"metrics": false} }, current},
		{"what needs one that is switched off", func(s *snapshot) { s.toggle("network", false) }, with(
			"network", "stuck: web, which needs it, still exists", "web", "stuck: network, which is switched off")},
		{"a component that was torn down", func(s *snapshot) {
			s.components["metrics"].row.TornDown, s.components["metrics"].row.TornDownReason = true,
				"metrics was torn down by alice"
		}, with("metrics", "behind: metrics was torn down by alice")},
		{"what needs one that was torn down", func(s *snapshot) { s.components["network"].row.TornDown = true }, with(
			"network", "stuck: web, which needs it, still exists", "web", "stuck: network, which is torn down")},
		{"pinned: what is no part of that release", func(s *snapshot) { s.pin(3); s.components["metrics"].config = nil },
			with("metrics", "behind: metrics is not part of release 3, to which the install is pinned")},
		{"an install that is to be gone", func(s *snapshot) { s.install.DesiredPresence = "absent" }, map[string]string{
			"metrics": "behind: the install is being deprovisioned", "web": "behind: the install is being deprovisioned",
			"network": "waits: web, which needs it, still exists",
			"sandbox": "waits: metrics, which needs it, still exists; network, which needs it, still exists; web, which " +
				"needs it, still exists"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSnapshot()
			s.landAll()
			c.change(s)
			if diff := cmp.Diff(c.want, s.stands()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	none := runningWorkflows{busy: map[string]bool{}}
	fresh := func(*snapshot) {}
	rebuilt := func(names ...string) func(*snapshot) {
		return func(s *snapshot) {
			s.landAll()
			for _, name := range names {
				s.components[name].artifact = &store.Build{ArtifactDigest: "sha256:new", Number: 2, Reason: "r"}
			}
		}
	}
	everything := []string{"metrics", "network", "sandbox", "web"}
	for _, c := range []struct {
		name   string
		change func(*snapshot)
		now    runningWorkflows
		want   []workflowStart
	}{
		{"a fresh install is provisioned whole", fresh, none, []workflowStart{{kind: workflow.KindProvision,
			components: everything, reason: "install east is new: everything of release 1 is deployed"}}},
		{"but not while a build is under way", func(s *snapshot) {
			s.components["web"].artifact, s.components["web"].newest = nil, &store.Build{Status: "queued"}
		}, none, nil},
		{"a build that failed holds nobody else up", func(s *snapshot) {
			s.components["web"].artifact, s.components["web"].newest = nil, &store.Build{Status: "failed"}
		}, none, []workflowStart{{kind: workflow.KindProvision, components: everything,
			reason: "install east is new: everything of release 1 is deployed"}}},
		{"nor twice", fresh, runningWorkflows{busy: map[string]bool{"sandbox": true}, overComponents: true}, nil},
		{"nor after a no to its sandbox", func(s *snapshot) {
			s.components["sandbox"].rejections[s.desiredStates()["sandbox"].Digest] = store.Rejection{Kind: "rejected",
				Actor: "alice"}
		}, none, nil},
		{"nothing is behind", rebuilt(), none, nil},
		{"just what is behind", rebuilt("metrics"), none, []workflowStart{{kind: workflow.KindDeploy,
			components: []string{"metrics"}, reason: "metrics is behind: artifact changed: build 2 of metrics, because r"}}},
		{"with what is behind as well and waits for it", rebuilt("network", "web"), none,
			[]workflowStart{{kind: workflow.KindDeploy, components: []string{"network", "web"},
				reason: "network is behind: artifact changed: build 2 of network, because r; web is behind: artifact changed: " +
					"build 2 of web, because r"}}},
		{"not what only may be behind", rebuilt("network"), none, []workflowStart{{kind: workflow.KindDeploy,
			components: []string{"network"}, reason: "network is behind: artifact changed: build 2 of network, because r"}}},
		{"not what is being worked on", rebuilt("network", "metrics"),
			runningWorkflows{busy: map[string]bool{"network": true}, overComponents: true},
			[]workflowStart{{kind: workflow.KindDeploy, components: []string{"metrics"},
				reason: "metrics is behind: artifact changed: build 2 of metrics, because r"}}},
		{"not what was refused, nor what waits for that", func(s *snapshot) {
			rebuilt("network", "web")(s)
			s.components["network"].rejections[s.desiredStates()["network"].Digest] = store.Rejection{Kind: "stalled",
				Actor: "nuon"}
		}, none, nil},
		{"what left is torn down, each on its own",
			func(s *snapshot) { s.landAll(); s.components["metrics"].config = nil; s.components["web"].config = nil }, none,
			[]workflowStart{
				{kind: workflow.KindTeardown, components: []string{"metrics"},
					reason: "metrics was removed from the app in release 1"},
				{kind: workflow.KindTeardown, components: []string{"web"}, reason: "web was removed from the app in release 1"}}},
		{"what is switched off is torn down", func(s *snapshot) { s.landAll(); s.toggle("metrics", false) }, none,
			[]workflowStart{
				{kind: workflow.KindTeardown, components: []string{"metrics"}, reason: "metrics is disabled unless the install " +
					"enables it"}}},
		{"what is off is no part of a provision", func(s *snapshot) { s.toggle("metrics", false) }, none, []workflowStart{
			{kind: workflow.KindProvision, components: []string{"network", "sandbox", "web"},
				reason: "install east is new: everything of release 1 is deployed"}}},
		{"what is off and was never there is left alone", func(s *snapshot) {
			s.land("sandbox", "network")
			s.land(
				"web")
			s.toggle("metrics", false)
		}, none, nil},
		{"what was never there is not torn down",
			func(s *snapshot) { s.landAll(); s.components["metrics"] = &installComponent{} }, none, nil},
		{"to be gone: everything that is there", func(s *snapshot) {
			s.land("sandbox",
				"network")
			s.install.DesiredPresence = "absent"
		}, none,
			[]workflowStart{{kind: workflow.KindDeprovision, components: []string{"network", "sandbox"},
				reason: "install east is to be deprovisioned"}}},
		{"once nothing else runs", func(s *snapshot) { s.landAll(); s.install.DesiredPresence = "absent" },
			runningWorkflows{busy: map[string]bool{"web": true}, overComponents: true}, nil},
		{"to be gone: not what was refused, nor what that stands on", func(s *snapshot) {
			s.landAll()
			s.install.DesiredPresence = "absent"
			s.components["web"].rejections[s.desiredStates()["web"].Digest] = store.Rejection{Kind: "rejected", Actor: "alice"}
		}, none, []workflowStart{{kind: workflow.KindDeprovision, components: []string{"metrics"},
			reason: "install east is to be deprovisioned"}}},
		{"what a first apply may have left is destroyed too", func(s *snapshot) {
			s.landAll()
			s.components["web"].row.AppliedDigest = ""
			s.install.DesiredPresence = "absent"
		}, none, []workflowStart{{kind: workflow.KindDeprovision, components: everything,
			reason: "install east is to be deprovisioned"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSnapshot()
			c.change(s)
			got := s.missingWorkflows(s.desiredStates(), c.now)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(workflowStart{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// toggle makes a component toggleable, with its default.
func (s *snapshot) toggle(name string, on bool) {
	c := *s.components[name].config
	c.Toggleable, c.DefaultEnabled = true, on
	s.components[name].config = &c
}

// pin pins the install to a release.
func (s *snapshot) pin(number int32) {
	s.install.PinReleaseID, s.release.Number, s.latest = &s.release.ID, number, number+2
}

// TestMovedInputs distinguishes changed inputs from every other change.
func TestMovedInputs(t *testing.T) {
	howdy := "howdy"
	input := func(s *snapshot) { s.inputs["greeting"] = store.InstallInput{Value: &howdy} }
	for name, c := range map[string]struct {
		change func(*snapshot)
		want   []string
	}{
		"nothing":  {func(*snapshot) {}, nil},
		"an input": {input, []string{"greeting"}},
		"an input and code": {func(s *snapshot) {
			input(
				s)
			s.components["web"].artifact = &store.Build{ArtifactDigest: "sha256:new"}
		}, nil},
		"an input and config": {func(s *snapshot) { input(s); s.upgrade("web") }, nil},
		"an input and an output": {func(s *snapshot) {
			input(s)
			s.outputs[outputOwner{"component", "network"}][1].Hash = "hmac:2"
		}, nil},
		"an input and an apply that ended badly": {func(s *snapshot) { input(s); s.components["web"].row.AppliedDigest = "" },
			nil},
		"everything": {func(s *snapshot) { s.components["web"].row.AppliedArtifact = "" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSnapshot()
			s.landAll()
			c.change(s)
			if diff := cmp.Diff(c.want, s.desiredStates()["web"].changes.inputs()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDependents(t *testing.T) {
	s := newSnapshot()
	s.landAll()
	if diff := cmp.Diff([]string{"metrics", "network", "web"}, s.dependents(s.desiredStates(), "sandbox")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"web"}, s.dependents(s.desiredStates(), "network")); diff != "" {
		t.Error(diff)
	}
	if got := s.dependents(s.desiredStates(), "network", "web"); got != nil {
		t.Errorf("those that are named are among them: %v", got)
	}
	s.toggle("web", false)
	if got := s.dependents(s.desiredStates(), "network"); got != nil {
		t.Errorf("one that is off needs nothing, but: %v", got)
	}
}

func TestRetriesAreBounded(t *testing.T) {
	s := newSnapshot()
	s.landAll()
	if got := s.desiredStates()["web"].Retries; got != maxRetries {
		t.Errorf("50 retries were asked for and %d are taken, want %d", got, maxRetries)
	}
}

func TestASpecHoldsJustWhatTemplatesRead(t *testing.T) {
	s := newSnapshot()
	s.landAll()
	s.components["network"].row.AppliedDigest = "sha256:x"
	values, err := s.values(s.components["web"].config.Refs())
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(values.Plain, &plain); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"components": map[string]any{"network": map[string]any{
			"outputs": map[string]any{"net": map[string]any{"cidr": "10.0.0.0/16", "zone": "a"}}, "status": "active",
		}},
		"inputs": map[string]any{"inputs": map[string]any{"greeting": "hello"}},
	}
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Error(diff)
	}
	sealed := []api.SealedValue{{
		Path: []string{"components", "network", "outputs", "join"}, Sealed: seal.Sealed{KeyID: key, Ciphertext: []byte("x")},
		Component: "ico_network", Hash: "hmac:1",
	}}
	if diff := cmp.Diff(sealed, values.Sealed); diff != "" {
		t.Error(diff)
	}
	proofs := []api.ValueProof{{Path: []string{"components", "network", "outputs", "net"},
		Component: s.components["network"].row.ID, Hash: "hmac:2"}}
	if diff := cmp.Diff(proofs, values.Proofs); diff != "" {
		t.Error(diff)
	}
}

func TestAWholeObjectCountsByItsMembers(t *testing.T) {
	s := newSnapshot()
	s.landAll()
	s.outputs[outputOwner{"action", "smoke"}] = []store.Output{
		{Scope: "action", Name: "ok", Value: json.RawMessage("true")}, {Scope: "action", Name: "steps.probe.ms",
			Value: json.RawMessage("12")},
	}
	refs := []render.Path{{"actions", "workflows", "smoke", "outputs"}, {"components", "network", "outputs"},
		{"install", "id"}, {"sandbox", "outputs", "none"}}
	var paths []string
	for _, v := range s.digestValues(refs) {
		paths = append(paths, v.Path)
	}
	want := []string{"actions.workflows.smoke.outputs.ok", "actions.workflows.smoke.outputs.steps.probe.ms",
		"components.network.outputs.join", "components.network.outputs.net", "install.id", "sandbox.outputs.none"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
}

// A desired digest is a function of artifact, config and values only.
func TestDesiredDigestsAreEqualForEqualFactsOnly(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) digestInputs {
		word := rapid.SampledFrom([]string{"", "a", "b", `a","b`})
		f := digestInputs{Artifact: word.Draw(t, "artifact"), Config: word.Draw(t, "config"),
			Build: rapid.Int32().Draw(t, "build"), Release: rapid.Int32().Draw(t, "release")}
		for range rapid.IntRange(0, 2).Draw(t, "values") {
			f.Values = append(f.Values, valueDigest{word.Draw(t, "path"), word.Draw(t, "digest")})
		}
		return f
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		equal := a.Artifact == b.Artifact && a.Config == b.Config && len(a.Values) == len(b.Values)
		for i := range a.Values {
			equal = equal && i < len(b.Values) && a.Values[i] == b.Values[i]
		}
		if (a.digest() == b.digest()) != equal {
			t.Fatalf("%+v and %+v: equal digests %t, want %t", a, b, !equal, equal)
		}
	})
}
