package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/child"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/spool"
	"github.com/nuon-toolkit/nuon/runnerd/timing"
)

// Env is what a handler is given.
type Env struct {
	// Spec says what to do.
	Spec api.JobSpec
	// Dir is the attempt's spool directory. It goes when the result has been delivered.
	Dir string
	// Root is the runner's own directory. What has to be at the same absolute path in two jobs (plan and apply) lies below it.
	Root string
	// Log takes what people will read, without what Redact knows.
	Log *Log
	// Redact holds the known secrets. A handler adds each secret as it opens it, before it uses it.
	Redact *redact.Set
	// Key is the install key; the zero Identity when the runner has none.
	Key seal.Identity
	// KubeConfig is the file by which what asks for it finds the cluster: the one that the runner was given, absolute; empty for none.
	KubeConfig string
	// Policy is what the runner file allowed when the job was taken. The zero Rule allows what a runner without a file does.
	Policy policy.Rule
	// OnlyCluster is the identity of the one cluster that may be reached, as package cluster names it; empty for any.
	OnlyCluster string
	// API makes the calls that this attempt may make.
	API *Remote
	// Vendor is where the vendor's artifacts are: for a build job the vendor's registry itself, for a sync job the runner API, which hands
	// out what the job's spec names, by the attempt token; no other job has it. Install is the install's own registry, with its copies of
	// artifacts and its plan bundles; a build job has none.
	Vendor, Install *Registry
	// Timing holds the graces; see Handler.
	Timing timing.Timing
}

// Work makes the work directory of the attempt, and gives its path. runnerd removes it when the job has ended. Where programs run as
// another user they pass through it, and it is for the handler to give or show them what is in it (package child).
func (e *Env) Work() (string, error) {
	work := spool.Attempt{Dir: e.Dir}.WorkDir()
	if child.Separate() {
		work = filepath.Join(spool.Attempt{Dir: e.Dir}.SharedDir(), "work")
	}
	err := os.MkdirAll(work, 0o700)
	if err == nil && child.Separate() {
		err = errors.Join(child.Admit(filepath.Dir(work)), child.Admit(work))
	}
	if err != nil {
		return "", fmt.Errorf("make the work directory: %w", err)
	}
	return work, nil
}
