// Package bundle keeps the files that the apply of one plan needs, and that must not differ from the time of the plan.
//
// It owns the sealed form: a packed tree, sealed to the install key, as an artifact of type artifact.MediaPlan. What the files are
// is its callers' business: the packages module, chart and manifest.
package bundle

import (
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// ContextOf returns what the plan bundles of the component that a spec deploys are sealed for.
func ContextOf(spec api.DeploySpec) seal.Context {
	return seal.Context{Install: spec.InstallID, Kind: seal.KindBundle, Component: spec.InstallComponent}
}

// Seal packs files and seals them. Each sealing of the same files is another artifact.
func Seal(files []artifact.File, context seal.Context, to seal.Recipient) (artifact.Artifact, error) {
	packed, err := artifact.Tarball(files, artifact.Limits{})
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("pack the plan bundle: %w; let the plan write fewer or smaller files", err)
	}
	sealed, err := to.Seal(context, packed)
	if err != nil {
		return artifact.Artifact{}, err
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
	}
	return artifact.Wrap(artifact.MediaPlan, encoded, nil), nil
}

// Open returns the files that were sealed under the same context. Every error ends with what to do.
func Open(packed artifact.Artifact, context seal.Context, key seal.Identity) ([]artifact.File, error) {
	if packed.Type != artifact.MediaPlan || packed.Form != artifact.FormSealed {
		return nil, fmt.Errorf("the artifact is of type %s, not a plan bundle; this is a fault of the control plane, report it", packed.Type)
	}
	var sealed seal.Sealed
	if err := json.Unmarshal(packed.Layer, &sealed); err != nil {
		return nil, fmt.Errorf("the plan bundle is damaged: %w; plan again", err)
	}
	plain, err := key.Open(sealed, context)
	if err != nil {
		return nil, fmt.Errorf("open the plan bundle: %w; plan again with the key that the runner has now", err)
	}
	files, err := artifact.Untar(plain.Reveal(), artifact.Limits{})
	if err != nil {
		return nil, fmt.Errorf("unpack the plan bundle: %w; plan again", err)
	}
	return files, nil
}
