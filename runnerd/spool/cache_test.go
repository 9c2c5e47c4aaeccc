package spool

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

func TestKeptStateIsTheLastOfItsComponent(t *testing.T) {
	s := Spool{Root: t.TempDir()}
	attempt := func(job string, spec api.JobSpec) Attempt {
		a, err := s.Create(Record{Job: job, Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.SaveSpec(spec); err != nil {
			t.Fatal(err)
		}
		return a
	}
	plan := attempt("plan", api.JobSpec{Kind: api.JobSpecKindPlan,
		Plan: api.PlanSpec{Deploy: api.DeploySpec{InstallComponent: "web"}}})
	apply := attempt("apply", api.JobSpec{Kind: api.JobSpecKindApply,
		Apply: api.ApplySpec{Deploy: api.DeploySpec{InstallComponent: "web"}}})
	other := attempt("other", api.JobSpec{Kind: api.JobSpecKindApply,
		Apply: api.ApplySpec{Deploy: api.DeploySpec{InstallComponent: "network"}}})
	action := attempt("action", api.JobSpec{Kind: api.JobSpecKindAction})
	hostile := attempt("hostile", api.JobSpec{Kind: api.JobSpecKindPlan,
		Plan: api.PlanSpec{Deploy: api.DeploySpec{InstallComponent: "../../web"}}})

	if _, _, found, err := s.CachedState("web"); found || err != nil {
		t.Fatalf("before anything was handed in: %t %v", found, err)
	}
	for _, step := range []struct {
		by      Attempt
		serial  int64
		lineage string
	}{{plan, 7, "l"}, {other, 1, "l"}, {plan, 2, "m"}, {apply, 8, "l"}, {action, 9, "l"}, {apply, 6, "l"}} {
		if err := step.by.CacheState(api.State{Serial: step.serial, Lineage: step.lineage}); err != nil {
			t.Fatal(err)
		}
	}
	got, serials, found, err := s.CachedState("web")
	if diff := cmp.Diff(api.State{Serial: 8, Lineage: "l"}, got); diff != "" || !found || err != nil {
		t.Errorf("%t %v:\n%s", found, err, diff)
	}
	if diff := cmp.Diff(map[string]int64{"l": 8, "m": 2}, serials); diff != "" {
		t.Error(diff)
	}
	if err := hostile.CacheState(api.State{}); err == nil {
		t.Error("a state was written to a place that the control plane chose")
	}
}

// TestASpecThatCannotBeReadBackIsNotStored checks the size as it is stored: JSON writes some characters as six.
func TestASpecThatCannotBeReadBackIsNotStored(t *testing.T) {
	a, err := Spool{Root: t.TempDir()}.Create(Record{Job: "job_1", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	spec := api.JobSpec{Kind: api.JobSpecKindAction,
		Action: api.ActionSpec{Env: map[string]string{"A": strings.Repeat("<", maxSpec/6)}}}
	for name, save := range map[string]func(api.JobSpec) error{"of a process": a.SaveSpec, "of a pod": a.SavePodSpec} {
		if err := save(spec); !errors.Is(err, ErrSpecTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, found, err := a.TrustedSpec(); found || err != nil {
		t.Errorf("it is there: %t, %v", found, err)
	}
	spec.Action.Env["A"] = strings.Repeat("<", maxSpec/7)
	if err := a.SaveSpec(spec); err != nil {
		t.Error(err)
	}
	if _, found, err := a.TrustedSpec(); !found || err != nil {
		t.Errorf("the largest: %t, %v", found, err)
	}
}
