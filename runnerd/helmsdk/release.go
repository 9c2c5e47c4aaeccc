package helmsdk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// Status is Helm's status of a revision of a release.
type Status string

// The statuses of a revision. A pending status and Uninstalling mean that an operation runs or was
// interrupted.
const (
	StatusUnknown         Status = "unknown"
	StatusDeployed        Status = "deployed"
	StatusUninstalled     Status = "uninstalled"
	StatusSuperseded      Status = "superseded"
	StatusFailed          Status = "failed"
	StatusUninstalling    Status = "uninstalling"
	StatusPendingInstall  Status = "pending-install"
	StatusPendingUpgrade  Status = "pending-upgrade"
	StatusPendingRollback Status = "pending-rollback"
)

// ChartInfo identifies the chart of a release.
type ChartInfo struct {
	Name, Version, AppVersion string
}

// Release is one revision of a release, as recorded in the cluster.
type Release struct {
	Name, Namespace string
	// Revision counts from 1.
	Revision int
	Status   Status
	// Description is Helm's sentence on the status, by its last writer.
	Description string
	// Manifest is the YAML of all objects except the hooks.
	Manifest string
	Hooks    []Hook
	Notes    string
	// Labels are the record's labels, without Helm's own.
	Labels                  map[string]string
	Chart                   ChartInfo
	FirstDeployed, Deployed time.Time
	// Removed reports that the objects of this revision were uninstalled.
	Removed bool
	// ValuesDigest is "sha256:…" of the user-supplied values, as JSON.
	ValuesDigest string

	record *release.Release
}

// Component returns the install component whose attempt wrote this record, or "" if
// another client wrote it.
func (r Release) Component() string {
	if r.Labels[LabelRevision] != strconv.Itoa(r.Revision) {
		return ""
	}
	return r.Labels[LabelComponent]
}

// Digest returns "sha256:…" of the revision, its status, manifest and hooks: another
// digest means that somebody changed the release.
func (r Release) Digest() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s\n%d %s", r.Revision, r.Status, len(r.Manifest), r.Manifest)
	for _, h := range r.Hooks {
		fmt.Fprintf(sum, "\n%q %d %s", h.Path, len(h.Manifest), h.Manifest)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// newRelease copies the parts of a record that callers may read.
func newRelease(r *release.Release) Release {
	made := Release{Name: r.Name, Namespace: r.Namespace, Revision: r.Version, Manifest: r.Manifest,
		Status: StatusUnknown, record: r}
	if r.Info != nil {
		made.Status, made.Description, made.Notes = Status(r.Info.Status), r.Info.Description, r.Info.Notes
		made.FirstDeployed, made.Deployed = r.Info.FirstDeployed.Time, r.Info.LastDeployed.Time
		made.Removed = made.Status == StatusUninstalled || made.Status == StatusSuperseded && !r.Info.Deleted.IsZero()
	}
	if r.Chart != nil && r.Chart.Metadata != nil {
		made.Chart = ChartInfo{Name: r.Chart.Metadata.Name, Version: r.Chart.Metadata.Version,
			AppVersion: r.Chart.Metadata.AppVersion}
	}
	for _, h := range r.Hooks {
		made.Hooks = append(made.Hooks, newHook(h))
	}
	made.Labels = maps.Clone(r.Labels)
	maps.DeleteFunc(made.Labels, func(key, _ string) bool {
		return driver.ContainsSystemLabels(map[string]string{key: ""})
	})
	if values, err := json.Marshal(r.Config); err == nil {
		made.ValuesDigest = sha256digest.Of(values)
	}
	return made
}
