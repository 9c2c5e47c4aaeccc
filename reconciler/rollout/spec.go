package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// DeployTarget returns what a plan of an install component is made from now (workflow.ResolvedInstall):
// its artifact, its templates, and only the values that these read. A destroy is made
// from what was last applied, or from the apply whose end is unknown.
func (r *resolved) DeployTarget(installComponent string, destroy bool) (workflow.Target, error) {
	p, err := r.componentByID(installComponent)
	switch {
	case err != nil:
		return workflow.Target{}, err
	case destroy:
		return r.destroyTarget(p)
	}
	w := r.desired[p.row.Name]
	if p.config == nil || p.artifact == nil || w.WaitReason != "" || w.Absent {
		return workflow.Target{}, fmt.Errorf("%s cannot be planned: %s", p.row.Name, w.WaitReason)
	}
	t, err := r.deployTarget(p, w.digestInputs)
	if err != nil {
		return t, err
	}
	t.Digest = w.Digest
	return r.withRole(t, deployOperation(p, false))
}

// withRole adds the role of an operation to a target.
func (s *snapshot) withRole(t workflow.Target, op installstack.Operation) (workflow.Target, error) {
	var why string
	if t.Role, why = s.operationRole(op); why != "" {
		return workflow.Target{}, &workflow.Unavailable{Reason: why}
	}
	return t, nil
}

// componentByID returns a component by its id. A component that no longer exists is a
// *workflow.Unavailable.
func (s *snapshot) componentByID(installComponent string) (*installComponent, error) {
	for _, p := range s.components {
		if p.row.ID == installComponent {
			return p, nil
		}
	}
	return nil, &workflow.Unavailable{Reason: fmt.Sprintf("install %s no longer has this component", s.install.Name)}
}

func (s *snapshot) destroyTarget(p *installComponent) (workflow.Target, error) {
	if !p.mayBeDeployed() {
		return workflow.Target{}, fmt.Errorf("%s is not deployed", p.row.Name)
	}
	t, err := s.appliedTarget(p)
	if err != nil {
		return t, err
	}
	t.Digest = absentDigestOf(p)
	return s.withRole(t, deployOperation(p, true))
}

// appliedTarget returns the target that a component was last applied with, or that of
// the apply whose end is unknown.
func (s *snapshot) appliedTarget(p *installComponent) (workflow.Target, error) {
	deploy, err := p.applied.deploy()
	if err != nil {
		return workflow.Target{},
			&workflow.Unavailable{Reason: fmt.Sprintf("the applied state of %s cannot be read: %s", p.row.Name, err)}
	}
	t := workflow.Target{Deploy: deploy, Config: p.row.AppliedConfig,
		Timeout: cmp.Or(p.applied.Timeout, jobTimeout(deploy.ComponentKind, ""))}
	t.Deploy.Artifact.Repository = workflow.ArtifactRepository(s.org.ID, s.install.ID, p.component.ID)
	t.From, t.AlreadyCopied, t.SyncForbidden = s.vendorArtifact(p, t.Deploy), isApplied(p, t.Deploy), s.syncForbidden()
	if p.row.AppliedReleaseID != nil {
		t.Release = *p.row.AppliedReleaseID
	}
	if t.Existing, err = inventoryOf(p); err != nil {
		return workflow.Target{}, &workflow.Unavailable{Reason: err.Error()}
	}
	t.Deploy.Values = api.Values{Plain: json.RawMessage("{}"), Sealed: []api.SealedValue{}}
	if len(p.row.AppliedValues) > 0 {
		if err := json.Unmarshal(p.row.AppliedValues, &t.Deploy.Values); err != nil {
			return workflow.Target{},
				&workflow.Unavailable{Reason: fmt.Sprintf("the values that %s was applied with cannot be read (%s); "+
					"deploy it again",
					p.row.Name, err)}
		}
	}
	if err := s.addClusterAccess(&t.Deploy); err != nil {
		return workflow.Target{}, &workflow.Unavailable{Reason: err.Error()}
	}
	return t, nil
}

// bundleRepository returns the repository of an install's plan bundles, below the
// prefix of the install registry.
func bundleRepository(org, install string) string { return org + "/installs/" + install }

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// ActionJob returns what a run of an action is made from now (workflow.ResolvedInstall). An action
// that the app no longer has, or that cannot run on a runner, is a *workflow.Unavailable.
func (s *snapshot) ActionJob(run workflow.ActionRun) (workflow.ActionJob, error) {
	install := s.install
	if s.config == nil {
		return workflow.ActionJob{}, &workflow.Unavailable{Reason: "the app has no version yet; sync it first"}
	}
	action, ok := s.config.Action(run.Action)
	if !ok {
		return workflow.ActionJob{},
			&workflow.Unavailable{Reason: fmt.Sprintf("release %d has no action %s", s.release.Number, run.Action), Gone: true}
	}
	refs := action.Refs()
	if path, foreign := s.foreignKey(refs); foreign {
		return workflow.ActionJob{},
			&workflow.Unavailable{Reason: fmt.Sprintf("%s is not sealed to the runner's key, so the action cannot read it",
				configLabel(path.String()))}
	}
	secretMissing, _ := s.missingSecrets(refs)
	if why := cmp.Or(s.missingStackOutputs(refs), s.missingVariables(refs), secretMissing); why != "" {
		return workflow.ActionJob{},
			&workflow.Unavailable{Reason: fmt.Sprintf("action %s cannot run: %s", run.Action, why)}
	}
	role, why := s.operationRole(installstack.Operation{Action: run.Action, Verb: installstack.VerbTrigger,
		Role: run.Role})
	if why != "" {
		return workflow.ActionJob{}, &workflow.Unavailable{Reason: why}
	}
	reads, cluster := refs, api.ClusterSpec{}
	if action.KubeConfig {
		cluster = clusterNamed(s.config, action.KubernetesContext)
		reads = append(slices.Clone(refs), render.Path(cluster.Path))
	}
	values, err := s.values(reads)
	if err != nil {
		return workflow.ActionJob{},
			&workflow.Unavailable{Reason: fmt.Sprintf("the values of action %s are not available: %s", run.Action, err)}
	}
	inputs, problems := action.CheckInputs(run.Inputs)
	if len(problems) > 0 { // a run that no person requested, or whose declaration has changed since
		return workflow.ActionJob{},
			&workflow.Unavailable{
				Reason: fmt.Sprintf("action %s cannot run: %s; give it a default, or run it with `nuon run`", run.Action,
					strings.Join(problems, "; "))}
	}
	spec := api.ActionSpec{
		Install: install.Name, InstallID: install.ID, Action: run.Action, Trigger: run.Trigger, Component: run.Component,
		Inputs: inputs, Env: orEmpty(run.Env), KubeConfig: action.KubeConfig, Cluster: cluster, Values: values,
		Steps: []api.ActionStep{},
	}
	for _, step := range action.Steps {
		source, err := s.stepSource(step)
		if err != nil {
			return workflow.ActionJob{}, err
		}
		spec.Steps = append(spec.Steps, api.ActionStep{Name: step.Name, InlineContents: step.InlineContents,
			Command: step.Command, EnvVars: orEmpty(step.EnvVars), Source: source})
	}
	script, err := workflow.ScriptOf(*action, s.actionAccess(action, run.Role), s.sourceArtifact)
	return workflow.ActionJob{Spec: spec, Role: role, Timeout: action.TimeoutDuration(), ScriptDigest: script.Digest}, err
}

// stepSource returns the code that a step runs in, or the zero value for a step without a repository. Code that the
// release has no build of is a *workflow.Unavailable.
func (s *snapshot) stepSource(step appconfig.ActionStep) (api.ActionSource, error) {
	if step.Source == nil {
		return api.ActionSource{}, nil
	}
	name := step.Source.ActionSourceName()
	source := s.sources[name]
	if source.artifact == "" {
		return api.ActionSource{}, &workflow.Unavailable{Reason: fmt.Sprintf(
			"release %d has no build of source %s, which step %s runs; sync the app, and fix what cannot be built",
			s.release.Number, name, step.Name)}
	}
	return api.ActionSource{
		Name: name, Commit: source.commit, Directory: step.Source.Directory,
		From: api.ArtifactRef{Repository: build.ArtifactRepository(s.org.ID, source.component), Digest: source.artifact},
		Artifact: api.ArtifactRef{Repository: workflow.ArtifactRepository(s.org.ID, s.install.ID, source.component),
			Digest: source.artifact},
	}, nil
}

// sourceArtifact returns the digest of the release's artifact of a source of actions, or "".
func (s *snapshot) sourceArtifact(name string) string { return s.sources[name].artifact }

// SourceFiles returns the files of a source of actions (workflow.ResolvedInstall).
func (s *snapshot) SourceFiles(ctx context.Context, tx *store.Tx, source string) (map[string]string, error) {
	if s.sources[source].build == "" {
		return nil, nil
	}
	return build.ScriptFiles(ctx, tx, s.sources[source].build)
}

// Scripts returns what the actions of an install would run now, by action (workflow.ResolvedInstall).
func (s *snapshot) Scripts(role string) (map[string]workflow.ScriptContent, error) {
	all := map[string]workflow.ScriptContent{}
	if s.config == nil {
		return all, nil
	}
	var err error
	for _, action := range s.config.Actions {
		access := s.actionAccess(&action, role)
		if all[action.Name], err = workflow.ScriptOf(action, access, s.sourceArtifact); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// actionAccess returns what a run of an action has access to that its own keys do not show, or nil if they show all of
// it. role is the one that the requester chose; empty for none. It depends on no output of the customer's stack, so
// what was approved before the stack reported its roles stays approved.
func (s *snapshot) actionAccess(action *appconfig.Action, role string) *appconfig.ActionAccess {
	var access appconfig.ActionAccess
	if s.declaresRoles() {
		op := installstack.Operation{Action: action.Name, Verb: installstack.VerbTrigger, Role: role}
		name, kind := s.appRoles().Unstated(op)
		access.Role, access.RoleKind = name, string(kind)
	}
	if action.KubeConfig {
		access.Cluster = contextComponent(s.config, action.KubernetesContext)
	}
	if access == (appconfig.ActionAccess{}) {
		return nil
	}
	return &access
}
