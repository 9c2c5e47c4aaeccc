package module

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
	"github.com/nuon-toolkit/nuon/runnerd/ambient"
	"github.com/nuon-toolkit/nuon/runnerd/bundle"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// Plan is the handler of plan jobs.
type Plan struct{}

// Run plans. The result has the masked report, and either the sealed bundle that an apply needs, or, when there is nothing to
// apply, the outputs as they stand and a bundle without a digest: nothing will ever open it, so none is kept.
func (Plan) Run(ctx context.Context, env *job.Env) (result api.JobResult, err error) {
	spec := env.Spec.Plan
	if spec.Restore.Version > 0 {
		return planRestore(ctx, env)
	}
	// First what needs nobody: a template that cannot be rendered.
	opened, err := values.Open(spec.Deploy.InstallID, spec.Deploy.Values, env.Key, env.Redact)
	if err != nil {
		return api.JobResult{}, err
	}
	given, err := renderVariables(spec.Deploy, opened)
	if err != nil {
		return api.JobResult{}, err
	}
	packed, err := env.Install.Pull(ctx, spec.Deploy.Artifact)
	if err != nil {
		return api.JobResult{}, err
	}
	session, err := open(ctx, env, spec.Deploy)
	if err != nil {
		return api.JobResult{}, err
	}
	defer func() { err = errors.Join(err, session.close(ctx)) }()
	varFiles, err := given.write(session.place)
	if err != nil {
		return api.JobResult{}, err
	}
	if err := session.prepare(ctx, packed, nil, given.environ); err != nil {
		return api.JobResult{}, err
	}
	planned, err := session.plan(ctx, spec, varFiles, opened.Secrets)
	if err != nil {
		return api.JobResult{}, err
	}
	made, err := planned.result(ctx, given, opened.Secrets)
	if err != nil {
		return api.JobResult{}, err
	}
	return api.JobResult{Status: job.Succeeded, Plan: made}, nil
}

// readModule reads the module in a workplace.
func readModule(place *workplace) (*tfmodule.Module, error) {
	root, err := os.OpenRoot(place.tree())
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return tfmodule.Read(root.FS(), place.module)
}

// planned is a plan that was made.
type planned struct {
	*session
	spec    api.PlanSpec
	report  *diff.Report
	basis   api.Basis
	changed []artifact.File
}

// plan runs Terraform and describes what came of it.
func (s *session) plan(ctx context.Context, spec api.PlanSpec, varFiles []string, known *values.Secrets) (*planned, error) {
	before, err := snapshot(s.place)
	if err != nil {
		return nil, err
	}
	if err := s.terraform.plan(ctx, s.place.plan(), spec.Destroy, varFiles); err != nil {
		return nil, s.said(err)
	}
	after, err := snapshot(s.place)
	if err != nil {
		return nil, err
	}
	made := &planned{session: s, spec: spec, changed: withLockFile(written(before, after), after, s.place)}
	read := s.endpoint.Last() // the one that Terraform read under its lock
	made.basis = api.Basis{
		DesiredDigest: spec.DesiredDigest,
		Artifact:      spec.Deploy.Artifact.Digest,
		StateSerial:   read.Serial,
		StateLineage:  read.Lineage,
	}
	if made.report, err = s.report(ctx, known); err != nil {
		return nil, err
	}
	return made, nil
}

// result says what the control plane may know of the plan.
func (p *planned) result(ctx context.Context, given *variables, known *values.Secrets) (api.PlanResult, error) {
	encoded, err := json.Marshal(p.report)
	if err != nil {
		return api.PlanResult{}, fmt.Errorf("write the report: %w", err)
	}
	made := api.PlanResult{
		Applyable:    p.report.Applyable,
		Bundle:       api.ArtifactRef{Repository: p.spec.Deploy.Repository},
		Report:       encoded,
		ReportDigest: p.report.Digest(),
		Destructive:  p.report.Destructive(),
		Basis:        p.basis,
	}
	if !made.Applyable {
		made.Outputs, err = outputsOf(p.endpoint.Last(), p.env.Key, p.spec.Deploy, known)
		return made, err
	}
	made.Bundle, err = p.keep(ctx, given, known)
	return made, err
}

// keep seals the bundle and puts it into the install's registry.
func (p *planned) keep(ctx context.Context, given *variables, known *values.Secrets) (api.ArtifactRef, error) {
	file, err := readBounded(p.place.plan(), maxPlan)
	if err != nil {
		return api.ArtifactRef{}, fmt.Errorf("read the plan file: %w", err)
	}
	sealed, err := savedPlan{
		note: note{
			Format:       bundleFormat,
			Workplace:    p.place.root,
			Terraform:    p.terraform.tool.Version,
			Basis:        p.basis,
			ReportDigest: p.report.Digest(),
			Destroy:      p.spec.Destroy,
			Environ:      given.environ,
			Target:       ambient.Target(os.Environ()),
			Secrets:      known.Texts(),
		},
		plan: file, vars: given.files, tree: p.changed,
	}.seal(bundle.ContextOf(p.spec.Deploy), p.env.Key.Recipient())
	if err != nil {
		return api.ArtifactRef{}, err
	}
	return p.env.Install.Push(ctx, p.spec.Deploy.Repository, sealed)
}
