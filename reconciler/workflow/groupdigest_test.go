package workflow

import (
	"bytes"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// planOf returns the end of a plan job of an install, with its target and report.
func planOf(install, address, before string) (jobEnd, Target, *diff.Report) {
	place := "ico_" + install
	e := jobEnd{
		install: store.Install{AppID: "app_1", ID: "ins_" + install, Name: install, RunnerID: "run_" + install},
		step:    store.Step{Component: "web", InstallComponentID: &place},
		result:  api.JobResult{Plan: api.PlanResult{Report: []byte("{}")}},
	}
	report := &diff.Report{Kind: diff.KindTerraform, Applyable: true, Changes: []diff.Change{{
		Address: address, Action: diff.Update, Risk: diff.RiskInPlace, ResourceKind: "terraform_data", Name: "it",
		Fields: []diff.FieldChange{{Path: "input", Before: diff.ShownValue{Text: before, Type: diff.TypeString},
			After: diff.ShownValue{Text: "new", Type: diff.TypeString}}},
	}}}
	report.Totals = report.Count()
	return e, Target{Deploy: api.DeploySpec{Artifact: api.ArtifactRef{Digest: "sha256:1"}}}, report
}

// TestAlike: plans share a group only if a person may approve them together; a plan
// that needs an individual answer has none.
func TestAlike(t *testing.T) {
	e, target, report := planOf("acme-prod", "terraform_data.acme-prod", "old")
	acme := e.groupDigest(target, report)
	if !sha256Digest.MatchString(acme) {
		t.Fatalf("the group is %q", acme)
	}
	for name, c := range map[string]struct {
		change func(e *jobEnd, target *Target, report *diff.Report)
		same   bool
	}{
		"an install like it": {func(*jobEnd, *Target, *diff.Report) {}, true},
		"another app":        {func(e *jobEnd, _ *Target, _ *diff.Report) { e.install.AppID = "app_2" }, false},
		"another component":  {func(e *jobEnd, _ *Target, _ *diff.Report) { e.step.Component = "metrics" }, false},
		"another artifact": {func(_ *jobEnd, target *Target, _ *diff.Report) {
			target.Deploy.Artifact.Digest = "sha256:2"
		}, false},
		"a teardown":            {func(e *jobEnd, _ *Target, _ *diff.Report) { e.step.Destroy = true }, false},
		"said to be destroying": {func(e *jobEnd, _ *Target, _ *diff.Report) { e.result.Plan.Destructive = true }, false},
		"another value": {func(_ *jobEnd, _ *Target, r *diff.Report) { r.Changes[0].Fields[0].Before.Text = "older" },
			false},
		"another resource": {func(_ *jobEnd, _ *Target, r *diff.Report) {
			r.Changes[0].Address = "terraform_data.acme-prod"
		}, false},
	} {
		e, target, report := planOf("globex-eu", "terraform_data.globex-eu", "old")
		c.change(&e, &target, report)
		if same := e.groupDigest(target, report) == acme; same != c.same {
			t.Errorf("%s: in one group %t", name, same)
		}
	}
	replaced := func(id string) string {
		e, target, report := planOf("acme-prod", "terraform_data.it", id)
		report.Changes[0].Action, report.Changes[0].Risk, report.Changes[0].Fields[0].After = diff.Replace, diff.RiskReplace,
			diff.ShownValue{Unknown: true}
		return e.groupDigest(target, report)
	}
	if replaced("8f3c") != replaced("1d09") {
		t.Error("the ids of what is replaced tell plans apart")
	}
	target.Restore.Version = 3
	if got := e.groupDigest(target, report); got != "" {
		t.Errorf("a restore is in the group %q", got)
	}
	target.Restore.Version = 0
	report.Changes[0].Findings = []diff.Finding{{Rule: "masked-change", Message: "an argument changes",
		IndividualApproval: true}}
	if got := e.groupDigest(target, report); got != "" {
		t.Errorf("a report that must be approved by itself is in the group %q", got)
	}
	report.Changes[0].Findings = nil
	e.result.Plan.Report = bytes.Repeat([]byte(" "), maxGroupedReportBytes+1)
	if got := e.groupDigest(target, report); got != "" {
		t.Errorf("a large report is in the group %q", got)
	}
}
