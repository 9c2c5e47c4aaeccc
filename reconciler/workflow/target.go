package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Target is what a plan leads to: all that its plan and apply jobs need, and what is kept as applied once it is there. It is
// stored with the step, then with the plan. It holds templates and values, plain or sealed to the install's key, never an opened
// secret.
type Target struct {
	Digest  string         `json:"digest"`  // the desired digest
	Release string         `json:"release"` // id of the release
	Deploy  api.DeploySpec `json:"deploy"`  // with the values that its templates read
	// From is where its artifact lies in the vendor's registry; Deploy.Artifact is the install's copy of it.
	From api.ArtifactRef `json:"from,omitzero"`
	// Size is that of the artifact in bytes, 0 when it is not known; Copied reports that it was copied before, Apart that the runner takes
	// no plan that copies. They decide whether a sync needs a job.
	Size   int64 `json:"-"`
	Copied bool  `json:"-"`
	Apart  bool  `json:"-"`
	// Config is what World wants back as the applied config: what a later desired is compared with, and what a destroy is made
	// of. It is opaque here.
	Config json.RawMessage `json:"config"`

	Restore api.Restore `json:"restore,omitzero"` // of a restore: the version that becomes the newest
	Timeout int         `json:"timeout"`          // of its plan and of its apply, in seconds; 0 for what is usual

	Found  []api.ObjectRef `json:"found,omitempty"`  // of a manifest: the objects that were there before, or may have been
	Leaves []api.ObjectRef `json:"leaves,omitempty"` // and those that its apply leaves, as the plan says

	Problem string   `json:"problem,omitempty"` // why the runner's answer could not be used
	Stale   string   `json:"stale,omitempty"`   // why what was planned was moved under it before its plan was there
	Before  *Applied `json:"before,omitempty"`  // of a consumed plan: what was applied when its apply was accepted
}

// Applied is the applied columns of an install component: what is there, as far as it is known. With an empty digest and an
// artifact, something may be there, made of these or of what they replaced.
type Applied struct {
	Digest   string          `json:"digest"`
	Artifact string          `json:"artifact"`
	Release  *string         `json:"release"`
	Config   json.RawMessage `json:"config"`
	Values   json.RawMessage `json:"values"`

	Inventory json.RawMessage `json:"inventory,omitempty"` // of a manifest: api.ObjectRefs
}

func appliedOf(c store.InstallComponent) Applied {
	return Applied{Digest: c.AppliedDigest, Artifact: c.AppliedArtifact, Release: c.AppliedReleaseID, Config: c.AppliedConfig, Values: c.AppliedValues, Inventory: c.AppliedInventory}
}

// landed is the target as what is applied; with known false, as what was being applied when contact with it was lost.
func (t Target) landed(known bool) (Applied, error) {
	values, err := json.Marshal(t.Deploy.Values)
	if err != nil {
		return Applied{}, fmt.Errorf("encode applied values: %w", err)
	}
	a := Applied{Artifact: t.Deploy.Artifact.Digest, Config: t.Config, Values: values}
	objects := t.Leaves
	if known {
		a.Digest = t.Digest
	} else {
		objects = bothOf(t.Found, t.Leaves)
	}
	if len(objects) > 0 {
		if a.Inventory, err = encode(objects); err != nil {
			return Applied{}, err
		}
	}
	if t.Release != "" {
		a.Release = &t.Release
	}
	return a, nil
}

// bothOf is every object of two lists once.
func bothOf(a, b []api.ObjectRef) []api.ObjectRef {
	all := slices.Clone(a)
	for _, object := range b {
		if !slices.Contains(all, object) {
			all = append(all, object)
		}
	}
	return all
}

func decodeTarget(raw json.RawMessage) (Target, error) {
	var t Target
	if err := json.Unmarshal(raw, &t); err != nil {
		return Target{}, fmt.Errorf("decode a plan's target: %w", err)
	}
	return t, nil
}

// restores says that the target is a state version, and nothing that Terraform would do.
func (t Target) restores() bool { return t.Restore.Version > 0 }

// setApplied writes what is applied.
func setApplied(ctx context.Context, tx *store.Tx, installComponent string, a Applied) error {
	return one(tx.SetApplied(ctx, store.SetAppliedParams{
		OrgID: tx.Org, ID: installComponent, Digest: a.Digest, Artifact: a.Artifact, ReleaseID: a.Release,
		Config: orNull(a.Config), ValuesRead: orNull(a.Values), Inventory: orNull(a.Inventory),
	}))
}

// orNull makes the JSON null of a decoded Applied the database's.
func orNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func encode(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return raw, nil
}
