package appconfig

import (
	"path"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// component converts a file of components/ into a component of an App. driver is where Helm stores
// its records unless the file sets a driver.
func (c *component) component(driver string) Component {
	format.Sort(c.keys, c.kind())
	made := commonOf(c.common())
	made.Source = sourceOf(c.repositories())
	switch {
	case c.module != nil:
		made.EnvVars = c.module.EnvVars
		made.Terraform = &Terraform{Version: c.module.TerraformVersion, Vars: c.module.Vars,
			VarFiles: varFiles(c.module.VarFiles)}
	case c.chart != nil:
		made.Helm = c.helm(driver)
	case c.image != nil:
		made.Image = &Image{Public: c.image.Public, AWSECR: c.image.AWSECR, GCPGAR: c.image.GCPGAR}
	case c.build != nil:
		made.EnvVars = c.build.EnvVars
		made.Docker = c.docker()
	case c.manifest != nil:
		made.Manifest = &Manifest{Text: c.manifest.Manifest, Namespace: c.manifest.Namespace,
			Kustomize: c.manifest.Kustomize}
	case c.pulumi != nil:
		made.EnvVars = c.pulumi.EnvVars
		made.Pulumi = &Pulumi{Runtime: c.pulumi.Runtime, Version: c.pulumi.PulumiVersion, Config: c.pulumi.Config}
	}
	return made
}

// common returns the keys that all kinds have, from the struct of the kind.
func (c *component) common() format.Component {
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
	made := &Component{
		Name: SandboxName, Kind: KindSandbox, MaxAutoRetries: v.MaxAutoRetries, OperationRoles: v.OperationRoles,
		DriftSchedule: v.DriftSchedule, SkipNoops: v.SkipNoops,
		AutoApproveOnPoliciesPassing: v.AutoApproveOnPoliciesPassing, EnvVars: v.EnvVars, Source: sourceOf(v.Repositories),
	}
	if v.Type == "pulumi" {
		made.Pulumi = &Pulumi{Runtime: v.Runtime, Config: v.PulumiConfig}
	} else {
		made.Terraform = &Terraform{Version: v.TerraformVersion, Vars: v.Vars, VarFiles: varFiles(v.VarFiles)}
	}
	return made
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

func (c *component) helm(driver string) *Helm {
	h := &Helm{
		ChartName: c.chart.ChartName, Repository: c.chart.HelmRepo, Namespace: c.chart.Namespace,
		StorageDriver: storageDriver(c.chart.StorageDriver), Values: c.chart.Values, TakeOwnership: c.chart.TakeOwnership,
	}
	if written, _ := c.table.Get("storage_driver").Text(); written == "" && driver != "" {
		h.StorageDriver = storageDriver(driver)
	}
	for i, file := range c.chart.ValuesFiles {
		text := file.Contents
		if held, ok := c.texts[syntax.Item("values_file", i)+".path"]; ok && text == "" {
			text = held.text
		}
		h.ValuesFiles = append(h.ValuesFiles, text)
	}
	return h
}

func (c *component) docker() *Docker {
	if held, ok := c.texts["dockerfile"]; ok && !held.unknown {
		return &Docker{Contents: held.text}
	}
	if isRemote(c.build.Dockerfile) {
		return &Docker{Dockerfile: c.build.Dockerfile}
	}
	return &Docker{Dockerfile: path.Clean(c.build.Dockerfile)}
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
	if source.Own() {
		// It is always read with the org's access to the app's repository, at the app's own commit.
		source.Branch, source.Connected = "", false
	}
	return source
}
