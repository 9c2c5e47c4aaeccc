package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nuon-toolkit/nuon/pkg/telemetry/status"
	"github.com/nuon-toolkit/nuon/reconciler/retention"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/tfstate"
)

// scheduleEvery is the interval at which a replica schedules retention for orgs that were created
// since.
const scheduleEvery = time.Hour

// scheduleRetention schedules the daily retention of every org, until ctx ends.
func scheduleRetention(ctx context.Context, s *store.Store) {
	task := status.Register(ctx, "retention")
	defer task.Unregister()
	tick := time.NewTicker(scheduleEvery)
	defer tick.Stop()
	for {
		task.SetWorking("checking for new orgs")
		err := s.ScheduleRetention(ctx)
		task.ReportResult(err)
		if err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "find orgs without retention", "error", err)
		}
		task.SetWaiting("for the next check for new orgs")
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func retentionFlags(f *pflag.FlagSet, o *retention.Options) {
	f.DurationVar(&o.Logs, "keep-logs", retention.DefaultLogs, "how long logs are kept after their job has ended")
	f.DurationVar(&o.History, "keep-history", retention.DefaultHistory,
		"how long ended workflows, jobs, superseded states and revisions are kept")
}

// stateFlags defines the limits of what runners may store. The flags count mebibytes.
func stateFlags(f *pflag.FlagSet, o *stateOptions) {
	d := tfstate.DefaultLimits
	f.Int64Var(&o.attemptVersions, "max-state-versions-per-attempt", d.AttemptVersions,
		"state versions stored of one attempt; the newest replace the oldest")
	f.Int64Var(&o.attemptMiB, "max-state-mib-per-attempt", d.AttemptBytes>>20,
		"MiB of sealed states stored of one attempt")
	f.Int64Var(&o.installVersions, "max-state-versions-per-install", d.InstallVersions,
		"state versions stored of an install; beyond it superseded ones are deleted early, and what exceeds it stays on the "+
			"runner's disk")
	f.Int64Var(&o.installMiB, "max-state-mib-per-install", d.InstallBytes>>20,
		"MiB of sealed states stored of an install")
}

// stateOptions holds the flags of stateFlags.
type stateOptions struct{ attemptVersions, attemptMiB, installVersions, installMiB int64 }

func (o stateOptions) limits() tfstate.Limits {
	return tfstate.Limits{
		AttemptVersions: o.attemptVersions, AttemptBytes: o.attemptMiB << 20, InstallVersions: o.installVersions,
		InstallBytes: o.installMiB << 20,
	}
}

// retainOptions holds the flags of retain.
type retainOptions struct {
	databaseURL, org, output string
	dryRun                   bool
	retention                retention.Options
}

func newRetain() *cobra.Command {
	var o retainOptions
	c := &cobra.Command{
		Use: "retain", Short: "Delete what exceeds its retention period (serve does it once a day)", Args: cobra.NoArgs,
		Long: `Removes logs, ended workflows and jobs, superseded state versions and revisions that were kept for long enough, in
every org. A running control plane does the same once a day for each org; with --dry-run one sees what it would remove.
docs/retention.md tells what is kept for how long, and what is never removed.`,
		RunE: func(c *cobra.Command, _ []string) error { return runRetention(c.Context(), c.OutOrStdout(), o) },
	}
	f := c.Flags()
	databaseFlag(f, &o.databaseURL, "the control plane's Postgres, migrated")
	f.StringVar(&o.org, "org", "", "name of the only org to check (default all)")
	f.BoolVar(&o.dryRun, "dry-run", false, "only print what would be deleted")
	f.StringVarP(&o.output, "output", "o", "table", "what to print: table or json")
	retentionFlags(f, &o.retention)
	return c
}

// orgRemoved is what was removed, or would be removed, of one org.
type orgRemoved struct {
	Org     string              `json:"org"`
	Removed []retention.Removed `json:"removed"`
}

func runRetention(ctx context.Context, out io.Writer, o retainOptions) error {
	if o.output != "table" && o.output != "json" {
		return fmt.Errorf("-o %s: use table or json", o.output)
	}
	s, err := store.Open(ctx, o.databaseURL)
	if err != nil {
		return err
	}
	defer s.Close()
	orgs, err := orgsNamed(ctx, s, o.org)
	if err != nil {
		return err
	}
	r := retention.New(s, o.retention)
	look := r.Run
	if o.dryRun {
		look = r.DryRun
	}
	all := []orgRemoved{}
	for _, org := range orgs {
		removed, err := look(ctx, org.ID)
		if err != nil {
			return err
		}
		all = append(all, orgRemoved{org.Name, append([]retention.Removed{}, removed...)})
	}
	return printRemoved(out, o, all)
}

func orgsNamed(ctx context.Context, s *store.Store, name string) ([]store.Org, error) {
	ids := []string{name}
	if name == "" {
		var err error
		if ids, err = s.OrgIDs(ctx); err != nil {
			return nil, err
		}
	}
	var orgs []store.Org
	for _, id := range ids {
		org, err := s.FindOrg(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("org %s not found in this database; without --org all are checked", id)
		}
		if err != nil {
			return nil, err
		}
		orgs = append(orgs, org)
	}
	return orgs, nil
}

func printRemoved(out io.Writer, o retainOptions, all []orgRemoved) error {
	if o.output == "json" {
		return json.NewEncoder(out).Encode(all)
	}
	verb := "REMOVED"
	if o.dryRun {
		verb = "WOULD GO"
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(table, "ORG\tWHAT\t%s\n", verb)
	for _, org := range all {
		for _, of := range org.Removed {
			if err == nil {
				_, err = fmt.Fprintf(table, "%s\t%s\t%d\n", org.Org, of.What, of.Rows)
			}
		}
		if len(org.Removed) == 0 && err == nil {
			_, err = fmt.Fprintf(table, "%s\tnothing\t0\n", org.Org)
		}
	}
	if err == nil {
		err = table.Flush()
	}
	return err
}
