package rollout

import (
	"encoding/json"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// withPlatformValues returns the declaration of the sandbox with the values that nuon passes to its module: those
// that the install has, and those that the module requires, so that the sandbox waits for them. They do not change
// the digest of the config, except for the policies of the cluster; as values that the sandbox reads they are part of
// the desired digest.
func (s *snapshot) withPlatformValues(d declaration, platform []appconfig.PlatformValue) declaration {
	if d.config == nil || d.config.Terraform == nil {
		return d
	}
	var passed []appconfig.PlatformValue
	refs := slices.Clone(d.refs)
	for _, value := range platform {
		missing := slices.ContainsFunc(value.Refs, func(ref render.Path) bool { return len(s.leaves(ref)) == 0 })
		if missing && !value.Required {
			continue
		}
		passed, refs = append(passed, value), append(refs, value.Refs...)
	}
	if len(passed) == 0 {
		return d
	}
	slices.SortFunc(refs, slices.Compare[render.Path])
	d.refs = slices.Clip(slices.CompactFunc(refs, slices.Equal[render.Path]))
	config, terraform := *d.config, *d.config.Terraform
	for _, value := range passed {
		if len(value.Files) > 0 {
			terraform.ClusterPolicies = value.Files
			raw, _ := json.Marshal(value.Files) // texts always encode
			d.digest = sha256digest.Of(append([]byte(d.digest+"\n"), raw...))
		}
	}
	terraform.VarFiles = append(slices.Clone(terraform.VarFiles), appconfig.PlatformFile(passed))
	config.Terraform, d.config = &terraform, &config
	return d
}
