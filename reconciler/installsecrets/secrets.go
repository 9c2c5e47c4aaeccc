// Package installsecrets enqueues jobs by which runners report the versions of the customer's secrets and copy
// them into clusters, and stores the reports: names, ids of versions and places, never values.
//
// It reads what an install's release declares, adds jobs for its runner, one at a time, and has the install
// reconciled when a report differs. Package rollout decides what follows. The main program calls Reconcile when a
// check is due; package jobs calls JobAccepted and JobEnded.
package installsecrets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/installcheck"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/runners"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// OwnerKind is the owner kind of secrets jobs in package jobs. Their owner id is the install's id.
const OwnerKind = string(installcheck.Secrets)

// The intervals between checks: if nothing waits for a secret, if something may, and while the runner cannot check.
const (
	settledInterval = 5 * time.Minute
	waitingInterval = 20 * time.Second
	idleInterval    = 30 * time.Second
	// waitingTime is how long after the last change of a secret it counts as waited for.
	waitingTime = time.Hour
)

// jobTimeout bounds one check, in seconds.
const jobTimeout = 300

// Bounds of what is stored of a report, in runes.
const (
	maxVersion = 200
	maxText    = 500
)

// Report is what is stored about one secret.
type Report struct {
	api.SecretStatus

	// Since is when the runner first reported this version and state.
	Since time.Time `json:"since"`
}

// Declared is what the release of an install declares of secrets.
type Declared struct {
	// Spec has the secrets, and the role under which the runner copies them into the cluster.
	Spec   api.JobSpec
	Digest string // of the secrets, and of what their templates read
	NoRole string // why there is no such role now; empty if there is one, or the job needs none
}

// Source returns what to check.
type Source interface {
	DeclaredSecrets(ctx context.Context, tx *store.Tx, install store.Install) (Declared, error)
}

// Secrets enqueues checks and stores their results. It is safe for concurrent use, by any number of replicas.
type Secrets struct {
	store  *store.Store
	source Source
}

// New returns the service.
func New(s *store.Store, source Source) *Secrets { return &Secrets{store: s, source: source} }

// Reconcile enqueues a check for the runner of an install, unless one is queued or running or the runner cannot
// check. It returns no error for a deleted install.
func (s *Secrets) Reconcile(ctx context.Context, org, installID string) error {
	return installcheck.Secrets.Reconcile(ctx, s.store, org, installID, s.reconcile)
}

func (s *Secrets) reconcile(ctx context.Context, tx *store.Tx, install store.Install) error {
	declared, err := s.source.DeclaredSecrets(ctx, tx, install)
	if err != nil {
		return err
	}
	reports, checked, err := Stored(ctx, tx, install.ID)
	if err != nil {
		return err
	}
	has := len(declared.Spec.Secrets.Secrets) > 0
	if !has && !slices.ContainsFunc(reports, func(r Report) bool { return len(r.Copies) > 0 }) {
		if err := tx.DeleteInstallSecrets(ctx, tx.Org, install.ID); err != nil {
			return err
		}
		return installcheck.Secrets.ClearDue(ctx, tx, install.ID)
	}
	runner, available, err := installcheck.Runner(ctx, tx, install)
	if err != nil {
		return err
	}
	started := false
	if available && Allowed(runner) && declared.NoRole == "" { // what waits for a copy states why
		declared.Spec.TimeoutSeconds = jobTimeout
		started, err = installcheck.Secrets.Start(ctx, tx, install, reason(checked), declared.Spec)
	}
	if err != nil {
		return err
	}
	if !started {
		return installcheck.Secrets.SetDueIn(ctx, tx, install.ID, idleInterval)
	}
	if err := tx.SecretsRequested(ctx, tx.Org, install.ID, declared.Digest); err != nil {
		return err
	}
	return installcheck.Secrets.SetDueIn(ctx, tx, install.ID, settledInterval)
}

func reason(checked *time.Time) string {
	if checked == nil {
		return "the secrets of the install have not been reported yet"
	}
	return "it is time to check the versions of the install's secrets"
}

// Allowed reports whether a runner's file, as last reported, allows checks of secrets.
func Allowed(runner store.Runner) bool {
	return runners.AllowsJob(runners.ReportedPolicy(runner), string(api.JobSpecKindSecrets))
}

// RequestCheck makes a check of an install's secrets due.
func RequestCheck(ctx context.Context, tx *store.Tx, install string) error {
	return installcheck.Secrets.SetDueIn(ctx, tx, install, 0)
}

// Stored returns what the runner of an install reported last, and when; nil and nil before it has.
func Stored(ctx context.Context, tx *store.Tx, install string) ([]Report, *time.Time, error) {
	row, err := tx.InstallSecrets(ctx, tx.Org, install)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	reports, err := Decode(row.Secrets)
	return reports, row.CheckedAt, err
}

// Decode decodes stored reports.
func Decode(raw json.RawMessage) ([]Report, error) {
	var reports []Report
	if err := json.Unmarshal(raw, &reports); err != nil {
		return nil, fmt.Errorf("decode the reports of secrets: %w", err)
	}
	return reports, nil
}

// JobAccepted accepts every check.
func (s *Secrets) JobAccepted(context.Context, *store.Tx, store.Job) error { return nil }

// JobEnded stores the results of a check and schedules the next one. It ignores reports about secrets that the
// job did not ask for.
func (s *Secrets) JobEnded(ctx context.Context, tx *store.Tx, job store.Job, result api.JobResult) error {
	var spec api.JobSpec
	if err := json.Unmarshal(job.Spec, &spec); err != nil {
		return fmt.Errorf("decode the spec of job %s: %w", job.ID, err)
	}
	before, _, err := Stored(ctx, tx, job.OwnerID)
	if err != nil {
		return err
	}
	after := merge(before, spec.Secrets, result, tx.Now())
	raw, err := json.Marshal(after)
	if err != nil {
		return err
	}
	if raw, err = store.CleanJSON(raw); err != nil {
		return err
	}
	if err := tx.SaveInstallSecrets(ctx, raw, tx.Org, job.OwnerID); err != nil {
		return err
	}
	if !slices.EqualFunc(before, after, same) {
		if err := tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: job.OwnerID}); err != nil {
			return err
		}
	}
	next := nextCheck(after, len(spec.Secrets.Cluster.Path) > 0, tx.Now())
	return installcheck.Secrets.End(ctx, tx, job, next)
}

// nextCheck returns when to check again.
func nextCheck(reports []Report, cluster bool, now time.Time) time.Duration {
	for _, r := range reports {
		if now.Sub(r.Since) > waitingTime {
			continue
		}
		if r.State != api.SecretStatusStatePresent || cluster && len(r.Copies) > 0 && !r.Copied {
			return waitingInterval
		}
	}
	return settledInterval
}

// same reports whether two reports have the same consequences.
func same(a, b Report) bool {
	return a.Name == b.Name && a.State == b.State && a.Version == b.Version && a.Problem == b.Problem &&
		a.Copied == b.Copied && slices.Equal(a.Copies, b.Copies)
}

// merge returns the reports after a check. A check that failed leaves the state of no secret known that was not known
// before.
func merge(before []Report, asked api.SecretsSpec, result api.JobResult, now time.Time) []Report {
	after := []Report{}
	reported := func(name string) int {
		return slices.IndexFunc(result.Secrets.Secrets, func(s api.SecretStatus) bool { return s.Name == name })
	}
	for _, secret := range asked.Secrets {
		was := Report{SecretStatus: api.SecretStatus{Name: secret.Name}}
		if i := slices.IndexFunc(before, func(r Report) bool { return r.Name == secret.Name }); i >= 0 {
			was = before[i]
		}
		is := Report{Since: now, SecretStatus: was.SecretStatus}
		if i := reported(secret.Name); i >= 0 {
			is.SecretStatus = clean(result.Secrets.Secrets[i])
		} else {
			is.State = cmp.Or(was.State, api.SecretStatusStateUnknown)
			is.Problem = cmp.Or(runners.Printable(result.Error, maxText), "the runner reported nothing about it")
		}
		if was.State == is.State && was.Version == is.Version {
			is.Since = was.Since
		}
		after = append(after, is)
	}
	slices.SortFunc(after, func(a, b Report) int { return cmp.Compare(a.Name, b.Name) })
	return after
}

// clean bounds a report of a runner, which is input like any other.
func clean(s api.SecretStatus) api.SecretStatus {
	if !s.State.Valid() || s.State == api.SecretStatusStatePresent && s.Version == "" {
		s.State, s.Problem = api.SecretStatusStateUnknown, "the runner reported no state of it"
	}
	s.Version = runners.Printable(s.Version, maxVersion)
	s.Location, s.Problem = runners.Printable(s.Location, maxText), runners.Printable(s.Problem, maxText)
	if len(s.Copies) > maxCopies {
		s.Copies = s.Copies[:maxCopies]
	}
	for i := range s.Copies {
		c := &s.Copies[i]
		c.Namespace, c.Name, c.Key = runners.Printable(c.Namespace, maxText), runners.Printable(c.Name, maxText),
			runners.Printable(c.Key, maxText)
	}
	return s
}

// maxCopies bounds the copies of one secret.
const maxCopies = 100

var _ jobs.Owner = (*Secrets)(nil)
