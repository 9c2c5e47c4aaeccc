package rollout

import (
	"encoding/json"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// withOverride returns the declaration of a component with what the install overrides of it. The override counts in
// the desired digest, but not in the digest of the config, which all installs share.
func (s *snapshot) withOverride(d declaration) declaration {
	if d.config == nil || s.overrides[d.config.Name].ForKind(d.config.Kind) == (appconfig.Override{}) {
		return d
	}
	return declarationOf(s.config.Deployed().Overridden(s.overrides), d.config.Name)
}

// overrideDigest returns the digest of what an install overrides of a component; empty for nothing.
func overrideDigest(o appconfig.Override) string {
	if o == (appconfig.Override{}) {
		return ""
	}
	raw, _ := json.Marshal(o) // texts always encode
	return sha256digest.Of(raw)
}

// overriddenKey returns what an install can override of a component of a kind.
func overriddenKey(kind string) string {
	if kind == appconfig.KindHelmChart {
		return "helm_values"
	}
	return "tf_vars"
}
