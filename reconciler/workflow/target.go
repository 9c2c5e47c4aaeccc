package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Target is the result that a plan works towards: all that its plan and apply jobs need, and
// what is stored as applied afterwards. It is stored with the step, then with the plan. It
// holds templates and values, plain or sealed to the install's key, never an opened secret.
type Target struct {
	Digest  string         `json:"digest"`  // the desired digest
	Release string         `json:"release"` // id of the release
	Deploy  api.DeploySpec `json:"deploy"`  // with the values that its templates read
	// From is the artifact in the vendor's registry; Deploy.Artifact is the install's copy of it.
	From api.ArtifactRef `json:"from,omitzero"`
	// Size is the artifact's size in bytes, 0 if unknown. AlreadyCopied reports that it was
	// copied before, SyncForbidden that the runner does not accept plans that copy. They
	// decide whether a sync needs a job.
	Size          int64 `json:"-"`
	AlreadyCopied bool  `json:"-"`
	SyncForbidden bool  `json:"-"`
	// Config is returned to the DesiredStateSource as the applied config: the next desired state is
	// compared with it, and a destroy is made from it. It is opaque here.
	Config json.RawMessage `json:"config"`

	Role    api.OperationRole `json:"role,omitzero"`    // of its plan and of its apply; zero for the runner's own identity
	Restore api.Restore       `json:"restore,omitzero"` // of a restore: the version that becomes the newest
	Timeout int               `json:"timeout"`          // of its plan and of its apply, in seconds; 0 for the default

	Existing  []api.ObjectRef `json:"found,omitempty"`  // of a manifest: the objects that existed before, or may have
	Remaining []api.ObjectRef `json:"leaves,omitempty"` // the objects that remain after its apply, according to the plan

	Problem string `json:"problem,omitempty"` // why the runner's response could not be used
	Stale   string `json:"stale,omitempty"`   // how the state changed before the plan was recorded
	// of a consumed plan: what was applied when its apply was accepted
	PreviouslyApplied *Applied `json:"before,omitempty"`
}

// Applied holds the applied columns of an install component: what is deployed, as far
// as known. With an empty digest and an artifact, something may be deployed, made
// from these values or from those that they replaced.
type Applied struct {
	Digest   string          `json:"digest"`
	Artifact string          `json:"artifact"`
	Release  *string         `json:"release"`
	Config   json.RawMessage `json:"config"`
	Values   json.RawMessage `json:"values"`

	Inventory json.RawMessage `json:"inventory,omitempty"` // of a manifest: api.ObjectRefs
}

func appliedOf(c store.InstallComponent) Applied {
	return Applied{Digest: c.AppliedDigest, Artifact: c.AppliedArtifact, Release: c.AppliedReleaseID,
		Config: c.AppliedConfig, Values: c.AppliedValues, Inventory: c.AppliedInventory}
}

// applied returns the target as applied state; with known false, as the state of an
// apply that may have done any part of its work.
func (t Target) applied(known bool) (Applied, error) {
	values, err := json.Marshal(t.Deploy.Values)
	if err != nil {
		return Applied{}, fmt.Errorf("encode applied values: %w", err)
	}
	a := Applied{Artifact: t.Deploy.Artifact.Digest, Config: t.Config, Values: values}
	objects := t.Remaining
	if known {
		a.Digest = t.Digest
	} else {
		objects = union(t.Existing, t.Remaining)
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

// union returns the objects of both lists, each once.
func union(a, b []api.ObjectRef) []api.ObjectRef {
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

// restores reports whether the target is a state version rather than a Terraform run.
func (t Target) restores() bool { return t.Restore.Version > 0 }

// setApplied stores the applied state.
func setApplied(ctx context.Context, tx *store.Tx, installComponent string, a Applied) error {
	return expectOneRow(tx.SetApplied(ctx, store.SetAppliedParams{
		OrgID: tx.Org, ID: installComponent, Digest: a.Digest, Artifact: a.Artifact, ReleaseID: a.Release,
		Config: nullJSON(a.Config), ValuesRead: nullJSON(a.Values), Inventory: nullJSON(a.Inventory),
	}))
}

// nullJSON converts the JSON null of a decoded Applied to the database's NULL.
func nullJSON(raw json.RawMessage) json.RawMessage {
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
