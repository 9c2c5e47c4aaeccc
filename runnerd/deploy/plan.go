package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/planpolicy"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/jobstore"
	"github.com/nuon-toolkit/nuon/runnerd/transfer"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// PlanHandler returns the handler of a kind's plan jobs. The result holds the masked report,
// and either the reference of the sealed bundle that an apply needs or, when there is nothing
// to apply, the current outputs and health.
func PlanHandler(kind Kind) job.Handler {
	return job.HandlerFunc(func(ctx context.Context, env *job.Env) (api.JobResult, error) {
		ctx, stop := withJobLimit(ctx, env)
		defer stop()
		if err := copyArtifact(ctx, env); err != nil {
			return api.JobResult{}, err
		}
		made, err := plan(ctx, env, kind)
		if err != nil {
			return api.JobResult{}, err
		}
		return api.JobResult{Status: job.Succeeded, Plan: made}, nil
	})
}

// copyArtifact copies the artifact of a plan to the install's registry when no sync has done
// so. The plan and its apply pull it from there.
func copyArtifact(ctx context.Context, env *job.Env) error {
	from, deploy := env.Spec.Plan.From, env.Spec.Plan.Deploy
	if from.Digest == "" {
		return nil
	}
	if from.Digest != deploy.Artifact.Digest {
		return fmt.Errorf("this plan is of artifact %s and is to copy %s; this is a bug in the control plane; report it",
			deploy.Artifact.Digest, from.Digest)
	}
	return transfer.Copy(ctx, env, api.SyncSpec{
		Install: deploy.Install, InstallID: deploy.InstallID, Component: deploy.Component,
		InstallComponent: deploy.InstallComponent,
		ComponentKind:    deploy.ComponentKind, From: from, To: deploy.Artifact.Repository,
	})
}

// openValues opens the values of a job. When it returns, the redactor has every secret in them.
func openValues(ctx context.Context, env *job.Env, spec api.DeploySpec, destroy bool) (*values.Values, error) {
	if env.Key.IsZero() {
		return nil, errors.New("this runner has no install key, so no plan can be sealed or opened; start it with --key-file")
	}
	opened, err := values.Open(spec.InstallID, spec.Values, env.Key, env.Redact)
	if err != nil {
		return nil, err
	}
	return opened, jobstore.AddTo(ctx, env, opened, spec.InstallID, spec.Values.Secrets, destroy)
}

func plan(ctx context.Context, env *job.Env, kind Kind) (result api.PlanResult, err error) {
	spec := env.Spec.Plan
	opened, err := openValues(ctx, env, spec.Deploy, spec.Destroy)
	if err != nil {
		return api.PlanResult{}, err
	}
	op := &Operation{
		Env: env, Deploy: spec.Deploy, Destroy: spec.Destroy, Restore: spec.Restore, Inventory: spec.Inventory,
		Values: opened, Secrets: opened.Secrets,
	}
	session, err := kind.Open(ctx, op)
	if err != nil {
		return api.PlanResult{}, err
	}
	defer func() { err = errors.Join(err, session.Close(ctx)) }()

	planned, err := session.Plan(ctx)
	if err != nil {
		return api.PlanResult{}, err
	}
	evaluatePolicies(ctx, op, planned)
	result, err = planResult(spec, planned)
	if err != nil {
		return api.PlanResult{}, err
	}
	if !result.Applyable {
		return addCurrentState(ctx, op, session, result)
	}
	result.Bundle, err = pushBundle(ctx, op, planned, result)
	return result, err
}

// evaluatePolicies adds the results of the app's policies to the report of a plan.
func evaluatePolicies(ctx context.Context, op *Operation, planned Plan) {
	if len(op.Deploy.Policies) == 0 || op.Restore.Version > 0 {
		return
	}
	in := planned.Reviewed
	in.Redact = op.Env.Redact.String
	if op.Env.Install != nil {
		in.Registry = strings.TrimSuffix(op.Env.Install.Reference.String(), "/")
	}
	results := planpolicy.Evaluate(ctx, op.Deploy.Policies, in)
	planned.Report.SetPolicies(results)
	for _, r := range results {
		if r.Result != diff.PolicyPass {
			op.Env.Log.Warn("policy %s: %s", r.Title(), r.Headline())
		}
	}
}

// planResult returns the part of a plan that the control plane may see.
func planResult(spec api.PlanSpec, planned Plan) (api.PlanResult, error) {
	encoded, err := json.Marshal(planned.Report)
	if err != nil {
		return api.PlanResult{}, fmt.Errorf("write the report: %w", err)
	}
	return api.PlanResult{
		Applyable:    planned.Report.Applyable,
		Bundle:       api.ArtifactRef{Repository: spec.Deploy.Repository},
		Report:       encoded,
		ReportDigest: planned.Report.Digest(),
		Destructive:  planned.Report.Destructive(),
		Inventory:    planned.Inventory,
		Basis: api.Basis{
			DesiredDigest: spec.DesiredDigest,
			Artifact:      spec.Deploy.Artifact.Digest,
			StateSerial:   planned.Observed.StateSerial,
			StateLineage:  planned.Observed.StateLineage,
			Cluster:       planned.Observed.Cluster,
			Observed:      planned.Observed.Observed,
		},
	}, nil
}

// addCurrentState adds outputs and health to the result of a plan that needs no apply.
func addCurrentState(ctx context.Context, op *Operation, session Session,
	result api.PlanResult) (api.PlanResult, error) {
	if op.Destroy {
		return result, nil
	}
	stands, err := session.CurrentState(ctx)
	if err != nil {
		return api.PlanResult{}, err
	}
	result.Outputs, result.Health = stands.Outputs, stands.Health
	result.Cluster = op.cluster(result.Basis.Cluster)
	return result, nil
}

// cluster returns the identity of the component's cluster with its keyed hash, or the zero
// value for a kind without a cluster.
func (op *Operation) cluster(identity string) api.ClusterIdentity {
	if identity == "" {
		return api.ClusterIdentity{}
	}
	return ClusterIdentity(op.Env.Key, op.Deploy.InstallComponent, op.Deploy.Component, identity)
}

// pushBundle seals the bundle of a plan and pushes it to the install's registry.
func pushBundle(ctx context.Context, op *Operation, planned Plan, result api.PlanResult) (api.ArtifactRef, error) {
	if err := checkEnviron(planned.Environ); err != nil {
		return api.ArtifactRef{}, err
	}
	settings, err := settingsDigest(op.Deploy)
	if err != nil {
		return api.ArtifactRef{}, err
	}
	sealed, err := bundle{
		metadata: metadata{
			Basis: result.Basis, ReportDigest: result.ReportDigest, Settings: settings,
			Destroy: op.Destroy, Restore: op.Restore, Environ: planned.Environ, Target: jobenv.Target(os.Environ()),
			Secrets: op.Secrets.Texts(),
		},
		report: result.Report, files: planned.Files,
	}.seal(bundleContext(op.Deploy), op.Env.Key)
	if err != nil {
		return api.ArtifactRef{}, err
	}
	return op.Env.Install.Push(ctx, op.Deploy.Repository, sealed)
}
