package retain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// Options say how long things are kept. What is not positive has its default.
type Options struct {
	Logs    time.Duration // of lines and registrations, from the end of the job or the use; 30 days
	History time.Duration // of workflows, jobs, superseded states and revisions, from their end; 365 days
}

// The defaults of Options.
const (
	DefaultLogs    = 30 * 24 * time.Hour
	DefaultHistory = 365 * 24 * time.Hour
)

const (
	keepKeys       = 7 * 24 * time.Hour
	keepDeliveries = 24 * time.Hour
	// keepRunnerLogs is for the runners' own logs; what is newer goes when there is too much of it (package dispatch).
	keepRunnerLogs = 7 * 24 * time.Hour
	// keepStates is how many state versions of a component are kept however old they are.
	keepStates = 50
)

// How much one look removes at once and in all, and when the next one is due.
const (
	mostAtOnce = 500
	longestRun = 2 * time.Minute
	every      = 24 * time.Hour
	goOn       = time.Minute
)

// Retain removes. It is safe for concurrent use.
type Retain struct {
	store   *store.Store
	options Options
	most    int32
	longest time.Duration
}

// New makes the service.
func New(s *store.Store, o Options) *Retain {
	if o.Logs <= 0 {
		o.Logs = DefaultLogs
	}
	if o.History <= 0 {
		o.History = DefaultHistory
	}
	return &Retain{store: s, options: o, most: mostAtOnce, longest: longestRun}
}

// Removed counts rows of one kind; what goes with them is not counted.
type Removed struct {
	What string `json:"what"`
	Rows int64  `json:"rows"`
}

// rule removes one kind of thing, at most so many rows.
type rule struct {
	what   string
	remove func(ctx context.Context, tx *store.Tx, most int32) (int64, error)
}

// rules are in the order in which one makes room for the next: what a workflow held, a job no longer has to be kept for.
func (r *Retain) rules() []rule {
	logs, history := r.options.Logs.Seconds(), r.options.History.Seconds()
	return []rule{
		{"log chunks", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainLogs(ctx, tx.Org, logs, most)
		}},
		{"runner log chunks", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainRunnerLogs(ctx, tx.Org, keepRunnerLogs.Seconds(), most)
		}},
		{"workflows", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainWorkflows(ctx, tx.Org, history, most)
		}},
		{"jobs", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainJobs(ctx, tx.Org, history, most)
		}},
		{"state versions", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainStates(ctx, store.RetainStatesParams{OrgID: tx.Org, AgeSeconds: history, Least: keepStates, Most: most})
		}},
		{"revisions", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainRevisions(ctx, tx.Org, history, most)
		}},
		{"registrations", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainRegistrations(ctx, tx.Org, logs, most)
		}},
		{"idempotency keys", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainIdempotencyKeys(ctx, tx.Org, keepKeys.Seconds(), most)
		}},
		{"webhook deliveries", func(ctx context.Context, tx *store.Tx, most int32) (int64, error) {
			return tx.RetainDeliveries(ctx, tx.Org, keepDeliveries.Seconds(), most)
		}},
	}
}

// Reconcile removes what an org has kept for long enough, and says when it is to be looked at next: in a day, or soon if there was
// more than one look has time for.
func (r *Retain) Reconcile(ctx context.Context, org string) error {
	ctx, stop := context.WithTimeout(ctx, r.longest)
	defer stop()
	removed, err := r.Run(ctx, org)
	next := every
	if errors.Is(err, context.DeadlineExceeded) {
		err, next = nil, goOn
	}
	if err != nil {
		return err
	}
	// The next look is noted even when the time of this one is over.
	return r.note(context.WithoutCancel(ctx), org, removed, next)
}

// note keeps in the audit what went, if anything did.
func (r *Retain) note(ctx context.Context, org string, removed []Removed, next time.Duration) error {
	return r.store.InScope(ctx, store.Scope{Org: org}, func(ctx context.Context, tx *store.Tx) error {
		detail := map[string]any{}
		for _, of := range removed {
			detail[of.What] = of.Rows
		}
		if len(detail) > 0 {
			if err := tx.Audit(ctx, "retention", "org.retain", org, detail); err != nil {
				return err
			}
		}
		return tx.SetDueIn(ctx, store.SetDueInParams{OrgID: org, Kind: store.DueOrg, ID: org, InSeconds: next.Seconds()})
	})
}

// Run removes all that has been kept for long enough, and gives what went, also beside an error: each batch is kept at once.
func (r *Retain) Run(ctx context.Context, org string) ([]Removed, error) {
	var removed []Removed
	for _, rule := range r.rules() {
		total := int64(0)
		for {
			n, err := r.batch(ctx, org, rule)
			if err != nil {
				return counted(removed, rule, total), fmt.Errorf("remove old %s of %s: %w", rule.what, org, err)
			}
			if total += n; n < int64(r.most) {
				break
			}
		}
		removed = counted(removed, rule, total)
	}
	return removed, nil
}

func counted(removed []Removed, rule rule, rows int64) []Removed {
	if rows > 0 {
		removed = append(removed, Removed{rule.what, rows})
	}
	return removed
}

func (r *Retain) batch(ctx context.Context, org string, rule rule) (n int64, err error) {
	err = r.store.InScope(ctx, store.Scope{Org: org}, func(ctx context.Context, tx *store.Tx) error {
		n, err = rule.remove(ctx, tx, r.most)
		return err
	})
	return n, err
}

// errOnlyLooked undoes a dry run.
var errOnlyLooked = errors.New("only looked")

// DryRun gives what Run would remove now, by removing it in one transaction that is then undone.
func (r *Retain) DryRun(ctx context.Context, org string) ([]Removed, error) {
	var removed []Removed
	err := r.store.InScope(ctx, store.Scope{Org: org}, func(ctx context.Context, tx *store.Tx) error {
		removed = nil
		for _, rule := range r.rules() {
			total := int64(0)
			for n := int64(r.most); n == int64(r.most); total += n {
				var err error
				if n, err = rule.remove(ctx, tx, r.most); err != nil {
					return fmt.Errorf("look for old %s of %s: %w", rule.what, org, err)
				}
			}
			removed = counted(removed, rule, total)
		}
		return errOnlyLooked
	})
	if errors.Is(err, errOnlyLooked) {
		err = nil
	}
	return removed, err
}
