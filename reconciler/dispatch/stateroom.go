package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// StateLimits bounds the number and total size of stored state versions. A value that is not
// positive means its default.
type StateLimits struct {
	AttemptVersions int64 // versions written by one attempt
	AttemptBytes    int64
	InstallVersions int64 // versions of all components of an install
	InstallBytes    int64
}

// DefaultStateLimits are the defaults of StateLimits.
var DefaultStateLimits = StateLimits{
	AttemptVersions: 10, AttemptBytes: 256 << 20, InstallVersions: 5000, InstallBytes: 4 << 30,
}

// leastVersions returns how many of a component's newest versions stay when its install has reached
// its limit: more than one attempt can write, so that no single attempt can displace the versions
// from before it.
func (l StateLimits) leastVersions() int32 {
	return int32(min(2*l.AttemptVersions, math.MaxInt32)) //nolint:gosec // bounded
}

// LimitStates sets the limits. Call it before the service is used.
func (d *Dispatch) LimitStates(limits StateLimits) {
	d.states = StateLimits{
		AttemptVersions: orDefault(limits.AttemptVersions, DefaultStateLimits.AttemptVersions),
		AttemptBytes:    orDefault(limits.AttemptBytes, DefaultStateLimits.AttemptBytes),
		InstallVersions: orDefault(limits.InstallVersions, DefaultStateLimits.InstallVersions),
		InstallBytes:    orDefault(limits.InstallBytes, DefaultStateLimits.InstallBytes),
	}
}

func orDefault(value, otherwise int64) int64 {
	if value <= 0 {
		return otherwise
	}
	return value
}

// NoRoomError reports that storing a state would exceed a limit. Its runner stores it and sends it
// again.
type NoRoomError struct{ Reason string }

// Error names the limit and what to do.
func (e *NoRoomError) Error() string { return "there is no room for this state: " + e.Reason }

// incoming is a state that a runner delivers.
type incoming struct {
	subject subject
	by      held
	state   api.State
	sealed  json.RawMessage
	bytes   int64
}

// roomFor counts the stored states of the attempt and of the install.
func roomFor(ctx context.Context, tx *store.Tx, in incoming) (store.StateRoomRow, error) {
	return tx.StateRoom(ctx, store.StateRoomParams{
		OrgID: tx.Org, InstallComponentID: in.subject.component, JobID: in.by.job.ID, Attempt: in.by.attempt.Number,
	})
}

// makeRoom removes stored versions so that a state fits: first what the same attempt wrote before
// it, then, for the install's limit, the oldest superseded versions. If the state would not fit
// even then, it removes nothing and returns the reason.
func (d *Dispatch) makeRoom(ctx context.Context, tx *store.Tx, in incoming) (full string, err error) {
	room, err := roomFor(ctx, tx, in)
	if err != nil {
		return "", err
	}
	var gone []store.SupersededStatesRow
	remove := func(component string, version, bytes int32) {
		gone = append(gone, store.SupersededStatesRow{InstallComponentID: component, Version: version})
		room.Versions, room.Bytes = room.Versions-1, room.Bytes-int64(bytes)
	}
	attemptFits := func() bool {
		return room.AttemptVersions < d.states.AttemptVersions && room.AttemptBytes+in.bytes <= d.states.AttemptBytes
	}
	installFits := func() bool {
		return room.Versions < d.states.InstallVersions && room.Bytes+in.bytes <= d.states.InstallBytes
	}
	if !attemptFits() {
		own, err := tx.ReplaceableStates(ctx, store.ReplaceableStatesParams{
			OrgID: tx.Org, InstallComponentID: in.subject.component, JobID: in.by.job.ID, Attempt: in.by.attempt.Number,
			Lineage: in.state.Lineage, Serial: in.state.Serial,
		})
		if err != nil {
			return "", err
		}
		for _, row := range own {
			if attemptFits() {
				break
			}
			remove(in.subject.component, row.Version, row.Bytes)
			room.AttemptVersions, room.AttemptBytes = room.AttemptVersions-1, room.AttemptBytes-int64(row.Bytes)
		}
	}
	if !attemptFits() {
		return fmt.Sprintf("attempt %d of job %s has left %d versions (%s) that do not replace each other, and an attempt may leave %d (%s)",
			in.by.attempt.Number, in.by.job.ID, room.AttemptVersions, mebibytes(room.AttemptBytes),
			d.states.AttemptVersions, mebibytes(d.states.AttemptBytes)), nil
	}
	if !installFits() {
		old, err := tx.SupersededStates(ctx, tx.Org, in.subject.component, d.states.leastVersions())
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
		return fmt.Sprintf("the install has %d state versions (%s) that cannot go yet, and may have %d (%s)",
			room.Versions, mebibytes(room.Bytes), d.states.InstallVersions, mebibytes(d.states.InstallBytes)), nil
	}
	for _, row := range gone {
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
func (d *Dispatch) withhold(ctx context.Context, tx *store.Tx, in incoming, full string) error {
	room, err := roomFor(ctx, tx, in)
	if err != nil || room.Withheld {
		return err
	}
	reason := fmt.Sprintf("its runner keeps it on its disk and sends it again, for there is no room: %s", full)
	version, err := tx.WithholdState(ctx, store.WithholdStateParams{
		OrgID: tx.Org, InstallComponentID: in.subject.component, Serial: in.state.Serial, Lineage: in.state.Lineage,
		Digest: in.state.Digest,
		KeyID:  in.state.Sealed.KeyID, Bytes: int32(min(in.bytes, math.MaxInt32)), //nolint:gosec // bounded
		JobID: in.by.job.ID, Attempt: in.by.attempt.Number, Reason: reason,
	})
	if err != nil {
		return err
	}
	if err := recordState(ctx, tx, in.by, "state.withheld", in.subject.component, version, full); err != nil {
		return err
	}
	return lookAtInstall(ctx, tx, in.by)
}

// lookAtInstall enqueues a reconcile of the job's install.
func lookAtInstall(ctx context.Context, tx *store.Tx, h held) error {
	if h.job.InstallID == nil {
		return nil
	}
	return tx.Enqueue(ctx, queue.Rollout{Org: tx.Org, Install: *h.job.InstallID})
}
