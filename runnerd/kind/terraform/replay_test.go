package terraform

import (
	"errors"
	"slices"
	"strings"
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

	// The serial of a state that is sealed to another key is only what the control plane says it is.
	forged := newest
	forged.Serial, forged.Sealed.KeyID = before[0].Serial-1, "other"
	r.states = append(slices.Clone(before), forged)
	if planned, err := r.planRestore(spec, 1); err == nil || !strings.Contains(err.Error(), "has handed in serial") {
		t.Errorf("a restore is planned from a serial that nothing proves: %+v, %v", planned.Basis, err)
	}
	r.mustBeFree()
}

// TestARestoreRepeatsNoSerial checks that a restore after a state was abandoned does not count its serials from 1
// again: plans that were approved and applied before would fit again.
func TestARestoreRepeatsNoSerial(t *testing.T) {
	t.Parallel()
	r, spec := restorable(t)
	handedIn, err := spool.Spool{Root: r.root}.Create(spool.Record{Job: "job_before", Attempt: 1})
	if err != nil {
		t.Fatal(err)
	}
	newest, other := r.states[1], r.states[1]
	other.Lineage, other.Serial = "of what was made anew", 1
	done := api.JobSpec{Kind: api.JobSpecKindPlan, Plan: api.PlanSpec{Deploy: spec}}
	if err := errors.Join(handedIn.SaveSpec(done), handedIn.CacheState(newest), handedIn.CacheState(other)); err != nil {
		t.Fatal(err)
	}
	first := r.states[0]
	r.abandoned = true
	planned, err := r.planRestore(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	r.mustApply(restoreSpec(spec, planned, api.Restore{Version: 1, Digest: first.Digest}))
	if last := r.states[len(r.states)-1]; last.Lineage != first.Lineage || last.Serial != newest.Serial+1 {
		t.Errorf("the restored state is serial %d of %s, want %d of %s", last.Serial, last.Lineage, newest.Serial+1,
			first.Lineage)
	}
}
