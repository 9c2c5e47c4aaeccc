package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/telemetry"
	"github.com/nuon-toolkit/nuon/reconciler/queue"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// saveRevision adds an observation as the watch's newest revision, unless another replica has
// moved the watch since the poll started: then the observation may be the older of the two, and
// the watch is polled once more. A new revision starts the trace of everything that follows from
// the push; `began` is when the poll started.
func (o *Observer) saveRevision(ctx context.Context, org string, at watchState, seen observation,
	began time.Time) (err error) {
	ctx, span := telemetry.StartSpanAt(ctx, began, "observe", slog.String("org", org), slog.String("watch", at.watch.ID),
		slog.String("commit", seen.commit.Hash.String()))
	added := false
	defer func() {
		if added { // a poll that lost the race gets no trace span
			span.End(err)
		}
	}()
	changed, err := changedJSON(seen.changed, at.previous)
	if err != nil {
		return err
	}
	return o.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		added = false
		watch, err := tx.LockWatch(ctx, org, at.watch.ID)
		if err != nil {
			return err
		}
		if !equalPtr(watch.RevisionID, at.watch.RevisionID) {
			return tx.Enqueue(ctx, queue.Poll{Org: org, Watch: watch.ID})
		}
		previous := ""
		if at.previous != nil {
			previous = at.previous.Commit
		}
		revision, err := tx.AddRevision(ctx, store.AddRevisionParams{
			OrgID: org, ID: id.New("rev"), WatchID: watch.ID,
			Commit: seen.commit.Hash.String(), Tree: seen.commit.TreeHash.String(), Previous: previous,
			Forced: seen.ancestry == ancestryRewritten, ChangedPaths: changed,
			Subject: subject(seen.commit.Message), Author: PlainText(seen.commit.Author.Name, 100),
			Reason: revisionReason(watch, at.previous, seen), Trace: telemetry.Inject(ctx),
		})
		if err != nil {
			return err
		}
		added = true
		ago, err := tx.SetWatchRevision(ctx, &revision.ID, org, watch.ID)
		if err != nil {
			return err
		}
		if o.missedDelivery(watch, at.watch, ago) {
			watch.WebhookID = nil
			if err := tx.ClearWatchWebhook(ctx, org, watch.ID); err != nil {
				return err
			}
		}
		if err := o.setDue(ctx, tx, watch.ID, o.pause(watch, at.watch, ago)); err != nil {
			return err
		}
		return enqueueReaders(ctx, tx, watch.ID)
	})
}

// enqueueReaders enqueues the catalog's work for every app that reads a watch.
func enqueueReaders(ctx context.Context, tx *store.Tx, watchID string) error {
	apps, err := tx.AppsOfWatch(ctx, tx.Org, watchID)
	if err != nil {
		return err
	}
	for _, app := range apps {
		if err := tx.Enqueue(ctx, queue.Catalog{Org: tx.Org, App: app}); err != nil {
			return err
		}
	}
	return nil
}

// recordPoll records a poll that found nothing new.
func (o *Observer) recordPoll(ctx context.Context, org string, at watchState) error {
	return o.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		watch, err := tx.LockWatch(ctx, org, at.watch.ID)
		if err != nil {
			return err
		}
		ago, err := tx.SetWatchChecked(ctx, org, watch.ID)
		if err != nil {
			return err
		}
		return o.setDue(ctx, tx, watch.ID, o.pause(watch, at.watch, ago))
	})
}

// saveError stores why the repository cannot be read. checked_at remains the time of the last
// successful poll: the pause before the next poll grows with the time since.
func (o *Observer) saveError(ctx context.Context, org string, at watchState, trouble *RepoError) error {
	return o.store.InTx(ctx, org, func(ctx context.Context, tx *store.Tx) error {
		words := PlainText(trouble.Message, 2000)
		watch, err := tx.LockWatch(ctx, org, at.watch.ID)
		if err != nil {
			return err
		}
		unread, err := tx.SetWatchError(ctx, words, org, watch.ID)
		if err != nil {
			return err
		}
		if at.watch.RevisionID == nil && words != at.watch.Error {
			// Nothing was ever read there, so the apps that wait for it must report the reason.
			if err := enqueueReaders(ctx, tx, at.watch.ID); err != nil {
				return err
			}
		}
		pause := o.errorPause(time.Duration(unread * float64(time.Second)))
		if deliveredMeanwhile(watch, at.watch) {
			pause = min(pause, o.options.Interval)
		}
		return o.setDue(ctx, tx, watch.ID, pause)
	})
}

// changedJSON returns the changed_paths column: null for the first revision and if the changed
// paths are unknown.
func changedJSON(changed []string, previous *store.Revision) (json.RawMessage, error) {
	if changed == nil || previous == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(changed)
	if err != nil {
		return nil, fmt.Errorf("write changed paths: %w", err)
	}
	return encoded, nil
}

// revisionReason returns why a revision was created.
func revisionReason(watch store.Watch, previous *store.Revision, seen observation) string {
	ref, now := PlainText(watch.Ref, 100), shortCommit(seen.commit.Hash.String())
	what := now
	if said := subject(seen.commit.Message); said != "" {
		what += fmt.Sprintf(" (%q by %s)", said, PlainText(seen.commit.Author.Name, 100))
	}
	if previous == nil {
		return fmt.Sprintf("%s of %s is at commit %s (first poll)", ref, watch.URL, what)
	}
	verb := "moved"
	if seen.ancestry == ancestryRewritten {
		verb = "was force-pushed"
	}
	sentence := fmt.Sprintf("%s %s from %s to %s", ref, verb, shortCommit(previous.Commit), what)
	if seen.ancestry == ancestryUnknown {
		sentence += "; the history between them is too long to tell whether it was force-pushed"
	}
	if seen.unknownReason != "" {
		sentence += "; " + seen.unknownReason
	}
	return sentence
}

// subject returns the first line of a commit's message.
func subject(message string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return PlainText(first, 120)
}

func equalPtr(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
