package rollout

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// deployTarget returns what would be deployed of a component now, with the values that it
// reads as far as they exist.
func (s *snapshot) deployTarget(p *installComponent, made digestInputs) (workflow.Target, error) {
	values, err := s.values(p.allRefs())
	if err != nil {
		return workflow.Target{},
			&workflow.Unavailable{Reason: fmt.Sprintf("the values of %s are not available: %s", p.row.Name, err)}
	}
	deploy := api.DeploySpec{
		Install: s.install.Name, InstallID: s.install.ID,
		Component: p.row.Name, InstallComponent: p.row.ID, ComponentKind: p.component.Kind,
		Artifact: api.ArtifactRef{Repository: workflow.ArtifactRepository(s.org.ID, s.install.ID, p.component.ID),
			Digest: p.artifact.ArtifactDigest},
		Values: values, Repository: bundleRepository(s.org.ID, s.install.ID), Cluster: p.cluster,
		Policies: p.policies,
	}
	s.fillKindSpec(&deploy, p.config)
	limit := jobTimeout(p.config.Kind, p.config.DeployTimeout)
	remembered := appliedRecord{Timeout: limit, DependsOn: append([]string{}, p.dependsOn...), DigestInputs: made}
	bare := deploy
	bare.Values = api.Values{Plain: json.RawMessage("{}"), Sealed: []api.SealedValue{}}
	if remembered.Deploy, err = json.Marshal(bare); err != nil {
		return workflow.Target{}, fmt.Errorf("encode what is kept of %s: %w", p.row.Name, err)
	}
	raw, err := json.Marshal(remembered)
	if err != nil {
		return workflow.Target{}, fmt.Errorf("encode what is kept of %s: %w", p.row.Name, err)
	}
	found, err := inventoryOf(p)
	return workflow.Target{
		Release: s.release.ID, Deploy: deploy, From: s.vendorArtifact(p, deploy), Size: p.artifact.ArtifactBytes,
		AlreadyCopied: isApplied(p, deploy), SyncForbidden: s.syncForbidden(),
		Config: raw, Existing: found, Timeout: limit,
	}, err
}

// syncForbidden reports whether each sync needs its own job, because the runner's owner does
// not allow syncs. That job waits, states the reason, and continues once it is
// allowed, whereas a plan that copies would fail.
func (s *snapshot) syncForbidden() bool { return !runners.AllowsSyncs(s.runner) }

// isApplied reports whether a component was applied with the same artifact as deploy, which is then
// already in the install's registry.
func isApplied(p *installComponent, deploy api.DeploySpec) bool {
	return deploy.Artifact.Digest != "" && p.row.AppliedArtifact == deploy.Artifact.Digest
}

// vendorArtifact returns the reference of a component's artifact in the vendor's registry.
func (s *snapshot) vendorArtifact(p *installComponent, deploy api.DeploySpec) api.ArtifactRef {
	return api.ArtifactRef{Repository: build.ArtifactRepository(s.org.ID, p.component.ID), Digest: deploy.Artifact.Digest}
}

// fillKindSpec sets the part of a spec for the component's kind.
func (s *snapshot) fillKindSpec(deploy *api.DeploySpec, c *appconfig.Component) {
	switch {
	case c.Terraform != nil:
		deploy.Terraform = api.TerraformSpec{
			Version: c.Terraform.Version,
			Vars:    orEmpty(c.Terraform.Vars), EnvVars: orEmpty(c.EnvVars),
			VarFiles: append([]string{}, c.Terraform.VarFiles...), Override: c.Override.TFVars,
			ClusterPolicies: c.Terraform.ClusterPolicies,
		}
	case c.Helm != nil:
		deploy.Helm = api.HelmSpec{
			Release: c.Helm.ChartName, Namespace: c.Helm.Namespace, StorageDriver: c.Helm.StorageDriver,
			Values: c.Helm.Values.Encoded(), ValuesFiles: append([]string{}, c.Helm.ValuesFiles...),
			Override: c.Override.HelmValues, TakeOwnership: c.Helm.TakeOwnership, InputTypes: s.inputTypes(),
		}
	case c.Manifest != nil:
		deploy.Manifest = api.ManifestSpec{Namespace: c.Manifest.Namespace, Templates: c.Manifest.Kustomize == nil}
	}
}

// inputTypes returns the types of the inputs that are not strings.
func (s *snapshot) inputTypes() map[string]string {
	types := map[string]string{}
	for _, in := range s.config.Inputs {
		if in.Type == "number" || in.Type == "bool" {
			types[in.Name] = in.Type
		}
	}
	return types
}

// defaultTimeouts are the default timeouts of a plan or an apply by kind; all other
// kinds have an hour.
var defaultTimeouts = map[string]time.Duration{format.KindHelmChart: 30 * time.Minute,
	format.KindKubernetesManifest: 15 * time.Minute, format.KindContainerImage: 15 * time.Minute,
	format.KindDockerBuild: 15 * time.Minute}

// maxTimeout bounds the timeout that a component configures.
const maxTimeout = time.Hour

// jobTimeout returns the timeout of a plan, or an apply, for a component's kind, in
// seconds; said is the component's own setting.
func jobTimeout(kind, configured string) int {
	limit, known := defaultTimeouts[kind]
	if !known {
		limit = maxTimeout
	}
	if own, err := time.ParseDuration(configured); err == nil && own > 0 {
		limit = min(own, maxTimeout)
	}
	return int(limit.Seconds())
}

// inventoryOf returns the objects of a component that were applied, or may have been.
func inventoryOf(p *installComponent) ([]api.ObjectRef, error) {
	if len(p.row.AppliedInventory) == 0 {
		return nil, nil
	}
	var objects []api.ObjectRef
	if err := json.Unmarshal(p.row.AppliedInventory, &objects); err != nil {
		return nil, fmt.Errorf("decode the objects of %s: %w", p.row.Name, err)
	}
	return objects, nil
}
