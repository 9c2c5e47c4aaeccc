package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Options set the retention times. A value that is not positive means its default.
type Options struct {
	Logs    time.Duration // log lines and registrations, from the end of the job or their use; 30 days
	History time.Duration // workflows, jobs, superseded states and revisions, from their end; 365 days
}

// The defaults of Options.
const (
	DefaultLogs    = 30 * 24 * time.Hour
	DefaultHistory = 365 * 24 * time.Hour
)

const (
	idempotencyKeysAge = 7 * 24 * time.Hour
	deliveriesAge      = 24 * time.Hour
	// runnerLogsAge applies to the runners' own logs; package joblog also removes newer ones
	// if there are too many.
	runnerLogsAge = 7 * 24 * time.Hour
	// statesKept is how many state versions of a component are retained regardless of age.
	statesKept = 50
)

// Limits of one run: rows per batch, total time, and the time until the next run if it is done or
// not.
const (
	maxBatch      = 500
	maxRunTime    = 2 * time.Minute
	interval      = 24 * time.Hour
	continueAfter = time.Minute
)

// Cleaner removes expired data. It is safe for concurrent use.
type Cleaner struct {
	store      *store.Store
	options    Options
	batchSize  int32
	maxRunTime time.Duration
}

// New returns a Cleaner.
func New(s *store.Store, o Options) *Cleaner {
	if o.Logs <= 0 {
		o.Logs = DefaultLogs
	}
	if o.History <= 0 {
		o.History = DefaultHistory
	}
	return &Cleaner{store: s, options: o, batchSize: maxBatch, maxRunTime: maxRunTime}
}

// Removed counts removed rows of one kind, without those that they cascade to.
type Removed struct {
	What string `json:"what"`
	Rows int64  `json:"rows"`
}

// rule removes one kind of data, at most the given number of rows.
type rule struct {
	data   string
	remove func(ctx context.Context, tx *store.Tx, most int32) (int64, error)
}

// rules returns the rules in order of dependency: for example, a job can only be removed after the
// workflow that refers to it.
func (r *Cleaner) rules() []rule {
	logs, history := r.options.Logs.Seconds(), r.options.History.Seconds()
	return []rule{
		{"log chunks", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainLogs(ctx, tx.Org, logs, most)
		}},
		{"runner log chunks", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainRunnerLogs(ctx, tx.Org, runnerLogsAge.Seconds(), most)
		}},
		{"workflows", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainWorkflows(ctx, tx.Org, history, most)
		}},
		{"jobs", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainJobs(ctx, tx.Org, history, most)
		}},
		{"state versions", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainStates(ctx,
				store.RetainStatesParams{OrgID: tx.Org, AgeSeconds: history, Least: statesKept, Most: most})
		}},
		{"revisions", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainRevisions(ctx, tx.Org, history, most)
		}},
		{"registrations", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainRegistrations(ctx, tx.Org, logs, most)
		}},
		{"idempotency keys", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainIdempotencyKeys(ctx, tx.Org, idempotencyKeysAge.Seconds(), most)
		}},
		{"webhook deliveries", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainDeliveries(ctx, tx.Org, deliveriesAge.Seconds(), most)
		}},
	}
}

// Reconcile removes an org's expired data, and schedules its next run: in a day, or soon if the
// time was not enough.
func (r *Cleaner) Reconcile(ctx context.Context, org string) error {
	ctx, stop := context.WithTimeout(ctx, r.maxRunTime)
	defer stop()
	removed, err := r.Run(ctx, org)
	next := interval
	if errors.Is(err, context.DeadlineExceeded) {
		err, next = nil, continueAfter
	}
	if err != nil {
		return err
	}
	// Schedule the next run even if the time of this one is over.
	return r.recordRun(context.WithoutCancel(ctx), org, removed, next)
}

// recordRun records in the audit log what was removed, if anything.
func (r *Cleaner) recordRun(ctx context.Context, org string, removed []Removed, next time.Duration) error {
	return r.store.InScopedTx(ctx, store.Scope{Org: org}, func(ctx context.Context, tx *store.Tx) error {
		detail := map[string]any{}
		for _, of := range removed {
			detail[of.What] = of.Rows
		}
		if len(detail) > 0 {
			if err := tx.Audit(ctx, "retention", "org.retain", org, detail); err != nil {
				return err
			}
		}
		return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: org, Kind: store.DueOrg, ID: org,
			InSeconds: next.Seconds()})
	})
}

// Run removes all expired data. It returns what it removed also with an error, because each batch
// is committed at once.
func (r *Cleaner) Run(ctx context.Context, org string) ([]Removed, error) {
	var removed []Removed
	for _, rule := range r.rules() {
		total := int64(0)
		for {
			n, err := r.batch(ctx, org, rule)
			if err != nil {
				return counted(removed, rule, total), fmt.Errorf("remove old %s of %s: %w", rule.data, org, err)
			}
			if total += n; n < int64(r.batchSize) {
				break
			}
		}
		removed = counted(removed, rule, total)
	}
	return removed, nil
}

func counted(removed []Removed, rule rule, rows int64) []Removed {
	if rows > 0 {
		removed = append(removed, Removed{rule.data, rows})
	}
	return removed
}

func (r *Cleaner) batch(ctx context.Context, org string, rule rule) (n int64, err error) {
	err = r.store.InScopedTx(ctx, store.Scope{Org: org}, func(ctx context.Context, tx *store.Tx) error {
		n, err = rule.remove(ctx, tx, r.batchSize)
		return err
	})
	return n, err
}

// errDryRun rolls a dry run back.
var errDryRun = errors.New("only looked")

// DryRun returns what Run would remove now: it removes it in one transaction and rolls that back.
func (r *Cleaner) DryRun(ctx context.Context, org string) ([]Removed, error) {
	var removed []Removed
	err := r.store.InScopedTx(ctx, store.Scope{Org: org}, func(ctx context.Context, tx *store.Tx) error {
		removed = nil
		for _, rule := range r.rules() {
			total := int64(0)
			for n := int64(r.batchSize); n == int64(r.batchSize); total += n {
				var err error
				if n, err = rule.remove(ctx, tx, r.batchSize); err != nil {
					return fmt.Errorf("find old %s of %s: %w", rule.data, org, err)
				}
			}
			removed = counted(removed, rule, total)
		}
		return errDryRun
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return removed, err
}
