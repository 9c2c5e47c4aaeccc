// Package preview computes what a sync of an app would cause, before anything is committed or
// uploaded: which components would be built and why, which inputs are added and removed, and what
// would be behind on which install. It calls the packages that make these decisions (catalog,
// build, rollout) with a draft instead of the stored state, so its result is what they would do.
// It stores nothing. The control API calls it.
package preview

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/build"
	"github.com/nuon-toolkit/nuon/reconciler/catalog"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Preview computes previews of drafts. It is safe for concurrent use.
type Preview struct {
	store   *store.Store
	catalog *catalog.Catalog
}

// New returns a Preview.
func New(s *store.Store, c *catalog.Catalog) *Preview {
	return &Preview{store: s, catalog: c}
}

// App returns what a sync of a tree would cause: archive is the tar+gzip of an app's repository,
// with its config in directory, or of the directory of an app without a repository. Errors:
// store.ErrNotFound; a refusal if the archive is invalid or the config has errors.
func (p *Preview) App(ctx context.Context, org, appID, directory string, archive io.Reader) (api.AppPreview, error) {
	packed, err := catalog.Receive(archive)
	if err != nil {
		return api.AppPreview{}, err
	}
	release, err := p.catalog.Unpack(ctx)
	if err != nil {
		return api.AppPreview{}, err
	}
	defer release()
	draft, err := p.catalog.DryRun(ctx, org, appID, directory, packed)
	if err != nil {
		return api.AppPreview{}, err
	}
	if draft.Config == nil {
		return api.AppPreview{}, &refusal.Error{
			Kind: refusal.Invalid, Code: "bad_config",
			Title:       "the config has errors, so a sync would keep the current version",
			Diagnostics: diagnostics(draft.Diagnostics),
		}
	}
	var preview api.AppPreview
	err = p.store.ReadTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		preview, err = previewApp(ctx, tx, draft)
		return err
	})
	if err != nil {
		return api.AppPreview{}, fmt.Errorf("preview app %s: %w", draft.App.Name, err)
	}
	return preview, nil
}

func previewApp(ctx context.Context, tx *store.Tx, draft catalog.DryRun) (api.AppPreview, error) {
	out := api.AppPreview{Digest: draft.Config.Digest(), Diagnostics: diagnostics(draft.Diagnostics)}
	was, err := currentConfig(draft)
	if err != nil {
		return out, err
	}
	number, known, err := versionOf(ctx, tx, draft)
	if err != nil {
		return out, err
	}
	if known {
		out.Version = int(number)
	}
	builds, err := build.DryRunBuilds(ctx, tx, draft.App.ID, draft.Config, draft.Tree)
	if err != nil {
		return out, err
	}
	out.Components, out.Inputs = previewComponents(was, draft.Config, builds),
		changedInputs(was.Inputs, draft.Config.Inputs)
	out.Changed = draft.Current == nil || draft.Current.Digest != out.Digest
	released := draft.Current == nil || was.Deployed().Digest() != draft.Config.Deployed().Digest()
	d := rollout.DraftRelease{Config: draft.Config, Builds: map[string]store.Build{}}
	for name, b := range builds {
		out.Changed = out.Changed || b.InputChanged || b.Problem != ""
		released = released || b.InputChanged || b.Problem != ""
		d.Builds[name] = b.Build
		if name == appconfig.SandboxName {
			d.Variables = b.Variables
		}
		if b.Problem != "" {
			d.Builds[name] = store.Build{Error: b.Problem}
		}
	}
	drafted, err := rollout.PreviewDraft(ctx, tx, draft.App, d)
	if released {
		out.Release, out.Held = int(drafted.Release), drafted.IncompleteReason
	}
	out.Installs = make([]api.PreviewedInstall, 0, len(drafted.Installs))
	for _, f := range drafted.Installs {
		out.Installs = append(out.Installs,
			api.PreviewedInstall{Name: f.Install, Components: f.Components, Reason: f.Reason})
	}
	return out, err
}

// versionOf returns the number that the draft has, or would get, as a version.
func versionOf(ctx context.Context, tx *store.Tx, draft catalog.DryRun) (number int32, known bool, err error) {
	version, err := tx.VersionByDigest(ctx, tx.Org, draft.App.ID, draft.Config.Digest())
	if !errors.Is(err, store.ErrNotFound) {
		return version.Number, err == nil, err
	}
	number, err = tx.NextVersionNumber(ctx, tx.Org, draft.App.ID)
	return number, false, err
}

func diagnostics(found appconfig.Diagnostics) []api.Diagnostic {
	all := make([]api.Diagnostic, 0, len(found))
	for _, d := range found {
		all = append(all, api.Diagnostic{File: d.File, Line: d.Line, Column: d.Column, Severity: string(d.Severity),
			Message: d.Message, Hint: d.Hint})
	}
	return all
}
