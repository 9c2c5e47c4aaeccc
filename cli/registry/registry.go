// Package registry implements `nuon registry`, which deletes from the vendor's registry what nothing needs.
package registry

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

const gcHelp = `Delete from the vendor's registry what no release, install or running build needs: artifacts of builds
that are in no release, packed sources of code that is not current, and everything of deleted apps. A
deleted artifact is built again when a push returns to its code.

Everything that a release has is kept, so that an install can be pinned at any release. The registries
of installs are not touched.

Without --yes it lists what it would delete and asks. The command can run beside builds and syncs.`

// options are the flags of gc.
type options struct {
	dryRun, yes bool
	olderThan   time.Duration
}

// New returns the registry command.
func New(e *cmdenv.Env) *cobra.Command {
	c := &cobra.Command{Use: "registry", Short: "Maintain the vendor's registry"}
	c.AddCommand(newGC(e))
	return c
}

func newGC(e *cmdenv.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use: "gc", Short: "Delete what no release, install or running build needs", Long: gcHelp, Args: cobra.NoArgs,
		Example: "  nuon registry gc --dry-run\n  nuon registry gc --older-than 168h --yes",
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, _ []string) error {
			return o.collect(ctx, e, client)
		}),
	}
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "list what would be deleted, and why the rest is kept")
	c.Flags().BoolVar(&o.yes, "yes", false, "skip the confirmation prompt")
	c.Flags().DurationVar(&o.olderThan, "older-than", 24*time.Hour,
		"delete nothing of builds that ended later than this long ago")
	return c
}

// collect shows what is not needed, and deletes it if the person agrees.
func (o options) collect(ctx context.Context, e *cmdenv.Env, client *apiclient.Client) error {
	if o.olderThan < 0 {
		return exitcode.Usagef("--older-than is negative")
	}
	found, err := o.call(ctx, client, true)
	if err != nil {
		return err
	}
	if o.dryRun || found.Unsupported != "" {
		return o.finish(e, found)
	}
	if len(found.Garbage) > 0 {
		if err := o.confirm(ctx, e, found); err != nil {
			return err
		}
	}
	done, err := o.deleteAll(ctx, client) // also where nothing is listed: what an earlier call deleted may be on a disk
	if err != nil {
		return err
	}
	return o.finish(e, done)
}

// confirm shows what would be deleted, and asks.
func (o options) confirm(ctx context.Context, e *cmdenv.Env, found api.RegistryCollection) error {
	if !o.yes && e.Console.Asks() {
		if err := print(e.Console.Err, e.Console, found); err != nil {
			return err
		}
	}
	return e.Console.Confirm(ctx, fmt.Sprintf("this deletes %s from %s", countOf(found.Garbage), found.Registry), o.yes)
}

// deleteAll repeats the call until nothing is left, or nothing more can be deleted.
func (o options) deleteAll(ctx context.Context, client *apiclient.Client) (api.RegistryCollection, error) {
	all, err := o.call(ctx, client, false)
	for progress := true; err == nil && all.More && progress; {
		var next api.RegistryCollection
		if next, err = o.call(ctx, client, false); err != nil {
			break
		}
		progress = false
		for _, g := range next.Garbage {
			progress = progress || g.Status == api.GarbageDeleted
		}
		all.Garbage = append(withoutFailed(all.Garbage), next.Garbage...)
		all.FreedBytes += next.FreedBytes
		all.More, all.Unsupported = next.More, next.Unsupported
	}
	return all, err
}

// withoutFailed leaves out what the next call tries again.
func withoutFailed(garbage []api.RegistryGarbage) (left []api.RegistryGarbage) {
	for _, g := range garbage {
		if g.Status != api.GarbageFailed {
			left = append(left, g)
		}
	}
	return left
}

func (o options) call(ctx context.Context, client *apiclient.Client, dryRun bool) (api.RegistryCollection, error) {
	seconds := int(o.olderThan.Seconds())
	return apiclient.Decode[api.RegistryCollection](client.CollectRegistry(ctx,
		api.NewRegistryCollection{DryRun: dryRun, OlderThanSeconds: &seconds}))
}

// finish prints the result. The exit code is 1 if something could not be deleted.
func (o options) finish(e *cmdenv.Env, result api.RegistryCollection) error {
	if err := e.Console.Result(result, func(w io.Writer) error { return print(w, e.Console, result) }); err != nil {
		return err
	}
	for _, g := range result.Garbage {
		if g.Status == api.GarbageFailed {
			return &exitcode.Error{Code: exitcode.Failed}
		}
	}
	if result.Unsupported != "" && !o.dryRun {
		return &exitcode.Error{Code: exitcode.Failed}
	}
	return nil
}

// print shows a result as tables.
func print(w io.Writer, c *console.Console, r api.RegistryCollection) error {
	if len(r.Garbage) == 0 {
		fmt.Fprintf(w, "nothing in %s can be deleted\n", r.Registry)
	} else {
		var rows [][]string
		for _, g := range r.Garbage {
			rows = append(rows, []string{g.App, g.Component, fmt.Sprintf("%s of build %d", g.Kind, g.Build), size(g.Bytes),
				g.Repository + "@" + console.Short(g.Digest), statusOf(g)})
		}
		if err := c.Table(w, []string{"APP", "COMPONENT", "CONTENT", "SIZE", "WHERE", "STATUS"}, rows); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s in %s\n", countOf(r.Garbage), r.Registry)
	}
	if r.FreedBytes > 0 {
		fmt.Fprintf(w, "freed %s on the disk of the control plane\n", size(r.FreedBytes))
	}
	if r.Unsupported != "" {
		fmt.Fprintf(w, "nothing was deleted: %s\n", r.Unsupported)
	}
	if len(r.Kept) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	var rows [][]string
	for _, k := range r.Kept {
		rows = append(rows, []string{k.App, k.Component, fmt.Sprint(k.Artifacts), size(k.Bytes), k.Reason})
	}
	return c.Table(w, []string{"APP", "COMPONENT", "KEPT ARTIFACTS", "SIZE", "WHY"}, rows)
}

// statusOf returns the status of one content, with the error.
func statusOf(g api.RegistryGarbage) string {
	if g.Error != "" {
		return string(g.Status) + ": " + g.Error
	}
	return string(g.Status)
}

// countOf describes how much content there is.
func countOf(garbage []api.RegistryGarbage) string {
	var bytes int64
	for _, g := range garbage {
		bytes += g.Bytes
	}
	if len(garbage) == 1 {
		return "1 item, " + size(bytes)
	}
	return fmt.Sprintf("%d items, %s", len(garbage), size(bytes))
}

// size returns a number of bytes for people.
func size(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
