package appconfig

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// canonicalFormat is part of everything that is hashed. It changes when the meaning of the encoding
// changes, so that an old digest never equals a new one.
const canonicalFormat = "nuon.app.v2"

// Canonical returns the one encoding of the app: JSON with sorted keys and sets, defaults filled
// in, and referenced files inlined. Comments, key order and file names do not change it. It
// excludes installs, because a desired install is no new version of the app, and the origin of
// remote texts.
func (a *App) Canonical() []byte {
	version := *a
	version.Installs, version.Remote = nil, nil
	version.Components = sortedBy(a.Components, func(c Component) string { return c.Name })
	version.Actions = sortedBy(a.Actions, func(x Action) string { return x.Name })
	version.Secrets = sortedBy(a.Secrets, func(s Secret) string { return s.Name })
	for i, c := range version.Components {
		version.Components[i].Dependencies = slices.Sorted(slices.Values(c.Dependencies))
	}
	return canonicalJSON(struct {
		Format string `json:"format"`
		App    *App   `json:"app"`
	}{canonicalFormat, &version})
}

// Digest returns "sha256:" and the hash of Canonical. It identifies the app version.
func (a *App) Digest() string { return sha256digest.Of(a.Canonical()) }

// ConfigDigest returns the digest of everything that a deploy of the component uses besides its
// artifact and the values: name, kind, dependencies, engine version, templates and the other
// settings that its kind is applied with. It excludes the source of the code or image, which the
// artifact covers, and settings that do not change what is deployed: retries, timeouts, approval,
// labels and whether the component can be disabled.
//
// The values of a chart count with their types: to a chart, 3 and "3" differ.
//
// Terraform components keep their original encoding, so that a new release of nuon does not make
// every install look as if its config had changed.
func (c *Component) ConfigDigest() string {
	if c.Terraform != nil {
		return c.terraformDigest()
	}
	config := Component{
		Name: c.Name, Kind: c.Kind, Dependencies: slices.Sorted(slices.Values(c.Dependencies)),
		KubernetesContext: c.KubernetesContext, EnvVars: nonEmpty(c.EnvVars),
		Helm: c.Helm, Manifest: c.Manifest, Pulumi: c.Pulumi,
	}
	if c.Helm != nil {
		helm := *c.Helm
		helm.Repository = nil
		config.Helm = &helm
	}
	return sha256digest.Of(canonicalJSON(struct {
		Format    string     `json:"format"`
		Component *Component `json:"component"`
	}{canonicalFormat, &config}))
}

// terraformDigest is ConfigDigest in the encoding nuon.app.v1.
func (c *Component) terraformDigest() string {
	type deployed struct {
		Name             string            `json:"name"`
		Kind             string            `json:"kind"`
		Dependencies     []string          `json:"dependencies,omitempty"`
		TerraformVersion string            `json:"terraform_version"`
		Source           Source            `json:"source"` // always empty
		Vars             map[string]string `json:"vars,omitempty"`
		EnvVars          map[string]string `json:"env_vars,omitempty"`
		VarFiles         []string          `json:"var_files,omitempty"`
		Context          string            `json:"kubernetes_context,omitempty"`
	}
	return sha256digest.Of(canonicalJSON(struct {
		Format    string   `json:"format"`
		Component deployed `json:"component"`
	}{"nuon.app.v1", deployed{
		Name: c.Name, Kind: c.Kind, Dependencies: slices.Sorted(slices.Values(c.Dependencies)),
		TerraformVersion: c.Terraform.Version, Vars: c.Terraform.Vars, EnvVars: c.EnvVars,
		VarFiles: c.Terraform.VarFiles, Context: c.KubernetesContext,
	}}))
}

// canonicalJSON relies on encoding/json: struct fields in a fixed order, map keys sorted. All
// texts of an App are UTF-8 (Load checks that), so no two different Apps have the same encoding.
func canonicalJSON(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil // strings, numbers, bools and maps of strings always encode
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func sortedBy[T any](list []T, key func(T) string) []T {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(x, y T) int {
		switch kx, ky := key(x), key(y); {
		case kx < ky:
			return -1
		case kx > ky:
			return 1
		}
		return 0
	})
	return sorted
}

// nonEmpty returns nil for a map without elements, as everywhere in an App.
func nonEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}
