// Package appsync implements `nuon sync`, which makes the control plane read an app now
// and optionally waits for the builds and installs. For a connected app the control
// plane reads its repository, and the local directory must match what was pushed; for
// an app without a repository the command uploads the directory.
package appsync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/apps"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/installs"
	"github.com/nuon-toolkit/nuon/cli/progress"
	"github.com/nuon-toolkit/nuon/cli/validate"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// options are the flags of the command.
type options struct {
	app     string
	noWait  bool
	wait    bool
	partial bool
	timeout time.Duration

	allowFile []string

	dryRun   bool
	markdown bool

	interactive bool
}

// New returns the command.
func New(e *cmdenv.Env) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "sync [DIRECTORY]",
		Short: "Sync an app with its repository (or upload it) and wait for its builds",
		Long: `Sync an app with its git repository now, and wait until the builds of its newest release end.

With a DIRECTORY (default: the current directory), the app is the one of this name or of --app. The
config in the directory is checked first, and must be committed and pushed. With only --app, what was
pushed is synced. An app that is not connected to a repository is uploaded from the directory: in a git
work tree the files that git does not ignore, without submodules; elsewhere all files except .git and
.terraform. A file:// reference to another file is an error, unless --allow-file names a directory above it.

A release with a component that cannot be built is incomplete, and no install gets it. --partial
releases the rest: a component that cannot be built keeps its last complete code and config.

On a terminal, the command asks for the app if it cannot tell which one is meant, and with --interactive
(-i) in any case.

--dry-run changes nothing and prints what a sync would do if the directory were committed and pushed
as it is now: which components would be built and why, and what would be behind on which install.
--markdown prints that as a comment for a pull request.

Exit codes: 0 done, 1 a build or deploy failed, 2 errors in the config or not pushed, 3 waiting for an
approval (--wait), 4 rejected (--wait), 5 control plane unreachable or access denied.`,
		Example: "  nuon sync\n  nuon sync apps/shop --dry-run\n  nuon sync --app shop --wait --timeout 1h",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case o.dryRun:
				return preview(c.Context(), e, o, args)
			case o.markdown:
				return exitcode.Usagef("--markdown needs --dry-run")
			}
			args, err := ask(c.Context(), e, c, args, o.interactive)
			if err != nil {
				return err
			}
			return run(c.Context(), e, o, args)
		},
	}
	c.Flags().BoolVarP(&o.interactive, "interactive", "i", false, "ask for the app and how long to wait")
	c.Flags().StringVar(&o.app, "app", "", "app to sync (default: the directory's name)")
	c.Flags().BoolVar(&o.noWait, "no-wait", false, "do not wait for the builds")
	c.Flags().BoolVar(&o.wait, "wait", false, "wait until every install that follows the newest release has it")
	c.Flags().BoolVar(&o.partial, "partial", false, "release the rest if a component cannot be built")
	c.Flags().DurationVar(&o.timeout, "timeout", 30*time.Minute, "maximum time to wait")
	c.Flags().StringArrayVar(&o.allowFile, "allow-file", nil,
		"upload files below this directory that the config refers to with file:// (repeatable)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what a sync of the directory in its current state would "+
		"do, and exit")
	c.Flags().BoolVar(&o.markdown, "markdown", false, "with --dry-run: print Markdown for a comment on a pull request")
	c.MarkFlagsMutuallyExclusive("wait", "no-wait", "dry-run")
	c.MarkFlagsMutuallyExclusive("partial", "no-wait", "dry-run")
	c.MarkFlagsMutuallyExclusive("interactive", "dry-run")
	return c
}

func run(ctx context.Context, e *cmdenv.Env, o options, args []string) error {
	client, err := e.Client()
	if err != nil {
		return err
	}
	now, err := syncNow(ctx, e, client, o, args)
	if err != nil {
		return err
	}
	if o.partial {
		if now, err = releaseRest(ctx, e.Console, client, now, o); err != nil {
			return err
		}
	}
	if !o.noWait {
		if now, err = waitForSync(ctx, e.Console, client, now, o); err != nil {
			return err
		}
	}
	blocked, err := unbuildable(ctx, client, now)
	if err != nil {
		return err
	}
	if err := e.Console.Result(now, func(w io.Writer) error {
		return show(w, e.Console, now, blocked,
			o.wait)
	}); err != nil {
		return err
	}
	return exitError(now, blocked, o)
}

// releaseRest waits for the builds and, if the newest release is incomplete, creates a
// partial release of what could be built.
func releaseRest(ctx context.Context, c *console.Console, client *apiclient.Client, now api.Sync,
	o options) (api.Sync, error) {
	builds := o
	builds.wait, builds.partial = false, false
	now, err := waitForSync(ctx, c, client, now, builds)
	if err != nil || !now.Failed || hasConfigError(now) {
		return now, err
	}
	made, err := apiclient.Decode[api.Release](client.CreatePartialRelease(ctx, now.App.ID))
	switch {
	case err == nil:
		c.Messagef("release %d is partial: %s", made.Number, console.Line(made.Cause))
	// such a release exists already
	case apiclient.CodeIs(err, "complete"), apiclient.CodeIs(err, "nothing_new") && now.App.Release.Partial:
	default:
		return now, err
	}
	return apiclient.Decode[api.Sync](client.GetSync(ctx, now.App.ID, &api.GetSyncParams{}))
}

// failed reports whether the synced version cannot reach the installs.
func (o options) failed(s api.Sync) bool {
	if o.partial {
		return hasConfigError(s) || s.App.Release.Status != api.ReleaseComplete
	}
	return s.Failed
}

// unbuildable returns the components whose code cannot be built at all, as opposed to
// those with a failed build.
func unbuildable(ctx context.Context, client *apiclient.Client, now api.Sync) (blocked []api.Component, err error) {
	if !now.Failed {
		return nil, nil
	}
	all, err := apiclient.Decode[api.ComponentList](client.ListComponents(ctx, now.App.ID))
	for _, c := range all.Items {
		if c.Problem != "" {
			blocked = append(blocked, c)
		}
	}
	return blocked, err
}

// syncNow makes the control plane read the app now: its repository, or an upload.
func syncNow(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, o options, args []string) (api.Sync, error) {
	if o.app != "" && len(args) == 0 {
		app, err := apiclient.Decode[api.App](client.GetApp(ctx, o.app))
		if err != nil {
			return api.Sync{}, err
		}
		if app.Repository != "" {
			return apiclient.Decode[api.Sync](client.SyncApp(ctx, app.ID, api.SyncRequest{}))
		}
	}
	dir := "."
	if len(args) == 1 {
		dir = args[0]
	}
	return syncDirectory(ctx, e, client, o, dir)
}

func syncDirectory(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, o options,
	dir string) (api.Sync, error) {
	at, err := resolveDirectory(ctx, e, client, o, dir)
	if err != nil {
		return api.Sync{}, err
	}
	if at.app.Repository == "" {
		archive, err := at.pack(ctx)
		if err != nil {
			return api.Sync{}, err
		}
		return apiclient.Decode[api.Sync](client.UploadAppVersionWithBody(ctx, at.app.ID, "application/gzip", archive))
	}
	commit, err := committedAt(at.path)
	if err != nil {
		return api.Sync{}, err
	}
	return apiclient.Decode[api.Sync](client.SyncApp(ctx, at.app.ID, api.SyncRequest{Commit: commit}))
}

// directory is a directory with the valid config of an app.
type directory struct {
	app     api.App
	path    string // absolute
	config  *appconfig.App
	allowed []string // directories whose files file:// may name (--allow-file)
}

// resolveDirectory returns the app whose config the directory contains.
func resolveDirectory(ctx context.Context, e *cmdenv.Env, client *apiclient.Client, o options,
	dir string) (at directory, err error) {
	name := o.app
	at.allowed = o.allowFile
	if at.path, err = filepath.Abs(dir); err != nil {
		return at, err
	}
	if name == "" {
		name = filepath.Base(at.path)
	}
	if at.config, err = check(ctx, e.Console, at.path); err != nil {
		return at, err
	}
	at.app, err = apiclient.Decode[api.App](client.GetApp(ctx, name))
	if apiclient.CodeIs(err, "not_found") {
		err = exitcode.With(exitcode.Usage, fmt.Errorf("app %q not found: create it with `nuon apps create %s`, or "+
			"name another with --app", name, name))
	}
	return at, err
}

// check validates the config before anything is sent.
func check(ctx context.Context, c *console.Console, dir string) (*appconfig.App, error) {
	config, found, err := validate.Load(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		c.Messagef("%s", console.Line(d.String()))
	}
	if found.HasErrors() {
		return nil, &exitcode.Error{Code: exitcode.Usage}
	}
	return config, nil
}

// pollInterval is the interval between two polls.
const pollInterval = 500 * time.Millisecond

// waitForSync polls until the builds have ended and, with --wait, each install has the
// release or cannot get it without a person.
func waitForSync(ctx context.Context, c *console.Console, client *apiclient.Client, now api.Sync,
	o options) (api.Sync, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	view := progress.Start(c)
	defer view.Stop()
	var patience apiclient.OutageTolerance
	follow := &follower{client: client, app: now.App.ID, installs: o.wait}
	whole, partial := !o.wait, false // the response to the sync request does not include installs
	for {
		patience.Seen()
		view.Show(lines(now, o.wait))
		if whole && now.Done && (!o.wait || o.failed(now) || isSettled(now)) {
			if !partial {
				return now, nil
			}
			follow.all() // a full read must confirm the result of partial reads
		}
		next, part, err := pollAgain(ctx, follow, &patience)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return now, fmt.Errorf("not done within %s%s; the work continues, wait again with `nuon sync --app %s`",
				o.timeout, reasonSuffix(pendingWork(now)), now.App.Name)
		case ctx.Err() != nil:
			return now, stopWaiting(c, view, now, o.wait)
		case err != nil:
			return now, err
		}
		now, whole, partial = next, true, part
	}
}

// stopWaiting prints what continues after Ctrl-C, and the commands to follow or cancel it.
func stopWaiting(c *console.Console, view *progress.View, now api.Sync, wait bool) error {
	again := "nuon sync --app " + now.App.Name
	var cancel []progress.Next
	if wait {
		again, cancel = again+" --wait", []progress.Next{{Command: "nuon workflows list --status running",
			To: "find what to cancel"}}
	}
	what := "the work continues"
	if busy := pendingWork(now); busy != "" {
		what = busy + ", and continues"
	}
	return view.StopWaiting(c, what, append([]progress.Next{{Command: again, To: "wait again"}}, cancel...)...)
}

// pollAgain polls after a pause, and retries while the control plane is unreachable for a short time.
func pollAgain(ctx context.Context, follow *follower, patience *apiclient.OutageTolerance) (next api.Sync, partial bool,
	err error) {
	for {
		select {
		case <-ctx.Done():
			return api.Sync{}, false, ctx.Err()
		case <-time.After(pollInterval):
		}
		next, partial, err = follow.next(ctx)
		if err == nil || ctx.Err() != nil || !patience.Bears(err) {
			return next, partial, err
		}
	}
}

// isSettled reports whether no install can progress without a person.
func isSettled(s api.Sync) bool {
	for _, i := range s.Installs {
		if !installs.Settles(string(i.Status), i.Blocked) {
			return false
		}
	}
	return true
}

// pendingWork describes what the sync still waits for.
func pendingWork(s api.Sync) string {
	var all []string
	for _, b := range s.Builds {
		if b.Status == api.BuildStatusQueued || b.Status == api.BuildStatusRunning {
			all = append(all, fmt.Sprintf("build %d of %s is %s", b.Number, b.Component, b.Status))
		}
	}
	for _, i := range s.Installs {
		if !installs.Settles(string(i.Status), i.Blocked) && len(all) == 0 {
			all = append(all, fmt.Sprintf("install %s is %s (%s)", i.Name, i.Status, i.Reason))
		}
	}
	return strings.Join(all, "; ")
}

// reasonSuffix formats a reason as a suffix; an empty reason yields an empty string.
func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// lines returns the progress lines of the builds and, with --wait, of the installs.
func lines(s api.Sync, withInstalls bool) []progress.Line {
	var out []progress.Line
	for _, b := range s.Builds {
		line := progress.Line{Mark: "✓",
			Text: fmt.Sprintf("%s: build %d %s %s", b.Component, b.Number, b.Status, b.Waits)}
		switch b.Status {
		case api.BuildStatusFailed:
			line.Mark = "✗"
		case api.BuildStatusQueued, api.BuildStatusRunning:
			line.Busy = true
		}
		out = append(out, line)
	}
	if !withInstalls {
		return out
	}
	shown, left := shownInstalls(s.Installs)
	for _, i := range shown {
		line := progress.Line{Mark: "·", Text: fmt.Sprintf("%s: %s", i.Name, i.Status)}
		switch {
		case i.Status == api.InstallSummaryStatusCurrent:
			line.Mark = "✓"
		case i.Blocked, i.Status == api.InstallSummaryStatusStalled, i.Status == api.InstallSummaryStatusRejected:
			line.Mark = "✗"
		case i.Status == api.InstallSummaryStatusWaitingForApproval:
			line.Mark = "?"
		case i.Status == api.InstallSummaryStatusDeploying, i.Status == api.InstallSummaryStatusBehind:
			line.Busy = true
		}
		out = append(out, line)
	}
	if left > 0 {
		out = append(out, progress.Line{Mark: "·", Text: fmt.Sprintf("and %d more installs, %d of %d are current",
			left, countCurrent(s.Installs), len(s.Installs))})
	}
	return out
}

// maxLines is the maximum number of installs that the progress shows.
const maxLines = 20

// shownInstalls returns the installs that the progress shows, and the number of the
// others. If there are too many to show all, it leaves out those that are current.
func shownInstalls(all []api.InstallSummary) (shown []api.InstallSummary, left int) {
	if len(all) <= maxLines {
		return all, 0
	}
	isCurrent := func(i api.InstallSummary) bool { return i.Status == api.InstallSummaryStatusCurrent }
	shown = slices.DeleteFunc(slices.Clone(all), isCurrent)
	shown = shown[:min(len(shown), maxLines)]
	return shown, len(all) - len(shown)
}

func countCurrent(all []api.InstallSummary) (n int) {
	for _, i := range all {
		if i.Status == api.InstallSummaryStatusCurrent {
			n++
		}
	}
	return n
}

func show(w io.Writer, c *console.Console, s api.Sync, blocked []api.Component, withInstalls bool) error {
	fmt.Fprintln(w, releaseLine(s.App))
	if s.App.Revision.Forced {
		fmt.Fprintf(w, "  %s\n", console.Line(s.App.Revision.Reason))
	}
	if outcome := apps.Outcome(s.App); outcome != "" && !hasConfigError(s) && len(blocked) == 0 {
		fmt.Fprintf(w, "  %s\n", console.Line(outcome))
	}
	for _, d := range s.App.Diagnostics {
		fmt.Fprintf(w, "  %s\n", console.Line(apiclient.Diagnosis(d)))
	}
	for _, b := range s.Builds {
		if !slices.ContainsFunc(blocked, func(c api.Component) bool { return c.Name == b.Component }) {
			line := fmt.Sprintf("  %-16s build %-3d %-9s %s", b.Component, b.Number, b.Status, console.Line(b.Error))
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
	}
	for _, c := range blocked {
		fmt.Fprintf(w, "  %-16s cannot be built: %s\n", c.Name, console.Line(c.Problem))
	}
	if !withInstalls {
		return nil
	}
	return c.Table(w, []string{"INSTALL", "APP", "RELEASE", "STATUS", "REASON"}, installs.Rows(s.Installs))
}

// releaseLine describes the release of the app and, if its newest commit did not become a
// release, why.
func releaseLine(a api.App) string {
	commit := ""
	if a.Revision.Commit != "" {
		commit = fmt.Sprintf("commit %.7s %s", a.Revision.Commit, console.Line(a.Revision.Subject))
	}
	broken := slices.ContainsFunc(a.Diagnostics, isError)
	switch {
	case broken && a.Release.Number == 0:
		return fmt.Sprintf("%s has no release yet: the config%s has errors", a.Name, commitSuffix(commit))
	case broken:
		return fmt.Sprintf("%s stays at release %d: the config%s has errors", a.Name, a.Release.Number, commitSuffix(commit))
	case a.Release.Number == 0:
		return fmt.Sprintf("%s has no release yet", a.Name)
	case a.Release.Status == api.ReleaseIncomplete:
		return fmt.Sprintf("release %d of %s%s is incomplete, so no install gets it",
			a.Release.Number, a.Name, commitSuffix(commit))
	case commit == "":
		return fmt.Sprintf("%s is at release %d", a.Name, a.Release.Number)
	}
	return fmt.Sprintf("%s is at release %d, %s", a.Name, a.Release.Number, commit)
}

// commitSuffix formats the commit of a config as a suffix; it is empty for an upload, which has no commit.
func commitSuffix(commit string) string {
	if commit == "" {
		return ""
	}
	return " of " + commit
}

// exitError returns the exit code for the result of a sync.
func exitError(s api.Sync, blocked []api.Component, o options) error {
	switch {
	case hasConfigError(s):
		return exitcode.With(exitcode.Usage,
			errors.New("the config has errors and was not used; fix them and sync again"))
	case o.failed(s) && len(blocked) > 0:
		return exitcode.With(exitcode.Failed,
			fmt.Errorf("%s cannot be built; fix it and sync again, or release the rest with `nuon sync --partial`",
				names(blocked)))
	case o.failed(s):
		return exitcode.With(exitcode.Failed, errors.New(failures(s.Builds)))
	case !o.wait:
		return nil
	}
	worst := exitcode.Done
	for _, i := range s.Installs {
		switch {
		case i.Status == api.InstallSummaryStatusStalled:
			return exitcode.With(exitcode.Failed, fmt.Errorf("%s: %s", i.Name, i.Reason))
		case i.Blocked:
			return installs.BlockedError(i.App+"/"+i.Name, i.Reason)
		case i.Status == api.InstallSummaryStatusRejected:
			if !isOldRejection(i, s.App) {
				worst = exitcode.Rejected
			}
		case i.Status == api.InstallSummaryStatusWaitingForApproval:
			if worst == exitcode.Done {
				worst = exitcode.Waiting
			}
		}
	}
	switch worst {
	case exitcode.Rejected:
		return exitcode.With(worst, errors.New("a change was rejected; see who and why with `nuon installs list`"))
	case exitcode.Waiting:
		return exitcode.With(worst, errors.New("waiting for an approval; review it with `nuon review`"))
	}
	return nil
}

// isOldRejection reports whether an install's rejection is older than the commit or version that
// is synced now.
func isOldRejection(i api.InstallSummary, a api.App) bool {
	since := a.Revision.ObservedAt
	if since.IsZero() {
		since = a.Version.CreatedAt
	}
	return !i.RejectedAt.IsZero() && i.RejectedAt.Before(since)
}

func hasConfigError(s api.Sync) bool { return slices.ContainsFunc(s.App.Diagnostics, isError) }

func isError(d api.Diagnostic) bool { return d.Severity == "error" }

func names(components []api.Component) string {
	var all []string
	for _, c := range components {
		all = append(all, c.Name)
	}
	return strings.Join(all, ", ")
}

// failures describes the failed builds, and how to read their logs.
func failures(builds []api.Build) string {
	var all []string
	for _, b := range builds {
		if b.Status == api.BuildStatusFailed {
			all = append(all, fmt.Sprintf("build %d of %s failed; read its log with `nuon logs %s`",
				b.Number, b.Component, b.ID))
		}
	}
	return strings.Join(all, "\n")
}
