package terraform

import (
	"errors"
	"slices"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
)

// TestAnOlderPlanIsNotAppliedAgain checks that a hostile control plane cannot have
// an approved plan applied a second time, even if it rolls the state back to the version
// that the plan was made from.
func TestAnOlderPlanIsNotAppliedAgain(t *testing.T) {
	r := newRig(t)
	spec := r.spec(r.mustBuild("m", "m/main.tf", hello))
	spec.Terraform.Vars = map[string]string{"greeting": "one"}
	r.mustApply(applySpec(spec, r.mustPlan(spec, false), false))
	before := slices.Clone(r.states)

	spec.Terraform.Vars = map[string]string{"greeting": "two"}
	planned := r.mustPlan(spec, false)
	r.mustApply(applySpec(spec, planned, false))
	newest := r.states[len(r.states)-1]
	again := func(what string) {
		t.Helper()
		result, err := r.apply(t.Context(), applySpec(spec, planned, false))
		if !isStale(err, "the state moved from serial") {
			t.Fatalf("%s: %+v, %v", what, result, err)
		}
		if last := r.states[len(r.states)-1]; last.Serial != newest.Serial || last.Digest != newest.Digest {
			t.Errorf("%s: the newest state is serial %d, want %d", what, last.Serial, newest.Serial)
		}
	}
	again("the same plan")

	// runnerd stores what it has delivered.
	handedIn, err := spool.Spool{Root: r.root}.Create(spool.Record{Job: "job_before", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	done := api.JobSpec{Kind: api.JobSpecKindPlan, Plan: api.PlanSpec{Deploy: spec}}
	if err := errors.Join(handedIn.SaveSpec(done), handedIn.CacheState(newest)); err != nil {
		t.Fatal(err)
	}
	r.states = before
	again("the same plan, with the state before it")
	r.mustBeFree()
}
