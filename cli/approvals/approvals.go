// Package approvals is `nuon review`, `nuon approve` and `nuon reject`: what waits for a person, and that person's answer. An
// answer names the digest of what was shown, so nobody approves what they have not seen.
package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/env"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/cli/remote"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/terminal"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// NewReview is `nuon review`.
func NewReview(e *env.Env) *cobra.Command {
	var install string
	c := &cobra.Command{
		Use: "review [APPROVAL]", Short: "Show the plans that wait for a yes or a no", Args: cobra.MaximumNArgs(1),
		RunE: e.Call(func(ctx context.Context, client *remote.Client, args []string) error {
			waiting, err := wanted(ctx, client, install, args)
			if err != nil {
				return err
			}
			if e.Console.Output == "name" {
				return e.Console.List(waiting, nil, ids(waiting))
			}
			return e.Console.Result(waiting, func(w io.Writer) error { return show(w, e.Console, waiting) })
		}),
	}
	c.Flags().StringVar(&install, "install", "", "only this install")
	return c
}

// wanted are the approvals that were asked for: one by id, or all that wait.
func wanted(ctx context.Context, client *remote.Client, install string, args []string) ([]api.Approval, error) {
	if len(args) == 1 {
		a, err := remote.Get[api.Approval](client.GetApproval(ctx, args[0]))
		return []api.Approval{a}, err
	}
	return remote.All(func(cursor string) ([]api.Approval, string, error) {
		l, err := remote.Get[api.ApprovalList](client.ListApprovals(ctx, &api.ListApprovalsParams{Install: install, Cursor: cursor}))
		return l.Items, l.Next, err
	})
}

func ids(all []api.Approval) [][]string {
	rows := make([][]string, 0, len(all))
	for _, a := range all {
		rows = append(rows, []string{a.ID})
	}
	return rows
}

func show(w io.Writer, c *console.Console, all []api.Approval) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "nothing waits for an approval")
		return err
	}
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
	verb := "deploy"
	switch {
	case a.Destroy:
		verb = "DESTROY"
	case a.Restore > 0:
		verb = fmt.Sprintf("restore state version %d of", a.Restore)
	}
	fmt.Fprintf(w, "%s %s on %s/%s   (%s)\n", verb, a.Component, a.App, a.Install, a.ID)
	if a.Because != "" {
		fmt.Fprintf(w, "because %s\n", console.Line(a.Because))
	}
	fmt.Fprintln(w)
	var report diff.Report
	if err := json.Unmarshal(a.Report, &report); err != nil {
		return fmt.Errorf("read the report of %s: %w", a.ID, err)
	}
	if err := report.Validate(); err != nil {
		return fmt.Errorf("the report of %s does not add up, do not approve it: %w", a.ID, err)
	}
	width := 0
	if c.OutIsTerminal {
		width = c.Width
	}
	if err := terminal.Render(w, &report, terminal.Options{Color: c.Color, Width: width}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if a.Status != api.ApprovalStatusWaiting {
		_, err := fmt.Fprintf(w, "%s: %s\n", a.Status, console.Line(verdict(a)))
		return err
	}
	_, err := fmt.Fprintf(w, "nuon approve %[1]s/%[2]s\nnuon reject %[1]s/%[2]s --reason \"…\"\n", a.Install, a.Component)
	return err
}

// verdict is how an approval ended.
func verdict(a api.Approval) string {
	if a.Response.Actor == "" {
		return a.Reason
	}
	s := "by " + a.Response.Actor
	if a.Response.Reason != "" {
		s += ": " + a.Response.Reason
	}
	return s
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
	}
	a.flags(c)
	return c
}

// NewReject is `nuon reject`.
func NewReject(e *env.Env) *cobra.Command {
	a := answer{env: e, give: api.ResponseAnswerReject}
	c := &cobra.Command{
		Use: "reject INSTALL/COMPONENT|APPROVAL… --reason TEXT", Short: "Say no to plans; the same is not asked again until something changes", Args: cobra.ArbitraryArgs,
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
	return a.env.Console.Result(done, func(w io.Writer) error {
		for _, d := range done {
			if _, err := fmt.Fprintf(w, "%s: %s on %s/%s\n", d.Status, d.Component, d.App, d.Install); err != nil {
				return err
			}
		}
		return nil
	})
}

// find gives an approval by its id, or the one that waits for install/component (or app/install/component).
func find(ctx context.Context, client *remote.Client, name string) (api.Approval, error) {
	if !strings.Contains(name, "/") {
		return remote.Get[api.Approval](client.GetApproval(ctx, name))
	}
	waiting, err := wanted(ctx, client, "", nil)
	if err != nil {
		return api.Approval{}, err
	}
	var found []api.Approval
	for _, a := range waiting {
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
	all, err := wanted(ctx, client, a.install, nil)
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
