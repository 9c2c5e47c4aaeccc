package tfstate

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/jobs"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Limits bounds the number and total size of stored state versions. A value that is not
// positive means its default.
type Limits struct {
	AttemptVersions int64 // versions written by one attempt
	AttemptBytes    int64
	InstallVersions int64 // versions of all components of an install
	InstallBytes    int64
}

// DefaultLimits are the defaults of Limits.
var DefaultLimits = Limits{
	AttemptVersions: 10, AttemptBytes: 256 << 20, InstallVersions: 5000, InstallBytes: 4 << 30,
}

// minVersions returns how many of a component's newest versions stay when its install has reached
// its limit: more than one attempt can write, so that no single attempt can displace the versions
// from before it.
func (l Limits) minVersions() int32 {
	return int32(min(2*l.AttemptVersions, math.MaxInt32)) //nolint:gosec // bounded
}

func orDefault(value, otherwise int64) int64 {
	if value <= 0 {
		return otherwise
	}
	return value
}

// incoming is a state that a runner delivers.
type incoming struct {
	subject jobs.Subject
	by      jobs.Attempt
	state   api.State
	sealed  json.RawMessage
	bytes   int64
}

// countStored counts the stored states of the attempt and of the install.
func countStored(ctx context.Context, tx *store.Tx, in incoming) (store.StateUsageRow, error) {
	return tx.StateUsage(ctx, store.StateUsageParams{
		OrgID: tx.Org, InstallComponentID: in.subject.Component, JobID: in.by.Job.ID, Attempt: in.by.Row.Number,
	})
}

// evictVersions removes stored versions so that a state fits: first what the same attempt wrote before
// it, then, for the install's limit, the oldest superseded versions. If the state would not fit
// even then, it removes nothing and returns the reason.
func (s *Service) evictVersions(
	ctx context.Context, tx *store.Tx, in incoming, usage store.StateUsageRow,
) (full string, err error) {
	var removed []store.SupersededStatesRow
	remove := func(component string, version, bytes int32) {
		removed = append(removed, store.SupersededStatesRow{InstallComponentID: component, Version: version})
		usage.Versions, usage.Bytes = usage.Versions-1, usage.Bytes-int64(bytes)
	}
	attemptFits := func() bool {
		return usage.AttemptVersions < s.limits.AttemptVersions && usage.AttemptBytes+in.bytes <= s.limits.AttemptBytes
	}
	installFits := func() bool {
		return usage.Versions < s.limits.InstallVersions && usage.Bytes+in.bytes <= s.limits.InstallBytes
	}
	if !attemptFits() {
		own, err := tx.ReplaceableStates(ctx, store.ReplaceableStatesParams{
			OrgID: tx.Org, InstallComponentID: in.subject.Component, JobID: in.by.Job.ID, Attempt: in.by.Row.Number,
			Lineage: in.state.Lineage, Serial: in.state.Serial,
		})
		if err != nil {
			return "", err
		}
		for _, row := range own {
			if attemptFits() {
				break
			}
			remove(in.subject.Component, row.Version, row.Bytes)
			usage.AttemptVersions, usage.AttemptBytes = usage.AttemptVersions-1, usage.AttemptBytes-int64(row.Bytes)
		}
	}
	if !attemptFits() {
		return fmt.Sprintf("attempt %d of job %s has left %d versions (%s) that do not replace each other, and an attempt "+
			"may leave %d (%s)",
			in.by.Row.Number, in.by.Job.ID, usage.AttemptVersions, mebibytes(usage.AttemptBytes),
			s.limits.AttemptVersions, mebibytes(s.limits.AttemptBytes)), nil
	}
	if !installFits() {
		old, err := tx.SupersededStates(ctx, tx.Org, in.subject.Component, s.limits.minVersions())
		if err != nil {
			return "", err
		}
		for _, row := range old {
			if installFits() {
				break
			}
			remove(row.InstallComponentID, row.Version, row.Bytes)
		}
	}
	if !installFits() {
		return fmt.Sprintf("the install has %d state versions (%s) that cannot be deleted yet, and may have %d (%s)",
			usage.Versions, mebibytes(usage.Bytes), s.limits.InstallVersions, mebibytes(s.limits.InstallBytes)), nil
	}
	for _, row := range removed {
		if err := tx.RemoveState(ctx, tx.Org, row.InstallComponentID, row.Version); err != nil {
			return "", err
		}
	}
	return "", nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// withhold records that a state stays on its runner's disk because of a limit: its component
// stalls, and the record tells a person why. One record per attempt is enough, because its runner
// delivers its states in order.
func withhold(ctx context.Context, tx *store.Tx, in incoming, usage store.StateUsageRow, full string) error {
	if usage.Withheld {
		return nil
	}
	reason := fmt.Sprintf("its runner keeps it on disk and sends it again, because the limit is reached: %s", full)
	version, err := tx.WithholdState(ctx, store.WithholdStateParams{
		OrgID: tx.Org, InstallComponentID: in.subject.Component, Serial: in.state.Serial, Lineage: in.state.Lineage,
		Digest: in.state.Digest,
		KeyID:  in.state.Sealed.KeyID, Bytes: int32(min(in.bytes, math.MaxInt32)), //nolint:gosec // bounded
		JobID: in.by.Job.ID, Attempt: in.by.Row.Number, Reason: reason,
	})
	if err != nil {
		return err
	}
	if err := recordState(ctx, tx, in.by, "state.withheld", in.subject.Component, version, full); err != nil {
		return err
	}
	return enqueueRollout(ctx, tx, in.by)
}

// enqueueRollout enqueues a reconcile of the job's install.
func enqueueRollout(ctx context.Context, tx *store.Tx, h jobs.Attempt) error {
	if h.Job.InstallID == nil {
		return nil
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: *h.Job.InstallID})
}
