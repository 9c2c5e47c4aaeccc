package rollout

import (
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// appliedRecord is the record of the last apply in install_components.applied_config: a
// destroy is made from it, and the next desired state is compared with it. The values
// read by that apply are in applied_values.
type appliedRecord struct {
	Deploy       json.RawMessage `json:"deploy"`  // an api.DeploySpec without values; decoded only when needed
	Timeout      int             `json:"timeout"` // of a plan or an apply, in seconds; 0 in records of an older version
	DependsOn    []string        `json:"after"`   // the components that it needed
	DigestInputs digestInputs    `json:"facts"`
}

// deploy decodes the spec that was deployed.
func (k appliedRecord) deploy() (spec api.DeploySpec, err error) {
	if len(k.Deploy) == 0 {
		return spec, nil
	}
	err = json.Unmarshal(k.Deploy, &spec)
	return spec, err
}

// digestInputs are the parts of a desired digest, with their names for people.
type digestInputs struct {
	Artifact string        `json:"artifact"`           // digest
	Config   string        `json:"config"`             // digest of the component's own config
	Values   []valueDigest `json:"values"`             // what its templates read, by path
	Override string        `json:"override,omitempty"` // digest of what the install overrides of it; empty for nothing

	Build   int32 `json:"build"`   // number of the build; not counted
	Release int32 `json:"release"` // number of the release; not counted

	BuildID string `json:"build_id,omitempty"` // not counted
	Commit  string `json:"commit,omitempty"`   // that the build was made from, or the digest of an upload; not counted
}

// valueDigest is one value that templates read: its path below .nuon, and the digest of a plain
// value's JSON or the stored hash of a sealed one. A missing value has the digest "absent".
type valueDigest struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

func newInstallComponentID() string { return id.New("ico") }

func decodeAppliedRecord(row store.InstallComponent) (appliedRecord, error) {
	var k appliedRecord
	if len(row.AppliedConfig) == 0 {
		return k, nil
	}
	if err := json.Unmarshal(row.AppliedConfig, &k); err != nil {
		return k, fmt.Errorf("decode the applied state of %s: %w", row.Name, err)
	}
	return k, nil
}
