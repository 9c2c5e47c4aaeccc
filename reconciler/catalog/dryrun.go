package catalog

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/gittree"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// DryRun is a tree of files that an app's config could be read from, and the result of reading it.
type DryRun struct {
	App         store.App
	Current     *store.AppVersion // nil if the app has none
	Tree        *gittree.Tree
	Config      *appconfig.App        // nil if it has errors
	Diagnostics appconfig.Diagnostics // the diagnostics of the config
}

// dryRunLimits bounds the files of a draft, which are those of a repository, not only of a config.
var dryRunLimits = artifact.Limits{Files: 20_000, FileBytes: 32 << 20, TotalBytes: 128 << 20}

// DryRun reads a tar+gzip as a sync would read it if it were committed: of the repository of a
// connected app, with its config in a directory, or of the directory of an app without a
// repository. It writes nothing. The caller has called Unpack. Errors: store.ErrNotFound; ErrArchive.
func (c *Catalog) DryRun(ctx context.Context, org, appID, directory string, packed []byte) (DryRun, error) {
	at, err := c.loadState(ctx, org, appID)
	if err != nil {
		return DryRun{}, fmt.Errorf("read app %s: %w", appID, err)
	}
	files, err := artifact.Untar(packed, dryRunLimits)
	if err != nil {
		return DryRun{}, ErrArchive.With("%v", err)
	}
	tree, err := treeOf(files)
	if err != nil {
		return DryRun{}, ErrArchive.With("%v", err)
	}
	d := DryRun{App: at.app, Current: at.current, Tree: tree}
	if d.Config, d.Diagnostics, err = c.readConfig(ctx, tree, directory, at.watch); err != nil {
		return DryRun{}, fmt.Errorf("read the config: %w", err)
	}
	if err := tree.Err(); err != nil {
		return DryRun{}, ErrArchive.With("%v", err)
	}
	if d.Config == nil {
		return d, nil
	}
	if d.Diagnostics = append(d.Diagnostics, c.checkSources(d.Config, at.watch != nil)...); d.Diagnostics.HasErrors() {
		d.Config = nil
	}
	return d, nil
}

// treeOf makes a tree of files that were uploaded instead of committed. Every directory has the
// hash that git would give it, so that it can be compared with a committed one.
func treeOf(files []artifact.File) (*gittree.Tree, error) {
	b := gittree.NewBuilder(nil)
	for _, file := range files {
		content, mode := file.Content, fs.FileMode(0o644)
		switch {
		case file.Link != "":
			content, mode = []byte(file.Link), fs.ModeSymlink
		case file.Executable:
			mode = 0o755
		}
		if err := b.Add(file.Path, mode, content); err != nil {
			return nil, err
		}
	}
	return b.Tree()
}
