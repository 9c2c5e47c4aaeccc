package appconfig

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// toComponent converts a file of components/ into a component of an App. driver is where Helm stores
// its records unless the file sets a driver.
func (c *component) toComponent(driver string) Component {
	format.SortSets(c.keys, c.kind())
	comp := commonOf(c.commonKeys())
	comp.Source = sourceOf(c.repositories())
	switch {
	case c.module != nil:
		comp.EnvVars = c.module.EnvVars
		comp.Terraform = &Terraform{Version: c.module.TerraformVersion, Vars: c.module.Vars,
			VarFiles: varFiles(c.module.VarFiles)}
	case c.chart != nil:
		comp.Helm = c.toHelm(driver)
	case c.image != nil:
		comp.Image = &Image{Public: c.image.Public, AWSECR: c.image.AWSECR, GCPGAR: c.image.GCPGAR,
			AzureACR: c.image.AzureACR, RequireSignature: requiresSignature(c.image.Verification),
			Keys: publicKeys(c.image.Verification), Identities: identities(c.image.Verification),
			TrustedRoot: trustedRoot(c.image.Verification)}
	case c.build != nil:
		comp.Docker = c.toDocker()
		if !has(c.table, "build_timeout") {
			comp.BuildTimeout = dockerBuildTimeout
		}
	case c.manifest != nil:
		comp.Manifest = &Manifest{Text: c.manifest.Manifest, Namespace: c.manifest.Namespace,
			Kustomize: c.manifest.Kustomize}
	case c.pulumi != nil:
		comp.EnvVars = c.pulumi.EnvVars
		comp.Pulumi = &Pulumi{Runtime: c.pulumi.Runtime, Version: c.pulumi.PulumiVersion, Config: c.pulumi.Config}
	}
	return comp
}

func requiresSignature(v *format.Verification) bool { return v != nil && v.RequireSignature }

// publicKeys returns the keys of those who may sign an image that must be signed.
func publicKeys(v *format.Verification) []string {
	if !requiresSignature(v) {
		return nil
	}
	var keys []string
	for _, a := range v.Authorities {
		if a.Type == format.AuthorityPublicKey && a.PublicKey != "" {
			keys = append(keys, strings.TrimSpace(a.PublicKey))
		}
	}
	return keys
}

// identities returns those who may sign an image that must be signed, with certificates instead of a key.
func identities(v *format.Verification) []SignerIdentity {
	if !requiresSignature(v) {
		return nil
	}
	var found []SignerIdentity
	for _, a := range v.Authorities {
		if a.Type == format.AuthorityKeyless {
			found = append(found, SignerIdentity{a.Issuer, a.Subject, a.SubjectRegexp})
		}
	}
	return found
}

// trustedRoot returns whom to trust about identities, if there are any.
func trustedRoot(v *format.Verification) string {
	if len(identities(v)) == 0 {
		return ""
	}
	return strings.TrimSpace(v.TrustedRoot)
}

// commonKeys returns the keys that all kinds have, from the struct of the kind.
func (c *component) commonKeys() format.Component {
	switch {
	case c.module != nil:
		return c.module.Component
	case c.chart != nil:
		return c.chart.Component
	case c.image != nil:
		return c.image.Component
	case c.build != nil:
		return c.build.Component
	case c.manifest != nil:
		return c.manifest.Component
	}
	return c.pulumi.Component
}

func commonOf(v format.Component) Component {
	// Every component depends on the sandbox; listing it explicitly is a warning.
	dependencies := slices.DeleteFunc(slices.Clone(v.Dependencies),
		func(name string) bool { return name == SandboxName })
	if len(dependencies) == 0 {
		dependencies = nil
	}
	if v.VarName == v.Name {
		v.VarName = ""
	}
	return Component{
		Name: v.Name, Kind: v.Type, Dependencies: dependencies, VarName: v.VarName, MaxAutoRetries: v.MaxAutoRetries,
		SkipNoops: v.SkipNoops, AutoApproveOnPoliciesPassing: v.AutoApproveOnPoliciesPassing,
		BuildTimeout: v.BuildTimeout, DeployTimeout: v.DeployTimeout, DriftSchedule: v.DriftSchedule,
		OperationRoles: v.OperationRoles,
		// Without toggleable, default_enabled has no effect; that is a warning.
		Toggleable: v.Toggleable, DefaultEnabled: v.Toggleable && v.DefaultEnabled,
		KubernetesContext: v.KubernetesContext, Labels: v.Labels,
	}
}

// sandboxOf converts sandbox.toml into a component.
func sandboxOf(v format.Sandbox) *Component {
	comp := &Component{
		Name: SandboxName, Kind: KindSandbox, MaxAutoRetries: v.MaxAutoRetries, OperationRoles: v.OperationRoles,
		DriftSchedule: v.DriftSchedule, SkipNoops: v.SkipNoops,
		AutoApproveOnPoliciesPassing: v.AutoApproveOnPoliciesPassing, EnvVars: v.EnvVars, Source: sourceOf(v.Repositories),
	}
	if v.Type == "pulumi" {
		comp.Pulumi = &Pulumi{Runtime: v.Runtime, Config: v.PulumiConfig}
	} else {
		comp.Terraform = &Terraform{Version: v.TerraformVersion, Vars: v.Vars, VarFiles: varFiles(v.VarFiles)}
	}
	return comp
}

func varFiles(files []format.VarFile) []string {
	var texts []string
	for _, file := range files {
		texts = append(texts, file.Contents)
	}
	return texts
}

// storageDriver returns the driver that a name selects. Helm's records are always stored in the
// cluster and namespace of the release, where Helm itself reads them. The name "nuon" once meant
// the control plane, which stores none of them now; it selects configmap.
func storageDriver(name string) string {
	if name == driverNuon {
		return driverConfigMap
	}
	return name
}

const (
	driverConfigMap = "configmap"
	driverNuon      = "nuon"
)

func (c *component) toHelm(driver string) *Helm {
	h := &Helm{
		ChartName: c.chart.ChartName, Repository: c.chart.HelmRepo, Namespace: c.chart.Namespace,
		StorageDriver: storageDriver(c.chart.StorageDriver), Values: c.chart.Values, TakeOwnership: c.chart.TakeOwnership,
	}
	if driverText, _ := c.table.Get("storage_driver").Text(); driverText == "" && driver != "" {
		h.StorageDriver = storageDriver(driver)
	}
	for i, file := range c.chart.ValuesFiles {
		text := file.Contents
		if file, ok := c.texts[syntax.JoinIndex("values_file", i)+".path"]; ok && text == "" {
			text = file.text
		}
		h.ValuesFiles = append(h.ValuesFiles, text)
	}
	return h
}

// dockerBuildTimeout is the default of build_timeout for docker_build.
const dockerBuildTimeout = "1h"

func (c *component) toDocker() *Docker {
	b := c.build
	d := &Docker{Target: b.Target, Args: buildArgs(b), Platforms: b.Platforms, Secrets: b.Secrets}
	file, isText := c.texts["dockerfile"]
	switch {
	case isText && !file.unknown:
		d.Contents = file.text
	case isRemote(b.Dockerfile):
		d.Dockerfile = b.Dockerfile
	default:
		d.Dockerfile = path.Clean(b.Dockerfile)
	}
	return d
}

// buildArgs returns the build arguments; those of build_args win.
func buildArgs(b *format.DockerBuild) map[string]string {
	if len(b.EnvVars)+len(b.BuildArgs) == 0 {
		return nil
	}
	args := maps.Clone(b.EnvVars)
	if args == nil {
		args = map[string]string{}
	}
	maps.Copy(args, b.BuildArgs)
	return args
}

// sourceOf returns the source of code in the form that all spellings share, nil for none.
func sourceOf(r format.Repositories) *Source {
	repository, connected := r.PublicRepo, false
	if repository == nil {
		repository, connected = r.ConnectedRepo, true
	}
	if repository == nil {
		return nil
	}
	source := &Source{Repo: repository.Repo, Directory: path.Clean(repository.Directory), Branch: repository.Branch,
		Connected: connected}
	if source.IsAppRepository() {
		// It is always read with the org's access to the app's repository, at the app's own commit.
		source.Branch, source.Connected = "", false
	}
	return source
}
