package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/grant"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

// defaultDir is the runner's directory on the machine of an install stack.
const defaultDir = "/var/lib/nuon"

// addDir adds the flag --dir to a command of the owner.
func addDir(command *cobra.Command, dir *string) {
	command.Flags().StringVar(dir, "dir", defaultDir, "the runner's own directory")
	run := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		info, err := os.Stat(*dir)
		if err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "open", Path: *dir, Err: errors.New("it is not a directory")}
		}
		if err != nil {
			return fmt.Errorf("%w; name the directory that runnerd run was given with --dir", err)
		}
		return run(command, args)
	}
}

// owner returns the user of the machine who gives a command.
func owner() string {
	name := os.Getenv("SUDO_USER")
	if current, err := user.Current(); err == nil {
		name = cmp.Or(name, current.Username)
	}
	return cmp.Or(name, "unknown")
}

func newPause() *cobra.Command {
	var dir, reason string
	command := &cobra.Command{
		Use:   "pause",
		Short: "Take no more jobs until runnerd resume",
		Long: `Make this runner take no more jobs. The vendor sees that the runner is paused, and the reason.

Requests for logs, debug commands and shells end. Other running jobs continue, also when the service is
stopped (KillMode=process in its unit). To end them, stop the service and then the processes of jobs, which
are "runnerd job" and those of the user of jobs, or stop the machine. Of jobs that run as pods, delete the Jobs.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			now := time.Now()
			why := fmt.Sprintf("%s, %s", owner(), now.UTC().Format(time.RFC3339))
			if reason != "" {
				why += ": " + reason
			}
			if err := audit.Append(dir, audit.Event{At: now, What: audit.Paused, By: owner(), Reason: reason}); err != nil {
				return err
			}
			if err := policy.Pause(dir, why); err != nil {
				return err
			}
			_, err := fmt.Fprintln(command.OutOrStdout(), "paused: this runner takes no more jobs; runnerd resume ends that")
			return err
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "why, for the vendor and the audit log")
	addDir(command, &dir)
	return command
}

func newResume() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use: "resume", Short: "Take jobs again after runnerd pause", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			was, err := policy.Resume(dir)
			if err != nil {
				return err
			}
			said := "this runner was not paused"
			if was {
				said = "resumed: this runner takes the jobs that its runner file allows"
				if err := audit.Append(dir, audit.Event{What: audit.Resumed, By: owner()}); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), said)
			return err
		},
	}
	addDir(command, &dir)
	return command
}

func newGrants() *cobra.Command {
	command := &cobra.Command{
		Use:   "grants",
		Short: "Grant break-glass roles to the vendor for a time",
		Long: `Grant break-glass roles to the vendor for a time. The runner uses such a role only while a grant
lasts, whatever the vendor's control plane says. The role must also be switched on in the stack.`,
	}
	command.AddCommand(newAddGrant(), newListGrants(), newRemoveGrant())
	return command
}

func newAddGrant() *cobra.Command {
	var dir, reason, until string
	var lasts time.Duration
	command := &cobra.Command{
		Use: "add ROLE", Short: "Grant a role until a time", Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			now := time.Now().UTC().Truncate(time.Second)
			end := now.Add(lasts)
			if until != "" {
				var err error
				if end, err = time.Parse(time.RFC3339, until); err != nil {
					return fmt.Errorf("--until %s: write a time such as 2026-11-23T22:00:00Z", until)
				}
			}
			err := grant.Add(command.Context(), dir, grant.Grant{Role: args[0], Until: end.UTC(), Reason: reason, By: owner(),
				At: now})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(command.OutOrStdout(), "granted %s until %s\n", args[0], end.UTC().Format(time.RFC3339))
			return err
		},
	}
	flags := command.Flags()
	flags.DurationVar(&lasts, "for", 0, "how long, such as 2h")
	flags.StringVar(&until, "until", "", "end, such as 2026-11-23T22:00:00Z")
	flags.StringVar(&reason, "reason", "", "why, for the audit log")
	command.MarkFlagsOneRequired("for", "until")
	command.MarkFlagsMutuallyExclusive("for", "until")
	addDir(command, &dir)
	return command
}

func newListGrants() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use: "list", Short: "List grants, also those that have ended", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			all, err := grant.List(dir)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "ROLE\tUNTIL\tSTATUS\tBY\tREASON")
			for _, g := range all {
				status := "ended"
				if left := time.Until(g.Until); left > 0 {
					status = "ends in " + left.Truncate(time.Minute).String()
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", g.Role, g.Until.UTC().Format(time.RFC3339), status, g.By, g.Reason)
			}
			return table.Flush()
		},
	}
	addDir(command, &dir)
	return command
}

func newRemoveGrant() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use: "remove ROLE", Short: "End the grant of a role now", Args: cobra.ExactArgs(1),
		Long: `End the grant of a role. The runner starts no more sessions of the role, and gives running jobs no
more credentials. Credentials that a program already has last until the end that the grant had, at most an hour; on
Azure they last up to a day, also beyond that end. To end those as well, switch the role off in the stack.`,
		RunE: func(command *cobra.Command, args []string) error {
			if err := grant.Remove(command.Context(), dir, args[0], owner(), time.Now()); err != nil {
				return err
			}
			_, err := fmt.Fprintf(command.OutOrStdout(), "removed the grant of %s\n", args[0])
			return err
		},
	}
	addDir(command, &dir)
	return command
}

func newAudit() *cobra.Command {
	var (
		dir, output string
		since       time.Duration
	)
	command := &cobra.Command{
		Use:   "audit",
		Short: "Show what this runner did in the account, by its own log",
		Long: `Show the runner's own log, the oldest event first: which role each job got or was refused, which
secrets it read, who asked for logs of pods or ran debug commands and why, and what the owner granted, set, paused and
resumed. The control plane has no part in it. Where a day had no more room, it shows how many events are missing.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			from := time.Now().Add(-since)
			switch output {
			case "json":
				encoder := json.NewEncoder(command.OutOrStdout())
				return audit.Each(dir, from, func(e audit.Event) error { return encoder.Encode(e) })
			case "table":
			default:
				return fmt.Errorf("-o %s is not known; use table or json", output)
			}
			table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "AT\tWHAT\tROLE OR SECRET\tFOR\tJOB\tBY\tREASON")
			err := audit.Each(dir, from, func(e audit.Event) error {
				what := strings.TrimSpace(e.Operation + " " + e.Component)
				_, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.At.UTC().Format(time.RFC3339), e.What,
					cmp.Or(e.Role, e.Secret, "-"), cmp.Or(what, "-"), cmp.Or(e.Job, "-"), cmp.Or(e.By, "-"), e.Reason)
				return err
			})
			return errors.Join(err, table.Flush())
		},
	}
	command.Flags().StringVarP(&output, "output", "o", "table", "table or json (one event per line)")
	command.Flags().DurationVar(&since, "since", 30*24*time.Hour, "how far back to start")
	addDir(command, &dir)
	return command
}
