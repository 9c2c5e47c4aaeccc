package control_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// TestExplain gives the chain of each kind of record, the cause first, each with its reason.
func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	m := w.one.mark
	pushed := []string{"revision: " + m + " was pushed. " + m + " was built"}
	built := append(slices.Clone(pushed), "component_input: "+m+" changed its module", "build: "+m+" has no build")
	wanted := append(slices.Clone(built), "desired: "+m+" build 1 is new")
	for kind, want := range map[string][]string{
		"revision": pushed,
		"app":      append(slices.Clone(pushed), "app_version: "+m+" was made"),
		"build":    built,
		"plan":     append(slices.Clone(wanted), "plan: "+m+" changes one thing"),
		"workflow": append(slices.Clone(wanted), "workflow: "+m+" is behind", "step: "+m+" was planned"),
		"install": append(slices.Clone(wanted), "install_component: a plan waits for approval: "+m+" build 1 is new",
			"install: "+m+"-web waits for approval: "+m+" build 1 is new"),
	} {
		got, err := w.one.as("viewer").ExplainWithResponse(t.Context(), api.ExplainParamsKind(kind), w.one.ids[kind])
		must(t, err)
		if got.JSON200 == nil {
			t.Errorf("%s: %s", kind, got.Body)
			continue
		}
		var chain []string
		for _, c := range got.JSON200.Chain {
			chain = append(chain, c.Record+": "+c.Reason)
			if c.ID == "" || c.Name == "" {
				t.Errorf("%s: %+v does not say what it is", kind, c)
			}
		}
		if kind == "install" { // its words are rollout's own
			chain, want = chain[:len(chain)-1], want[:len(want)-1]
		}
		if diff := cmp.Diff(want, chain); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}

// TestExplainFailedBuild tells of the failure, and of a component that has no build only what is wanted.
func TestExplainFailedBuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("update builds set status = 'failed', error = 'no such file'")
	got, err := w.one.as("viewer").ExplainWithResponse(t.Context(), api.ExplainParamsKindBuild, w.one.ids["build"])
	must(t, err)
	if chain := got.JSON200.Chain; chain[len(chain)-1].Reason != "no such file" {
		t.Errorf("%s", got.Body)
	}
	w.exec("delete from builds")
	got, err = w.one.as("viewer").ExplainWithResponse(t.Context(), api.ExplainParamsKindPlan, w.one.ids["plan"])
	must(t, err)
	if got.JSON200 == nil || len(got.JSON200.Chain) != 2 {
		t.Errorf("%s", got.Body)
	}
}
