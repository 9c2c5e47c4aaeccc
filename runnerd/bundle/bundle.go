// Package bundle keeps the files that the apply of one plan needs, and that must not differ from the time of the plan.
//
// It owns the sealed form: a packed tree, sealed to the install key, as an artifact of type artifact.MediaPlan. What the files are
// is its callers' business: the packages module, chart and manifest.
package bundle

import (
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Seal packs files and seals them. Each sealing of the same files is another artifact.
func Seal(files []artifact.File, to seal.Recipient) (artifact.Artifact, error) {
	packed, err := artifact.Tarball(files, artifact.Limits{})
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("pack the plan bundle: %w; let the plan write fewer or smaller files", err)
	}
	sealed, err := to.Seal(packed)
	if err != nil {
		return artifact.Artifact{}, err
	}
	encoded, err := json.Marshal(sealed)
	if err != nil {
		return artifact.Artifact{}, fmt.Errorf("write the plan bundle: %w", err)
	}
	return artifact.Wrap(artifact.MediaPlan, encoded, nil), nil
}

// Open gives the files that were sealed. Every error ends with what to do.
func Open(packed artifact.Artifact, key seal.Identity) ([]artifact.File, error) {
	if packed.Type != artifact.MediaPlan || packed.Form != artifact.FormSealed {
		return nil, fmt.Errorf("the artifact is of type %s, not a plan bundle; this is a fault of the control plane, report it", packed.Type)
	}
	var sealed seal.Sealed
	if err := json.Unmarshal(packed.Layer, &sealed); err != nil {
		return nil, fmt.Errorf("the plan bundle is damaged: %w; plan again", err)
	}
	plain, err := key.Open(sealed)
	if err != nil {
		return nil, fmt.Errorf("open the plan bundle: %w; plan again with the key that the runner has now", err)
	}
	files, err := artifact.Untar(plain.Reveal(), artifact.Limits{})
	if err != nil {
		return nil, fmt.Errorf("unpack the plan bundle: %w; plan again", err)
	}
	return files, nil
}
