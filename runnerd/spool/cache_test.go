package spool

import (
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

	if _, found, err := s.CachedState("web"); found || err != nil {
		t.Fatalf("before anything was handed in: %t %v", found, err)
	}
	for _, step := range []struct {
		by     Attempt
		serial int64
	}{{plan, 7}, {other, 1}, {apply, 8}, {action, 9}} {
		if err := step.by.CacheState(api.State{Serial: step.serial, Lineage: "l"}); err != nil {
			t.Fatal(err)
		}
	}
	got, found, err := s.CachedState("web")
	if diff := cmp.Diff(api.State{Serial: 8, Lineage: "l"}, got); diff != "" || !found || err != nil {
		t.Errorf("%t %v:\n%s", found, err, diff)
	}
	if err := hostile.CacheState(api.State{}); err == nil {
		t.Error("a state was written to a place that the control plane chose")
	}
}
