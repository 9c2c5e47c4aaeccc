package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// The refusals of an upload.
var (
	// ErrConnected: the app's only source is its repository.
	ErrConnected = refusal.New(refusal.Conflict, "connected",
		"the app is connected to a repository, which is its only source", "Commit, push, and run `nuon sync`.")
	// ErrArchive: the upload is not an archive that may be unpacked.
	ErrArchive = refusal.New(refusal.Invalid, "bad_archive",
		"the upload is not a tar+gzip archive of an app's directory",
		"Send the files as tar+gzip, as git would commit them; `nuon sync` does so.")
)

// The limits of an upload, packed and unpacked: a config is text.
const maxUpload = 64 << 20

var uploadLimits = artifact.Limits{Files: 10_000, FileBytes: 16 << 20, TotalBytes: 128 << 20}

// Upload reads the config of an app without a repository from a tar+gzip of its directory, and
// builds it. It returns errors in the config as diagnostics, which are also stored with the app;
// the version before then stays. reason states who uploaded it, as the start of a sentence:
// "uploaded by ada". record writes the audit event in the transaction that stores the upload: what is
// stored is built, also if Upload then fails or its caller has gone.
func (c *Catalog) Upload(
	ctx context.Context, org, appID, reason string, archive io.Reader, record func(context.Context, *store.Tx) error,
) (appconfig.Diagnostics, error) {
	packed, err := Receive(archive)
	if err != nil {
		return nil, err
	}
	config, found, err := c.unpack(ctx, packed)
	if err != nil {
		return nil, err
	}
	if config != nil {
		found = append(found, c.checkSources(config, false)...)
	}
	err = c.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		if err := c.saveUpload(ctx, tx, appID, reason, config, found); err != nil {
			return err
		}
		return record(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("store the upload: %w", err)
	}
	if found.HasErrors() {
		return found, nil
	}
	if err := c.pollComponents(ctx, org, appID, ""); err != nil {
		return nil, fmt.Errorf("store the upload: %w", err)
	}
	if err := c.build(ctx, org, appID); err != nil {
		return nil, fmt.Errorf("store the upload: %w", err)
	}
	return found, nil
}

// maxUnpacked is how many archives may be unpacked in memory at once; further ones wait.
const maxUnpacked = 2

// Unpack waits until an archive may be unpacked. The caller calls release when it needs the files no more.
// The archive must have been received before: a client that sends slowly would hold up all others.
func (c *Catalog) Unpack(ctx context.Context) (release func(), err error) {
	select {
	case c.unpacked <- struct{}{}:
		return func() { <-c.unpacked }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Receive reads an archive, up to its size limit.
func Receive(archive io.Reader) ([]byte, error) {
	packed, err := io.ReadAll(io.LimitReader(archive, maxUpload+1))
	if err != nil {
		return nil, fmt.Errorf("read the upload: %w", err)
	}
	if len(packed) > maxUpload {
		return nil, ErrArchive.With("it has more than %d MiB; remove what the config does not refer to",
			maxUpload>>20)
	}
	return packed, nil
}

// unpack reads the config in an archive. It unpacks the archive to a temporary directory that no
// path or link can leave.
func (c *Catalog) unpack(
	ctx context.Context, packed []byte,
) (config *appconfig.App, found appconfig.Diagnostics, err error) {
	release, err := c.Unpack(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	files, err := artifact.Untar(packed, uploadLimits)
	if err != nil {
		return nil, nil, ErrArchive.With("%v", err)
	}
	dir, err := os.MkdirTemp("", "nuon-upload-")
	if err != nil {
		return nil, nil, fmt.Errorf("unpack the upload: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := artifact.WriteTree(files, dir, uploadLimits); err != nil {
		return nil, nil, ErrArchive.With("%v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("unpack the upload: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return c.readConfig(ctx, root.FS(), ".", nil)
}

// saveUpload stores the result of reading an upload: the version that it makes, or only its errors.
func (c *Catalog) saveUpload(
	ctx context.Context, tx *store.Tx, appID, reason string, config *appconfig.App, found appconfig.Diagnostics,
) error {
	app, err := tx.LockApp(ctx, tx.Org, appID)
	if err != nil {
		return err
	}
	if app.WatchID != nil {
		return ErrConnected
	}
	if found.HasErrors() {
		return c.setReadState(ctx, tx, app, app.VersionID, nil, found)
	}
	at, err := stateOf(ctx, tx, app)
	if err != nil {
		return err
	}
	made, err := c.ensureVersion(ctx, tx, at, config, func(_ appState, moved versionChange,
		version *store.AppVersion) string {
		if moved == versionRevived {
			return fmt.Sprintf("%s: the config of version %d again", reason, version.Number)
		}
		return reason
	})
	if err != nil {
		return err
	}
	return c.setReadState(ctx, tx, app, &made.version.ID, nil, found)
}
