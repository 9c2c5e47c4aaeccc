// Package approvals is `nuon review`, `nuon approve` and `nuon reject`: what waits for a person, and that person's answer. An
// answer names the digest of what was shown, so nobody approves what they have not seen.
package approvals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// NewReview is `nuon review`.
func NewReview(e *env.Env) *cobra.Command {
	install, print := "", false
	c := &cobra.Command{
		Use: "review [INSTALL|INSTALL/COMPONENT|APPROVAL]…", Short: "Read the plans that wait for a yes or a no, and answer them", Args: cobra.ArbitraryArgs,
		Long: "On a terminal it opens a screen with the plans that wait and the diff of each; ? shows its keys. In a pipe, with -o json, yaml or\n" +
			"name, and with --print it prints them one below the other. An approval that is named by its id is printed whatever became of it.",
		Example:           "  nuon review\n  nuon review acme globex\n  nuon review acme/web --print",
		ValidArgsFunction: complete.Rest(e, complete.Approvals),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			if install != "" {
				args = append(args, install)
			}
			spoiled := e.Debug && e.Console.ErrIsTerminal // what --debug writes would go across the screen
			if print || spoiled || e.Console.Output != "table" || !review.Possible(e.Console) {
				return printAll(ctx, e.Console, client, args)
			}
			return onScreen(ctx, e.Console, client, args)
		}),
	}
	c.Flags().StringVar(&install, "install", "", "only this install; the same as naming it")
	c.Flags().BoolVar(&print, "print", false, "print the plans instead of opening the screen")
	complete.Flag(e, c, "install", complete.Installs)
	return c
}

// onScreen opens the screen. What is named and does not wait is printed instead, if that is all.
func onScreen(ctx context.Context, c *console.Console, client *remote.Client, args []string) error {
	if len(args) > 0 {
		found, err := chosen(ctx, client, args)
		if err != nil {
			return err
		}
		if len(found) > 0 && !slices.ContainsFunc(found, func(a api.Approval) bool { return a.Status == api.ApprovalStatusWaiting }) {
			return printAll(ctx, c, client, args)
		}
	}
	given, err := review.Open(ctx, c, client, func(a api.Approval) bool { return len(args) == 0 || named(a, args...) })
	return errors.Join(sayAnswers(c.Out, given), err) // what was answered before an error is answered
}

// printAll prints the plans one below the other.
func printAll(ctx context.Context, c *console.Console, client *remote.Client, args []string) error {
	found, err := chosen(ctx, client, args)
	if err != nil {
		return err
	}
	if c.Output == "name" {
		return c.List(found, nil, ids(found))
	}
	for i, a := range found {
		if len(a.Report) > 0 {
			continue
		}
		if found[i], err = remote.Get[api.Approval](client.GetApproval(ctx, a.ID)); err != nil {
			return err
		}
	}
	return c.Result(found, func(w io.Writer) error {
		if len(found) == 0 {
			return nothing(ctx, w, c, client, args)
		}
		return show(w, c, found)
	})
}

// waiting is what waits, with or without the reports.
func waiting(ctx context.Context, client *remote.Client, install string, brief bool) ([]api.Approval, error) {
	return remote.All(func(cursor string) ([]api.Approval, string, error) {
		l, err := remote.Get[api.ApprovalList](client.ListApprovals(ctx, &api.ListApprovalsParams{Install: install, Brief: brief, Cursor: cursor}))
		return l.Items, l.Next, err
	})
}

// chosen are the approvals that are meant: all that wait; or those by id, whatever became of them, and those that wait at an
// install or for one of its components, perhaps without their reports. An install that is not there is an error.
func chosen(ctx context.Context, client *remote.Client, args []string) ([]api.Approval, error) {
	if len(args) == 0 {
		return waiting(ctx, client, "", false)
	}
	out := []api.Approval{}
	var all []api.Approval
	for _, arg := range args {
		if strings.HasPrefix(arg, "apr_") {
			a, err := remote.Get[api.Approval](client.GetApproval(ctx, arg))
			if err != nil {
				return nil, err
			}
			out = append(out, a)
			continue
		}
		if all == nil {
			var err error
			if all, err = waiting(ctx, client, "", true); err != nil {
				return nil, err
			}
		}
		here := slices.DeleteFunc(slices.Clone(all), func(a api.Approval) bool { return !named(a, arg) })
		if len(here) == 0 {
			if err := known(ctx, client, arg); err != nil {
				return nil, err
			}
		}
		out = append(out, here...)
	}
	return out, nil
}

// known says whether there is an install that can be called so, or the install of a component that can.
func known(ctx context.Context, client *remote.Client, arg string) error {
	_, err := remote.Get[api.Install](client.GetInstall(ctx, arg))
	install, both := above(arg)
	if err == nil || !both || !remote.CodeIs(err, "not_found") {
		return err
	}
	if _, second := remote.Get[api.Install](client.GetInstall(ctx, install)); second == nil {
		return nil
	}
	return err
}

// above is what is before the last slash: the install of a component.
func above(s string) (install string, found bool) {
	i := strings.LastIndexByte(s, '/')
	return s[:max(i, 0)], i > 0
}

// named says that a person may mean this plan by one of the words: its id, its install, or its component there.
func named(a api.Approval, words ...string) bool {
	for _, w := range words {
		for _, install := range []string{a.Install, a.App + "/" + a.Install, a.InstallID} {
			if w == install || w == install+"/"+a.Component {
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

// nothing says that no plan waits, and what is under way that may yet end in one.
func nothing(ctx context.Context, w io.Writer, c *console.Console, client *remote.Client, args []string) error {
	all, err := remote.All(func(cursor string) ([]api.InstallSummary, string, error) {
		l, err := remote.Get[api.InstallList](client.ListInstalls(ctx, &api.ListInstallsParams{Cursor: cursor}))
		return l.Items, l.Next, err
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w, "nothing waits for an approval"); err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(i api.InstallSummary) bool { return !review.UnderWay(i) || len(args) > 0 && !at(i, args) })
	for n, i := range all {
		if n == mostUnderWay {
			_, err := fmt.Fprintf(w, "  and %d more: `nuon installs list`\n", len(all)-n)
			return err
		}
		if _, err := fmt.Fprintln(w, c.Wrap(fmt.Sprintf("  %s/%s: %s", i.App, i.Name, console.Line(i.Reason)), 4)); err != nil {
			return err
		}
	}
	return nil
}

// mostUnderWay is how many installs are named of those at which something is under way.
const mostUnderWay = 10

// at says that an install is meant, by itself or by one of its components.
func at(i api.InstallSummary, words []string) bool {
	for _, w := range words {
		install, both := above(w)
		for _, name := range []string{i.ID, i.Name, i.App + "/" + i.Name} {
			if w == name || both && install == name {
				return true
			}
		}
	}
	return false
}

func show(w io.Writer, c *console.Console, all []api.Approval) error {
	for i, a := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := showOne(w, c, a); err != nil {
			return err
		}
	}
	return nil
}

func showOne(w io.Writer, c *console.Console, a api.Approval) error {
	fmt.Fprintf(w, "%s %s on %s/%s   (%s)\n", review.Verb(a), a.Component, a.App, a.Install, a.ID)
	if a.Because != "" {
		fmt.Fprintln(w, c.Wrap("because "+console.Line(a.Because), 0))
	}
	fmt.Fprintln(w)
	report, err := review.ReportOf(a)
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
	if a.Status != api.ApprovalStatusWaiting {
		_, err := fmt.Fprintf(w, "%s: %s\n", a.Status, console.Line(review.Verdict(a)))
		return err
	}
	_, err = fmt.Fprintf(w, "nuon approve %[1]s/%[2]s\nnuon reject %[1]s/%[2]s --reason \"…\"\n", a.Install, a.Component)
	return err
}

// answer is what approve and reject have in common.
type answer struct {
	env     *env.Env
	give    api.ResponseAnswer
	reason  string
	install string
	all     bool
	digest  string
}

// NewApprove is `nuon approve`.
func NewApprove(e *env.Env) *cobra.Command {
	a := answer{env: e, give: api.ResponseAnswerApprove}
	c := &cobra.Command{
		Use: "approve INSTALL/COMPONENT|APPROVAL…", Short: "Say yes to plans: exactly what was shown is applied", Args: cobra.ArbitraryArgs,
		Example: "  nuon approve acme/web\n  nuon approve apr_…\n  nuon approve --install acme --all",
		RunE:    func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },

		ValidArgsFunction: complete.Rest(e, complete.Approvals),
	}
	a.flags(c)
	return c
}

// NewReject is `nuon reject`.
func NewReject(e *env.Env) *cobra.Command {
	a := answer{env: e, give: api.ResponseAnswerReject}
	c := &cobra.Command{
		Use: "reject INSTALL/COMPONENT|APPROVAL… --reason TEXT", Short: "Say no to plans; the same is not asked again until something changes", Args: cobra.ArbitraryArgs,
		Example: "  nuon reject acme/web --reason 'not during the sale'", ValidArgsFunction: complete.Rest(e, complete.Approvals),
		RunE: func(c *cobra.Command, args []string) error {
			if strings.TrimSpace(a.reason) == "" {
				return exit.Usagef("say why with --reason: those who look at the install are shown it")
			}
			return a.run(c.Context(), args)
		},
	}
	a.flags(c)
	return c
}

func (a *answer) flags(c *cobra.Command) {
	c.Flags().StringVar(&a.reason, "reason", "", "why; shown to everybody who looks")
	c.Flags().StringVar(&a.install, "install", "", "with --all: only this install's plans")
	complete.Flag(a.env, c, "install", complete.Installs)
	c.Flags().BoolVar(&a.all, "all", false, "everything that waits, but what destroys, replaces or restores")
	c.Flags().StringVar(&a.digest, "digest", "", "content digest that must still be what waits (for scripts: what nuon review -o json gave)")
}

func (a *answer) run(ctx context.Context, args []string) error {
	switch {
	case a.all == (len(args) > 0):
		return exit.Usagef("name what to %s (`nuon review` lists it), or say --all", a.give)
	case a.install != "" && !a.all:
		return exit.Usagef("--install goes with --all; without it, say %s/COMPONENT", a.install)
	case a.digest != "" && len(args) != 1:
		return exit.Usagef("--digest is that of one plan: name the one that it belongs to")
	}
	client, err := a.env.Client()
	if err != nil {
		return err
	}
	targets, err := a.targets(ctx, client, args)
	if err != nil {
		return err
	}
	done, err := a.respond(ctx, client, targets)
	return errors.Join(a.show(done), err) // what was answered before an error is answered
}

// respond answers one after the other, and gives those that it has answered.
func (a *answer) respond(ctx context.Context, client *remote.Client, targets []api.Approval) ([]api.Approval, error) {
	done := []api.Approval{}
	for _, t := range targets {
		if a.digest != "" {
			t.ContentDigest = a.digest
		}
		got, err := remote.Get[api.Approval](client.RespondApproval(ctx, t.ID, api.Response{Answer: a.give, ContentDigest: t.ContentDigest, Reason: a.reason}))
		if err != nil {
			return done, fmt.Errorf("%s %s on %s: %w", a.give, t.Component, t.Install, err)
		}
		done = append(done, got)
	}
	return done, nil
}

func (a *answer) show(done []api.Approval) error {
	if a.env.Console.Output == "name" {
		return a.env.Console.List(done, nil, ids(done))
	}
	return a.env.Console.Result(done, func(w io.Writer) error { return sayAnswers(w, done) })
}

// sayAnswers says what was answered, one plan a line.
func sayAnswers(w io.Writer, done []api.Approval) error {
	for _, d := range done {
		if _, err := fmt.Fprintf(w, "%s: %s on %s/%s\n", d.Status, d.Component, d.App, d.Install); err != nil {
			return err
		}
	}
	return nil
}

// find gives an approval by its id, or the one that waits for install/component (or app/install/component).
func find(ctx context.Context, client *remote.Client, name string) (api.Approval, error) {
	if !strings.Contains(name, "/") {
		return remote.Get[api.Approval](client.GetApproval(ctx, name))
	}
	all, err := waiting(ctx, client, "", true)
	if err != nil {
		return api.Approval{}, err
	}
	var found []api.Approval
	for _, a := range all {
		if short := a.Install + "/" + a.Component; name == short || name == a.App+"/"+short {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return api.Approval{}, fmt.Errorf("nothing waits for an approval at %s: `nuon review` lists what does", name)
	case 1:
		return found[0], nil
	}
	return api.Approval{}, exit.Usagef("%s is not clear: say %s/%s or %s/%s", name, found[0].App, name, found[1].App, name)
}

// targets are the approvals to answer. --all leaves out what destroys, or takes a state back: that is said yes to one by one.
func (a *answer) targets(ctx context.Context, client *remote.Client, args []string) ([]api.Approval, error) {
	if !a.all {
		var out []api.Approval
		for _, name := range args {
			t, err := find(ctx, client, name)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
		return out, nil
	}
	all, err := waiting(ctx, client, a.install, true)
	if err == nil && len(all) == 0 {
		a.env.Console.Say("nothing waits for an approval")
	}
	if err != nil || a.give == api.ResponseAnswerReject {
		return all, err
	}
	var safe []api.Approval
	for _, t := range all {
		if t.Restore > 0 {
			a.env.Console.Say("left out: %s on %s/%s takes its state back to version %d; approve it by name: nuon approve %s", t.Component, t.App, t.Install, t.Restore, t.ID)
			continue
		}
		if t.Destructive {
			a.env.Console.Say("left out: %s on %s/%s destroys or replaces; approve it by name: nuon approve %s", t.Component, t.App, t.Install, t.ID)
			continue
		}
		safe = append(safe, t)
	}
	return safe, nil
}
