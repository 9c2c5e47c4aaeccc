// Package approvals implements `nuon review`, `nuon approvals`, `nuon approve` and
// `nuon reject`, with which people read waiting approvals and answer them. An answer
// carries the plan and the digest that were displayed, so nobody approves what they
// have not seen: on a terminal the commands display what the answer covers and ask;
// elsewhere they accept only ids and digests. Plans that are alike are displayed and
// answered together, but an answer is sent for each.
package approvals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/cli/screen"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// NewReview returns the command `nuon review`.
func NewReview(e *cmdenv.Env) *cobra.Command {
	var print, each, rules bool
	install, whose := "", ""
	c := &cobra.Command{
		Use:   "review [INSTALL|INSTALL/COMPONENT|APPROVAL]…",
		Short: "Review waiting plans, scripts and settings, and approve or reject them",
		Args:  cobra.ArbitraryArgs,
		Long: `Review waiting plans, scripts and settings, and approve or reject them.

On a terminal this opens a screen with the waiting plans and the diff of each; press ? for its keys.
In a pipe, with -o json, yaml or name, and with --print it prints them one after the other. Plans that
are alike are printed once, unless --each is set. An approval that is named by its ID is printed in
any status.`,
		Example:           "  nuon review\n  nuon review acme globex\n  nuon review acme/web --print",
		ValidArgsFunction: complete.Rest(e, complete.Approvals),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			if install != "" {
				args = append(args, install)
			}
			spoiled := e.Debug && e.Console.ErrIsTerminal // the output of --debug would overwrite the screen
			if print || each || rules || spoiled || e.Console.Output != "table" || !screen.Available(e.Console) {
				return printAll(ctx, e.Console, client, args, printOptions{each, rules, whose})
			}
			return onScreen(ctx, e.Console, client, args, whose)
		}),
	}
	c.Flags().StringVar(&install, "install", "", "only this install; same as the argument INSTALL")
	c.Flags().StringVar(&whose, "assignee", "", assigneeUsage)
	complete.FlagWords(c, "assignee", review.Me, review.Nobody)
	c.Flags().BoolVar(&rules, "rules", false, "also print the rules behind each plan, with their text and source")
	c.Flags().BoolVar(&print, "print", false, "print the plans instead of opening the screen")
	c.Flags().BoolVar(&each, "each", false, "print every plan, including those that are alike")
	complete.Flag(e, c, "install", complete.Installs)
	return c
}

// onScreen opens the review screen. It prints the named approvals instead if none of them waits.
func onScreen(ctx context.Context, c *console.Console, client *apiclient.Client, args []string,
	whose string) error {
	if len(args) > 0 {
		found, err := chosen(ctx, client, args, true)
		if err != nil {
			return err
		}
		if len(found) > 0 && !slices.ContainsFunc(found,
			func(a api.Approval) bool { return a.Status == api.ApprovalStatusWaiting }) {
			return printAll(ctx, c, client, args, printOptions{})
		}
	}
	given, err := review.Open(ctx, c, client, func(a api.Approval) bool {
		return (len(args) == 0 || Named(a, args...)) && (whose == "" || review.HasAssignee(a, whose))
	})
	return errors.Join(PrintGiven(c, given), err) // the answers before an error are recorded
}

// PrintGiven prints the answers that a person gave on a screen.
func PrintGiven(c *console.Console, given review.Answers) error {
	return c.Print(func(out io.Writer) error {
		for _, w := range given.Workflows {
			fmt.Fprintln(out, review.WorkflowApprovalText(w))
		}
		return printAnswers(out, grouped(c, given.Approvals))
	})
}

// printOptions are the flags of `nuon review --print`.
type printOptions struct {
	each  bool   // every plan, including those that are alike
	rules bool   // with the rules behind each plan
	whose string // only plans with this assignee
}

// printAll prints the plans one after the other. On a terminal it prints plans of a group once.
func printAll(ctx context.Context, c *console.Console, client *apiclient.Client, args []string,
	o printOptions) error {
	once := !o.each && c.Output == "table" && c.OutIsTerminal
	found, err := chosen(ctx, client, args, once || c.Output == "name")
	if err != nil {
		return err
	}
	if o.whose != "" {
		found = slices.DeleteFunc(found, func(a api.Approval) bool { return !review.HasAssignee(a, o.whose) })
	}
	if c.Output == "name" {
		return c.List(found, nil, ids(found))
	}
	if once {
		return printOnce(ctx, c, client, found, args, o)
	}
	for i, a := range found {
		if found[i], err = whole(ctx, client, a); err != nil {
			return err
		}
	}
	return c.Result(found, func(w io.Writer) error {
		if len(found) == 0 {
			return nothing(ctx, w, c, client, args)
		}
		return show(w, c, ungrouped(found), o)
	})
}

// printOnce prints plans, and fetches and prints those of a group once.
func printOnce(ctx context.Context, c *console.Console, client *apiclient.Client, found []api.Approval,
	args []string, o printOptions) error {
	if len(found) == 0 {
		return c.Print(func(w io.Writer) error { return nothing(ctx, w, c, client, args) })
	}
	groups := review.Gather(found)
	for _, alike := range groups {
		var err error
		if alike[0], err = whole(ctx, client, alike[0]); err != nil {
			return err
		}
	}
	return c.Print(func(w io.Writer) error { return show(w, c, groups, o) })
}

// whole returns an approval with its report, and fetches it if necessary.
func whole(ctx context.Context, client *apiclient.Client, a api.Approval) (api.Approval, error) {
	if len(a.Report) > 0 {
		return a, nil
	}
	return apiclient.Decode[api.Approval](client.GetApproval(ctx, a.ID))
}

// listWaiting returns the waiting approvals of a request, oldest first, because later ones
// can depend on earlier ones.
func listWaiting(ctx context.Context, client *apiclient.Client, p api.ListApprovalsParams) ([]api.Approval, error) {
	all, err := apiclient.ListAll(func(cursor string) ([]api.Approval, string, error) {
		p.Cursor = cursor
		l, err := apiclient.Decode[api.ApprovalList](client.ListApprovals(ctx, &p))
		return l.Items, l.Next, err
	})
	slices.SortStableFunc(all, func(a, b api.Approval) int { return strings.Compare(a.ID, b.ID) })
	return all, err
}

// chosen returns the approvals that the arguments name: all waiting ones without
// arguments, approvals by id in any status, and those that wait on an install or for
// one of its components. With brief, they may lack their reports. It returns an error
// for an install that does not exist.
func chosen(ctx context.Context, client *apiclient.Client, args []string, brief bool) ([]api.Approval, error) {
	if len(args) == 0 {
		return listWaiting(ctx, client, api.ListApprovalsParams{Brief: brief})
	}
	out := []api.Approval{}
	var all []api.Approval
	for _, arg := range args {
		if strings.HasPrefix(arg, "apr_") {
			a, err := apiclient.Decode[api.Approval](client.GetApproval(ctx, arg))
			if err != nil {
				return nil, err
			}
			out = append(out, a)
			continue
		}
		if all == nil {
			var err error
			if all, err = listWaiting(ctx, client, api.ListApprovalsParams{Brief: true}); err != nil {
				return nil, err
			}
		}
		here := slices.DeleteFunc(slices.Clone(all), func(a api.Approval) bool { return !Named(a, arg) })
		if len(here) == 0 {
			if err := checkInstallExists(ctx, client, arg); err != nil {
				return nil, err
			}
		}
		out = append(out, here...)
	}
	return out, nil
}

// checkInstallExists returns an error unless an install, or the install of a component, of this name exists.
func checkInstallExists(ctx context.Context, client *apiclient.Client, arg string) error {
	_, err := apiclient.Decode[api.Install](client.GetInstall(ctx, arg))
	install, both := installPart(arg)
	if err == nil || !both || !apiclient.CodeIs(err, "not_found") {
		return err
	}
	if _, second := apiclient.Decode[api.Install](client.GetInstall(ctx, install)); second == nil {
		return nil
	}
	return err
}

// installPart returns the part before the last slash, which is the install of a component.
func installPart(s string) (install string, found bool) {
	i := strings.LastIndexByte(s, '/')
	return s[:max(i, 0)], i > 0
}

// Named reports whether one of the words names this plan: by its id, by its install,
// or by install and component.
func Named(a api.Approval, words ...string) bool {
	for _, w := range words {
		for _, install := range []string{a.Install, a.App + "/" + a.Install, a.InstallID} {
			if w == install || w == install+"/"+review.Subject(a) {
				return true
			}
		}
		if w == a.ID {
			return true
		}
	}
	return false
}

func ids(all []api.Approval) [][]string {
	rows := make([][]string, 0, len(all))
	for _, a := range all {
		rows = append(rows, []string{a.ID})
	}
	return rows
}

// nothing prints that no plan waits, and what is in progress that may still result in one.
func nothing(ctx context.Context, w io.Writer, c *console.Console, client *apiclient.Client, args []string) error {
	all, err := apiclient.ListAll(func(cursor string) ([]api.InstallSummary, string, error) {
		l, err := apiclient.Decode[api.InstallList](client.ListInstalls(ctx, &api.ListInstallsParams{Cursor: cursor}))
		return l.Items, l.Next, err
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, "no approvals waiting"); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(i api.InstallSummary) bool {
		return !review.WorkInProgress(i) || len(args) > 0 && !matchesInstall(i, args)
	})
	for n, i := range all {
		if n == maxBusyInstalls {
			_, err := fmt.Fprintf(w, "  and %d more: `nuon installs list`\n", len(all)-n)
			return err
		}
		if _, err := fmt.Fprintln(w,
			c.Wrap(fmt.Sprintf("  %s/%s: %s", i.App, i.Name, console.Line(i.Reason)), 4)); err != nil {
			return err
		}
	}
	return nil
}

// maxBusyInstalls is the maximum number of installs named that have work in progress.
const maxBusyInstalls = 10

// matchesInstall reports whether one of the words names an install, or one of its components.
func matchesInstall(i api.InstallSummary, words []string) bool {
	for _, w := range words {
		install, both := installPart(w)
		for _, name := range []string{i.ID, i.Name, i.App + "/" + i.Name} {
			if w == name || both && install == name {
				return true
			}
		}
	}
	return false
}

// ungrouped returns one group for each plan.
func ungrouped(all []api.Approval) [][]api.Approval {
	out := make([][]api.Approval, 0, len(all))
	for _, a := range all {
		out = append(out, []api.Approval{a})
	}
	return out
}

// grouped returns the groups in which plans are printed: on a terminal, plans that
// are alike form one group.
func grouped(c *console.Console, all []api.Approval) [][]api.Approval {
	if c.OutIsTerminal {
		return review.Gather(all)
	}
	return ungrouped(all)
}

func show(w io.Writer, c *console.Console, groups [][]api.Approval, o printOptions) error {
	for i, alike := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := showOne(w, c, alike, o); err != nil {
			return err
		}
	}
	return nil
}

// showOne prints the first plan for a group of plans that are alike.
func showOne(w io.Writer, c *console.Console, alike []api.Approval, o printOptions) error {
	a := alike[0]
	report, err := review.ReportOf(a)
	id := a.ID
	if len(alike) > 1 {
		id = fmt.Sprintf("%s and %d more", a.ID, len(alike)-1)
		if err == nil {
			report = review.GroupReport(a, report)
		}
	}
	fmt.Fprintf(w, "%s %s on %s   (%s)\n", review.Verb(a), review.Subject(a), review.Place(alike), id)
	if len(alike) > 1 {
		fmt.Fprintln(w, c.Wrap("at "+console.Line(review.Names(alike, maxNamed)), 0))
		fmt.Fprintln(w, c.Wrap(review.Placeholders, 0))
	}
	if a.Kind == api.ApprovalKindSettings && a.Author != "" {
		fmt.Fprintln(w, c.Wrap("requested by "+console.Line(a.Author), 0))
	}
	if scripts := review.Scripts(a); scripts != "" {
		fmt.Fprintln(w, c.Wrap("approves "+console.Line(scripts)+" for "+review.Place(alike), 0))
	}
	if who := review.Assignee(alike); who != "" {
		fmt.Fprintln(w, "assigned to "+console.Line(who))
	}
	if a.Because != "" {
		fmt.Fprintln(w, c.Wrap("because "+console.Line(a.Because), 0))
	}
	fmt.Fprintln(w)
	if err != nil {
		return err
	}
	width := 0
	if c.OutIsTerminal {
		width = c.Width
	}
	if err := terminal.Render(w, report, terminal.Options{Color: c.Color, Width: width}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if o.rules {
		for _, l := range review.RuleLines(a, report) {
			fmt.Fprintln(w, strings.TrimRight(c.Wrap(l.Indent+l.Text, len(l.Indent)+2), " "))
		}
		fmt.Fprintln(w)
	}
	if a.Status != api.ApprovalStatusWaiting {
		_, err := fmt.Fprintf(w, "%s: %s\n", a.Status, console.Line(review.Verdict(a)))
		return err
	}
	which := a.ID
	if len(alike) > 1 {
		which += " --alike"
	}
	_, err = fmt.Fprintf(w, "nuon approve %[1]s\nnuon reject %[1]s --reason \"…\"\n", which)
	return err
}
