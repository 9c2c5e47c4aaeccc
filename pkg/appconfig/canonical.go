package appconfig

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// canonicalFormat is part of everything that is hashed. It changes when the meaning of the encoding does, so that old digests
// cannot be taken for new ones.
const canonicalFormat = "nuon.app.v1"

// Canonical is the one encoding of the app: JSON with sorted keys, sets sorted, defaults filled in, referenced files inlined.
// Comments, key order and file names cannot change it. Installs are no part of it: a wish about one install is no new version of
// the app.
func (a *App) Canonical() []byte {
	version := *a
	version.Installs = nil
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

// Digest is "sha256:" and the hash of Canonical. It names the app version.
func (a *App) Digest() string { return digest(a.Canonical()) }

// ConfigDigest is the digest of what a deploy of the component uses besides its artifact and the values: name, kind, Terraform
// version, dependencies and templates. Where the code comes from is the artifact's business, and how often to retry, or whether it
// may be switched off, changes nothing that is deployed.
func (c *Component) ConfigDigest() string {
	config := *c
	config.Source = Source{}
	config.MaxAutoRetries, config.Toggleable, config.DefaultEnabled = 0, false, false
	config.Dependencies = slices.Sorted(slices.Values(c.Dependencies))
	config.Vars, config.EnvVars = nonEmpty(c.Vars), nonEmpty(c.EnvVars)
	return digest(canonicalJSON(struct {
		Format    string     `json:"format"`
		Component *Component `json:"component"`
	}{canonicalFormat, &config}))
}

// canonicalJSON relies on encoding/json: struct fields in a fixed order, map keys sorted. All texts of an App are UTF-8 (Load
// sees to it), so no two different ones encode alike.
func canonicalJSON(v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil // strings, numbers, bools and maps of strings always encode
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
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

// nonEmpty makes a map without elements nil, as everything in an App is.
func nonEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}
