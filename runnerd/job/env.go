package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// Env is the input of a handler.
type Env struct {
	// Spec describes the job.
	Spec api.JobSpec
	// Dir is the attempt's spool directory. It is removed when the result has been delivered.
	Dir string
	// Root is the runner's own directory. Files that need the same absolute path in two jobs
	// (plan and apply) are stored below it.
	Root string
	// Log receives the messages for people. It masks the secrets in Redact.
	Log *Log
	// Redact holds the known secrets. A handler adds each secret as soon as it opens
	// it, before it uses it.
	Redact *redact.Set
	// Key is the install key; the zero Identity when the runner has none.
	Key seal.Identity
	// KubeConfig is the absolute path of the kubeconfig that the runner was started
	// with; empty for none.
	KubeConfig string
	// Policy is the policy of the runner file when the job was accepted. The zero Rule
	// is the policy of a runner without a file.
	Policy policy.Rule
	// OnlyCluster is the identity of the one cluster that may be reached, as package cluster
	// computes it; empty for any cluster.
	OnlyCluster string
	// API makes the API calls that this attempt may make.
	API *AttemptClient
	// Vendor is the source of the vendor's artifacts. For a build job it is the vendor's
	// registry itself; for a sync job, and for a plan job that copies its artifact,
	// it is the runner API, which serves the artifact of the job's spec to the attempt token;
	// other jobs have none. Install is the install's own registry, with its copies of artifacts
	// and its plan bundles; a build job has none.
	Vendor, Install *Registry
	// Timing holds the grace periods; see Handler.
	Timing timing.Timing
}

// anyUser is the user name of a credential without one. Servers that take tokens ignore it.
const anyUser = "nuon"

// BuildCredential returns the org's credential with a user name, or the login, for an address of images or charts,
// or zero if there is none. The log masks it.
func (e *Env) BuildCredential(ctx context.Context, address string) (ModuleCredential, error) {
	found, err := e.API.ModuleCredential(ctx, e.Spec.Org, address)
	if err != nil || found.Secret.IsZero() {
		return found, err
	}
	e.Redact.AddSecret(found.Secret)
	found.Username = cmp.Or(found.Username, anyUser)
	return found, nil
}

// CreateWorkDir creates the work directory of the attempt and returns its path. runnerd removes it after
// the job. Where programs run as another user they can only traverse it, and the handler grants
// them access to the files in it (package child).
func (e *Env) CreateWorkDir() (string, error) {
	work := spool.Attempt{Dir: e.Dir}.WorkDir()
	if subprocess.HasOtherUser() {
		work = filepath.Join(spool.Attempt{Dir: e.Dir}.SharedDir(), "work")
	}
	err := os.MkdirAll(work, 0o700)
	if err == nil && subprocess.HasOtherUser() {
		err = errors.Join(subprocess.AllowTraverse(filepath.Dir(work)), subprocess.AllowTraverse(work))
	}
	if err != nil {
		return "", fmt.Errorf("make the work directory: %w", err)
	}
	return work, nil
}
