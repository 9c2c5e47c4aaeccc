package transfer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/filelock"
	"github.com/nuon-toolkit/nuon/pkg/oci"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// Sync is the handler of sync jobs.
type Sync struct{}

// keepFor is how long the files of an interrupted copy are stored for a later job.
const keepFor = 7 * 24 * time.Hour

// Run copies an artifact. When it succeeds, the install's registry has the complete artifact.
func (Sync) Run(ctx context.Context, env *job.Env) (api.JobResult, error) {
	if err := Copy(ctx, env, env.Spec.Sync); err != nil {
		return api.JobResult{}, err
	}
	return api.JobResult{Status: job.Succeeded}, nil
}

// Copy copies the parts of an artifact that the install's registry lacks.
func Copy(ctx context.Context, env *job.Env, spec api.SyncSpec) error {
	from, err := env.Vendor.Open(spec.From.Repository)
	if err != nil {
		return err
	}
	to, err := env.Install.Open(spec.To)
	if err != nil {
		return err
	}
	c := newCopier(env, from, to)
	if _, err := filelock.Clear(c.dir, time.Now().Add(-keepFor)); err != nil {
		env.Log.Warn("cannot clear what old copies left: %v", err)
	}
	if err := c.artifact(ctx, spec.From.Digest, spec.ComponentKind); err != nil {
		return c.explain(err, spec)
	}
	return nil
}

func newCopier(env *job.Env, from, to *oci.Repository) *copier {
	return &copier{from: from, to: to, dir: Dir(env.Root), notes: filepath.Join(env.Root, "blobs"), log: env.Log,
		policy: retryPolicyOf(env.Timing)}
}

// Dir returns the runner's directory for copies in progress.
func Dir(root string) string { return filepath.Join(root, "transfer") }

// explain explains an error of the vendor's side, with the remedy. Errors of the install's side
// are returned as they are, because they name its registry.
func (c *copier) explain(err error, spec api.SyncSpec) error {
	var refused *oci.Error
	if !errors.As(err, &refused) || refused.Repository != c.from.Reference() {
		return err
	}
	build := fmt.Sprintf("the build %s of %s", spec.From.Digest, spec.Component)
	switch refused.Reason {
	case oci.NotFound:
		return fmt.Errorf("the vendor's registry does not have %s any more: build %s anew by a change of its source, then "+
			"retry this step", build, spec.Component)
	case oci.Damaged:
		return fmt.Errorf("%s is damaged in the vendor's registry, and nothing of it was used: %w", build, refused.Err)
	case oci.Unauthorized, oci.Forbidden:
		return fmt.Errorf("the control plane does not hand out %s to this runner (%s): retry this step; if that does not "+
			"help, report it", build, refused.Reason)
	case oci.Unreachable, oci.Rejected:
		return fmt.Errorf("%s could not be fetched from the control plane: %w; look whether the runner reaches it (runnerd "+
			"status) and whether its registry is well, then retry this step", build, refused.Err)
	}
	return err
}
