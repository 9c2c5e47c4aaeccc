// Package stackversion stores the stacks that were rendered for an install as append-only versions. A
// version is added when the files differ from those of the newest one. Package rollout calls it with
// what an install is to have; the control API reads the versions.
package stackversion

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stackfiles"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Newest identifies the newest version of an install's stack. Its zero value means that there is none.
type Newest struct {
	Version int32  `json:"version"`
	Digest  string `json:"digest"`
}

// Subject is what the stack of an install is rendered from.
type Subject struct {
	Install store.Install
	Release store.Release
	Config  *appconfig.App
	Facts   installstack.Facts // without the runner
	Newest  Newest
}

// Renderer renders stacks. It is safe for concurrent use.
type Renderer struct {
	runner installstack.Runner
	bucket string // with published templates; empty for none

	mu      sync.Mutex
	digests map[[sha256.Size]byte]string // of the files, by that of what they were rendered from
}

// New returns a renderer for runners that reach the control plane in the given way, and for a bucket with published
// templates, which may be empty. Without an address and a program of runners it stores no versions.
func New(runner installstack.Runner, bucket string) *Renderer {
	return &Renderer{runner: runner, bucket: bucket, digests: map[[sha256.Size]byte]string{}}
}

// Render renders the stack of an install. The files state the number of their version: that of the
// newest one if nothing else changed, and otherwise the next.
func (r *Renderer) Render(s Subject) stackfiles.Rendering {
	s.Facts.Runner, s.Facts.Bucket = r.runner, r.bucket
	if s.Facts.Version = int(s.Newest.Version); s.Facts.Version > 0 {
		if same := stackfiles.Render(s.Config, s.Facts); same.Digest == s.Newest.Digest {
			return same
		}
	}
	s.Facts.Version++
	return stackfiles.Render(s.Config, s.Facts)
}

// maxDigests bounds the digests that are remembered.
const maxDigests = 20_000

// Ensure stores a version of each stack that differs from its newest version. Stacks that cannot be
// rendered get none. The caller has locked the installs.
func (r *Renderer) Ensure(ctx context.Context, tx *store.Tx, all []Subject) error {
	if r.runner.URL == "" || r.runner.SHA256 == "" {
		return nil
	}
	for _, s := range all {
		basis := r.basis(s)
		r.mu.Lock()
		digest, known := r.digests[basis]
		r.mu.Unlock()
		if known && (digest == "" || digest == s.Newest.Digest) {
			continue
		}
		rendering := r.Render(s)
		if _, err := Store(ctx, tx, s, rendering, "nuon"); err != nil {
			return err
		}
		r.remember(basis, rendering.Digest)
	}
	return nil
}

func (r *Renderer) remember(basis [sha256.Size]byte, digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.digests) >= maxDigests {
		clear(r.digests)
	}
	r.digests[basis] = digest
}

// basis returns a digest of everything that a stack is rendered from.
func (r *Renderer) basis(s Subject) [sha256.Size]byte {
	raw, _ := json.Marshal(struct { // only texts and maps of texts
		Version string
		Facts   installstack.Facts
	}{s.Release.VersionID, s.Facts})
	return sha256.Sum256(raw)
}

// Store stores a rendering as the next version, unless it has no files or is the newest version
// already. It returns the version that has the files; 0 for none.
func Store(ctx context.Context, tx *store.Tx, s Subject, r stackfiles.Rendering, actor string) (int32, error) {
	switch r.Digest {
	case "":
		return 0, nil
	case s.Newest.Digest:
		return s.Newest.Version, nil
	}
	files, err := json.Marshal(r.Files)
	if err != nil {
		return 0, fmt.Errorf("encode the stack of install %s: %w", s.Install.Name, err)
	}
	findings, err := json.Marshal(r.Findings)
	if err != nil {
		return 0, fmt.Errorf("encode the findings of the stack of install %s: %w", s.Install.Name, err)
	}
	row, err := tx.AddStackVersion(ctx, store.AddStackVersionParams{
		OrgID: tx.Org, InstallID: s.Install.ID, Version: s.Newest.Version + 1, Digest: r.Digest, Cloud: r.Cloud, Name: r.Name,
		Region: r.Region, Files: files, Findings: findings, Release: s.Release.Number,
	})
	if err != nil {
		return 0, fmt.Errorf("store the stack of install %s: %w", s.Install.Name, err)
	}
	return row.Version, tx.Audit(ctx, actor, "install.stack_version", s.Install.ID, map[string]any{
		"version": row.Version, "digest": row.Digest, "release": row.Release,
	})
}

// State compares the stack that a customer runs with the newest version.
type State string

// The states.
const (
	Pending   State = "pending"     // the customer created none, as far as is known
	Active    State = "active"      // the customer runs the newest version
	OutOfDate State = "out_of_date" // the customer runs an earlier version
	Unknown   State = "unknown"     // the customer created one, of an unknown version
	Gone      State = "deleted"     // the customer deleted it
)

// Deleted is stated as the version of a stack that was deleted.
const Deleted = "deleted"

// StateOf returns the state of a stack. reported are outputs that somebody set, and running is the
// version that has them, as it was stated.
func StateOf(newest Newest, reported bool, running string) State {
	number, err := strconv.Atoi(running)
	switch {
	case !reported:
		return Pending
	case running == Deleted:
		return Gone
	case err != nil || newest.Version == 0 || number > int(newest.Version):
		return Unknown
	case number < int(newest.Version):
		return OutOfDate
	}
	return Active
}
