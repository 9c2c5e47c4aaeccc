package action

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/transfer"
)

// openSource unpacks the code that a step runs, and returns the directory in which the step runs. Each
// step gets a separate copy, beside what other steps can change, so that it runs what was approved.
func (r *run) openSource(ctx context.Context, number int, step api.ActionStep) (string, error) {
	source := step.Source
	if source.From.Digest != source.Artifact.Digest || !fs.ValidPath(source.Directory) {
		return "", fmt.Errorf("its source %s is ambiguous; this is a bug in the control plane; report it", source.Name)
	}
	err := transfer.Copy(ctx, r.env, api.SyncSpec{
		Install: r.spec.Install, InstallID: r.spec.InstallID, Component: source.Name,
		ComponentKind: appconfig.KindActionSource, From: source.From, To: source.Artifact.Repository,
	})
	if err != nil {
		return "", err
	}
	packed, err := r.env.Install.Pull(ctx, source.Artifact)
	if err != nil {
		return "", err
	}
	if packed.Type != artifact.MediaScripts {
		return "", fmt.Errorf("its source %s is of type %s; this is a bug in the control plane; report it", source.Name,
			packed.Type)
	}
	tree := filepath.Join(r.work, fmt.Sprintf("source-%d", number+1))
	if err := packed.Extract(tree, artifact.Limits{}); err != nil {
		return "", fmt.Errorf("unpack its source %s: %w", source.Name, err)
	}
	dir := filepath.Join(tree, filepath.FromSlash(source.Directory))
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("its source %s holds no directory %s; this is a bug in the control plane; report it",
			source.Name, source.Directory)
	}
	r.env.Log.Info("source %s at commit %s, artifact %s", source.Name, source.Commit, source.Artifact.Digest)
	return dir, subprocess.GrantOwnership(tree)
}
