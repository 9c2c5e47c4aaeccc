package rollout

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// chain returns an install of an app in which each component reads three of the
// outputs of the one before.
func chain(components, outputs int) *snapshot {
	s := newSnapshot()
	s.config.Components, s.components = nil, map[string]*installComponent{"sandbox": s.components["sandbox"]}
	name := func(i int) string { return fmt.Sprintf("c%03d", i) }
	for i := range components {
		c := appconfig.Component{Name: name(i), Kind: "terraform_module",
			Terraform: &appconfig.Terraform{Vars: map[string]string{}}}
		for v := range 3 {
			if i > 0 {
				c.Terraform.Vars[fmt.Sprint("v", v)] = fmt.Sprintf("{{.nuon.components.%s.outputs.out%d}}", name(i-1), v)
			}
		}
		s.config.Components = append(s.config.Components, c)
	}
	for i := range components {
		artifact := &store.Build{ArtifactDigest: "sha256:" + name(i), Number: 1, Status: "succeeded", Reason: "r"}
		s.components[name(i)] = &installComponent{
			declaration: declarationOf(s.config, name(i)), artifact: artifact, newest: artifact,
			component:    store.Component{Name: name(i), Present: true},
			componentRow: componentRow{row: store.InstallComponent{ID: "ico_" + name(i), Name: name(i)}},
		}
		owner := outputOwner{"component", name(i)}
		for o := range outputs {
			s.outputs[owner] = append(s.outputs[owner],
				store.Output{Scope: "component", Owner: name(i), Name: fmt.Sprint("out", o),
					Value: json.RawMessage(`"some value"`)})
		}
	}
	s.land("sandbox")
	for i := range components {
		s.land(name(i))
	}
	return s
}

// TestDesiredStateCostsWhatIsRead: outputs that nothing reads cost nothing, and each component
// costs the same in an app of any size. The cost was once components² × references × outputs.
func TestDesiredStateCostsWhatIsRead(t *testing.T) {
	cost := func(s *snapshot) float64 { return testing.AllocsPerRun(10, func() { s.desiredStates() }) }
	few, many, wide := chain(20, 10), chain(80, 10), chain(20, 200)
	for name, w := range many.desiredStates() {
		if !w.Current {
			t.Fatalf("%s is not current: %s %s", name, w.WaitReason, w.Reason)
		}
	}
	base := cost(few)
	if got := cost(many); got > 4.5*base {
		t.Errorf("20 components cost %.0f allocations, 80 cost %.0f", base, got)
	}
	if got := cost(wide); got > 1.05*base {
		t.Errorf("with 10 outputs each it costs %.0f allocations, with 200 each %.0f", base, got)
	}
}

// TestDesiredStateOfAnInstallThatIsToBeGoneCostsWhatIsThere: each component is
// compared only with those that depend on it.
func TestDesiredStateOfAnInstallThatIsToBeGoneCostsWhatIsThere(t *testing.T) {
	cost := func(components int) float64 {
		s := chain(components, 1)
		s.install.DesiredPresence = "absent"
		return testing.AllocsPerRun(10, func() { s.desiredStates() })
	}
	if few, many := cost(20), cost(80); many > 4.5*few {
		t.Errorf("20 components cost %.0f allocations, 80 cost %.0f", few, many)
	}
}
