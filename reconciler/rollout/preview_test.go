package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// TestEffects distinguishes the effects of a change from what happens anyway.
func TestEffects(t *testing.T) {
	howdy := "howdy"
	same := []ComponentEffect{
		{"sandbox", "none", "it is already up to date"}, {"metrics", "none", "it is already up to date"},
		{"network", "none", "it is already up to date"}, {"web", "none", "it is already up to date"},
	}
	with := func(changed ...ComponentEffect) []ComponentEffect {
		all := append([]ComponentEffect{}, same...)
		for _, c := range changed {
			for i := range all {
				if all[i].Component == c.Component {
					all[i] = c
				}
			}
		}
		return all
	}
	input := func(s *snapshot) { s.inputs["greeting"] = store.InstallInput{Value: &howdy} }
	nothing := func(*snapshot) {}
	off := func(s *snapshot) { s.toggles = map[string]bool{"metrics": false} }
	for _, c := range []struct {
		name        string
		was, change func(*snapshot)
		want        []ComponentEffect
	}{
		{"nothing", nothing, nothing, same},
		{"an input that is read", nothing, input, with(ComponentEffect{"web", "behind", "input greeting changed"})},
		{"an input that nobody reads", nothing, func(s *snapshot) { s.inputs["note"] = store.InstallInput{Value: &howdy} },
			same},
		{"a value as it is", input, nothing,
			with(ComponentEffect{"web", "none", "not because of this: it is already behind: input greeting changed"})},
		{"a value back to what is deployed", input, func(s *snapshot) {
			hello := "hello"
			s.inputs["greeting"] = store.InstallInput{Value: &hello}
		}, same},
		{"switched off", func(s *snapshot) { s.toggle("metrics", true) }, off,
			with(ComponentEffect{"metrics", "removed", "metrics is disabled on this install"})},
		{"switched on", func(s *snapshot) {
			s.components["metrics"].row = store.InstallComponent{ID: "ico_metrics", ComponentID: "cmp_metrics", Name: "metrics"}
			s.components["metrics"].applied = appliedRecord{}
			s.toggle("metrics", false)
		}, func(s *snapshot) { s.toggles = map[string]bool{"metrics": true} },
			with(ComponentEffect{"metrics", "behind", "metrics is not deployed on this install yet"})},
		{"what waits for something else", func(s *snapshot) {
			s.components["web"].artifact, s.components["web"].newest = nil, &store.Build{Number: 2, Status: "running"}
		}, input,
			with(ComponentEffect{"web", "none", "not because of this: it already waits: build 2 of web is running"})},
		{"what comes after what moves", func(s *snapshot) {
			p := s.components["network"]
			p.config.Terraform.Vars = map[string]string{"g": "{{.nuon.inputs.inputs.greeting}}"}
			p.digest = p.config.ConfigDigest()
		}, func(s *snapshot) {
			s.components["network"].refs = s.components["network"].config.Refs()
			s.components["network"].artifact = &store.Build{ArtifactDigest: "sha256:new", Number: 2, Reason: "r"}
		}, with(ComponentEffect{"network", "behind",
			"artifact changed: build 2 of network, because r; config changed in release 1; input greeting changed"},
			ComponentEffect{"web", "none", "not because of this: it already waits: network, which is behind"})},
		{"what may change after what moves", nothing, func(s *snapshot) {
			s.components["network"].artifact = &store.Build{ArtifactDigest: "sha256:new", Number: 2, Reason: "r"}
		}, with(ComponentEffect{"network", "behind", "artifact changed: build 2 of network, because r"},
			ComponentEffect{"web", "waiting", "it waits: network, which is behind"})},
		{"what moves itself, and comes after what moves", nothing, func(s *snapshot) {
			s.components["network"].artifact = &store.Build{ArtifactDigest: "sha256:new", Number: 2, Reason: "r"}
			input(s)
		}, with(ComponentEffect{"network", "behind", "artifact changed: build 2 of network, because r"},
			ComponentEffect{"web", "behind", "input greeting changed; it comes after network"})},
		{"what a person said no to", nothing, func(s *snapshot) {
			input(s)
			s.components["web"].rejections[s.desiredStates()["web"].Digest] = store.Rejection{Kind: "rejected", Actor: "alice"}
		}, with(ComponentEffect{"web", "behind", "input greeting changed; it is behind, rejected by alice"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			was, will := newSnapshot(), newSnapshot()
			for _, s := range []*snapshot{was, will} {
				s.landAll()
				c.was(s)
			}
			c.change(will)
			if diff := cmp.Diff(c.want, effects(was, will)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
