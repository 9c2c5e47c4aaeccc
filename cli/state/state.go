// Package state implements `nuon state`, which shows the versions and locks of
// installs' Terraform states, and lets a person restore a version and resolve versions
// that two attempts wrote.
package state

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/listing"
	"github.com/nuon-toolkit/nuon/cli/workflows"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// New returns the command with its subcommands.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "state", Short: "Manage the Terraform states of installs"}
	c.AddCommand(newList(e), newShow(e), newUnlock(e), newRestore(e), newDismiss(e), newAbandon(e))
	return c
}

func newList(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.ComponentState]{
		Header: []string{"COMPONENT", "VERSION", "SERIAL", "CREATED", "LOCK", "CONTESTED"},
		Row: func(s api.ComponentState) []string {
			version, serial, at := "-", "-", "-"
			if s.Newest.Version > 0 {
				version, serial, at = strconv.Itoa(s.Newest.Version),
					strconv.FormatInt(s.Newest.Serial, 10), localTime(s.Newest.CreatedAt)
			}
			return []string{s.Component, version, serial, at, Lock(s.Lock), Contested(s.Contested)}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.ComponentState, string, error) {
			l, err := apiclient.Decode[api.ComponentStateList](client.ListStates(ctx, at.Args[0]))
			return l.Items, "", err
		},
	}
	return l.Command(e, &cobra.Command{
		Use:               "list INSTALL",
		Aliases:           []string{"ls"},
		Short:             "List the states and locks of an install's components",
		Args:              cobra.ExactArgs(1),
		Example:           "  nuon state list acme",
		ValidArgsFunction: complete.Args(e, complete.Installs),
	})
}

func localTime(at time.Time) string { return at.Local().Format(time.DateTime) }

// Lock describes the present or last holder of a lock.
func Lock(l api.HeldLock) string {
	switch {
	case l.ID == "":
		return "-"
	case l.Live:
		return fmt.Sprintf("attempt %d of job %s on %s", l.Attempt, l.Job, l.Runner)
	}
	return fmt.Sprintf("left by attempt %d of job %s", l.Attempt, l.Job)
}

// Contested describes the versions that a person must decide about.
func Contested(versions []api.StateVersion) string {
	numbers := make([]string, 0, len(versions))
	for _, v := range slices.Backward(versions) {
		number := strconv.Itoa(v.Version)
		if v.Status == api.Withheld {
			number += " (withheld)"
		}
		numbers = append(numbers, number)
	}
	switch len(numbers) {
	case 0:
		return "-"
	case 1:
		return "version " + numbers[0]
	}
	return "versions " + strings.Join(numbers, ", ")
}

func newShow(e *cmdenv.Env) *cobra.Command {
	l := &listing.List[api.StateVersion]{
		Header: []string{"VERSION", "STATUS", "SERIAL", "CREATED", "WORKFLOW", "REASON"}, Limit: 20,
		Row: func(v api.StateVersion) []string {
			return []string{strconv.Itoa(v.Version), string(v.Status), strconv.FormatInt(v.Serial, 10),
				localTime(v.CreatedAt), v.Workflow, v.Reason}
		},
		Page: func(ctx context.Context, client *apiclient.Client, at listing.Page) ([]api.StateVersion, string, error) {
			p := &api.ListStateVersionsParams{Cursor: at.Cursor, Limit: at.Limit}
			l, err := apiclient.Decode[api.StateVersionList](client.ListStateVersions(ctx, at.Args[0], at.Args[1], p))
			return l.Items, l.Next, err
		},
	}
	c := l.Command(e, &cobra.Command{
		Use:               "show INSTALL COMPONENT [VERSION]",
		Short:             "Show the versions of a state, newest first, or one version",
		Args:              cobra.RangeArgs(2, 3),
		Example:           "  nuon state show acme web\n  nuon state show acme web 4",
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.InstallComponents, versions),
	})
	all := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) < 3 {
			return all(c, args)
		}
		return e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			return showOne(ctx, e, client, args)
		})(c, args)
	}
	return c
}

// versions completes the versions of the state of the install and component in the
// preceding arguments.
func versions(ctx context.Context, client *apiclient.Client, args []string) ([]complete.Name, error) {
	l, err := apiclient.Decode[api.StateVersionList](client.ListStateVersions(ctx, args[0], args[1],
		&api.ListStateVersionsParams{}))
	var names []complete.Name
	for _, v := range l.Items {
		names = append(names, complete.Name{Name: strconv.Itoa(v.Version),
			About: string(v.Status) + ", " + localTime(v.CreatedAt)})
	}
	return names, err
}

func showOne(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, args []string) error {
	number, err := versionOf(args[2])
	if err != nil {
		return err
	}
	// The cursor is just above the version, so that the version comes first.
	p := &api.ListStateVersionsParams{Limit: 1, Cursor: strconv.Itoa(number + 1)}
	l, err := apiclient.Decode[api.StateVersionList](client.ListStateVersions(ctx, args[0], args[1], p))
	if err != nil {
		return err
	}
	if len(l.Items) == 0 || l.Items[0].Version != number {
		return fmt.Errorf("the state of %[2]s has no version %[3]d; list its versions with `nuon state show %[1]s "+
			"%[2]s`",
			args[0], args[1], number)
	}
	return e.Console.Result(l.Items[0], func(w io.Writer) error { return show(w, args[0], args[1], l.Items[0]) })
}

// show prints a version for people, and the possible next commands.
func show(w io.Writer, install, component string, v api.StateVersion) error {
	fmt.Fprintf(w, "version %d of the state of %s: %s\n", v.Version, component, v.Status)
	if v.Reason != "" {
		fmt.Fprintf(w, "  %s\n", console.Line(v.Reason))
	}
	fmt.Fprintf(w, "  serial    %d\n  lineage   %s\n  digest    %s\n  sealed    %d bytes, to key %s\n  created   %s\n  "+
		"by        attempt %d of job %s\n",
		v.Serial, console.Line(v.Lineage), console.Line(v.Digest), v.Bytes, console.Line(v.KeyID), localTime(v.CreatedAt),
		v.Attempt, v.Job)
	if v.Workflow != "" {
		fmt.Fprintf(w, "  workflow  %s\n", v.Workflow)
	}
	if v.Status == api.Withheld {
		fmt.Fprintf(w, "\nIt is stored when there is space: dismiss contested versions that are not needed, or "+
			"raise the control plane's limit.\nnuon state dismiss %s %s %d --reason \"…\"   continues without it\n", install,
			component, v.Version)
	}
	if v.Status == api.Contested {
		fmt.Fprintf(w, "\nnuon state restore %[1]s %[2]s %[3]d --reason \"…\"   plans to make it the newest "+
			"version\nnuon state dismiss %[1]s %[2]s %[3]d --reason \"…\"   continues without it\n", install, component,
			v.Version)
	}
	return nil
}

func versionOf(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, exitcode.Usagef("invalid version %q: use a number from 1 up; list the versions with `nuon state "+
			"show`", text)
	}
	return int(n), nil
}

// withReason adds the required flag --reason.
func withReason(c *cobra.Command, reason *string) *cobra.Command {
	c.Flags().StringVar(reason, "reason", "", "reason, recorded in the audit log")
	_ = c.MarkFlagRequired("reason") // fails only for an unknown flag
	return c
}

func newUnlock(e *cmdenv.Env) *cobra.Command {
	var reason string
	return withReason(&cobra.Command{
		Use: "unlock INSTALL COMPONENT", Short: "Release a lock that an ended attempt left behind", Args: cobra.ExactArgs(2),
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.InstallComponents),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			if err := apiclient.CheckDone(client.FreeStateLock(ctx, args[0], args[1],
				&api.FreeStateLockParams{Reason: reason})); err != nil {
				return err
			}
			e.Console.Messagef("released the lock of the state of %s", args[1])
			return nil
		}),
	}, &reason)
}

func newRestore(e *cmdenv.Env) *cobra.Command {
	var reason string
	return withReason(&cobra.Command{
		Use:               "restore INSTALL COMPONENT VERSION",
		Short:             "Restore an earlier version of a state",
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.InstallComponents, versions),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			number, err := versionOf(args[2])
			if err != nil {
				return err
			}
			w, err := apiclient.Decode[api.Workflow](client.RestoreState(ctx, args[0], args[1], number,
				&api.RestoreStateParams{}, api.Reason{Reason: reason}))
			if err != nil {
				return err
			}
			return e.Console.Result(w, func(out io.Writer) error {
				if err := workflows.Show(out, w); err != nil {
					return err
				}
				_, err := fmt.Fprintf(out, "\nThe plan shows what the state would gain and lose, and needs an "+
					"approval:\n  nuon workflows watch %s\n  nuon review\n", w.ID)
				return err
			})
		}),
	}, &reason)
}

func newDismiss(e *cmdenv.Env) *cobra.Command {
	var reason string
	return withReason(&cobra.Command{
		Use:               "dismiss INSTALL COMPONENT VERSION",
		Short:             "Dismiss a contested or withheld version of a state",
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: complete.Args(e, complete.Installs, complete.InstallComponents, versions),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			number, err := versionOf(args[2])
			if err != nil {
				return err
			}
			v, err := apiclient.Decode[api.StateVersion](client.DismissState(ctx, args[0], args[1], number,
				api.Reason{Reason: reason}))
			if err != nil {
				return err
			}
			return e.Console.Result(v, func(w io.Writer) error {
				_, err := fmt.Fprintf(w,
					"dismissed version %d of the state of %s; the component continues\n", v.Version, args[1])
				return err
			})
		}),
	}, &reason)
}
