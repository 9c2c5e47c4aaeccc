package installs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/watch"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

func newGet(e *cmdenv.Env) *cobra.Command {
	live := false
	c := &cobra.Command{
		Use:               "get INSTALL",
		Short:             "Show the status, settings, inputs, components and outputs of an install",
		Args:              cobra.ExactArgs(1),
		Example:           "  nuon installs get acme\n  nuon installs get hello/acme -o json",
		ValidArgsFunction: complete.Args(e, complete.Installs),
		RunE: e.Call(func(ctx context.Context, client *apiclient.Client, args []string) error {
			look := func(ctx context.Context, onto *console.Console) error {
				i, err := apiclient.Decode[api.Install](client.GetInstall(ctx, args[0]))
				if err != nil {
					return err
				}
				pin, err := pinOf(e, i, args[0])
				if err != nil {
					return err
				}
				found := shownInstall{Install: i, PinnedFingerprint: pin}
				return onto.Result(found, func(w io.Writer) error { return show(w, i, keyLine(i, pin)) })
			}
			if live {
				return watch.Run(ctx, e.Console, look)
			}
			return look(ctx, e.Console)
		}),
	}
	watch.Flag(c, &live)
	return c
}

// show prints an install for people, with additional lines after its own facts.
func show(w io.Writer, i api.Install, more ...string) error {
	lines := []string{fmt.Sprintf("%s/%s (%s): %s", i.App, i.Name, i.ID, i.Status), "  " + i.Reason}
	lines = append(append(lines, Facts(i)...), more...)
	inputs := "inputs"
	if len(i.Inputs) == 0 {
		inputs += "               none set: the app's defaults apply"
	}
	lines = append(lines, inputs)
	for _, in := range i.Inputs {
		lines = append(lines, fmt.Sprintf("  %-18s %s", in.Name, ShownValue(in.Value, in.Sensitive)))
	}
	lines = append(lines, overrideLines(i.Overrides)...)
	if i.Stack.Status != "" {
		lines = append(lines, "stack                "+stackLine(i))
	}
	if s := i.StackOutputs; s.Version > 0 || len(s.Missing) > 0 {
		lines = append(append(lines, "stack outputs"), stackLines(s)...)
	}
	lines = append(lines, "components")
	for _, c := range i.Components {
		lines = append(lines, fmt.Sprintf("  %-18s %-9s %s", c.Name, c.Status, c.Reason))
		for _, o := range c.Health.Objects {
			lines = append(lines, fmt.Sprintf("    %-16s %s: %s", o.Status, o.Object, o.Reason))
		}
		for _, o := range c.Outputs {
			lines = append(lines, fmt.Sprintf("    %-16s %s", o.Name, Bounded(ShownValue(string(o.Value), o.Sensitive))))
		}
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(console.Line(l), " ")); err != nil {
			return err
		}
	}
	return nil
}

// Facts returns one line for each fact about an install besides its status.
func Facts(i api.Install) []string {
	var lines []string
	say := func(format string, a ...any) { lines = append(lines, "  "+fmt.Sprintf(format, a...)) }
	switch {
	case i.Pinned > 0:
		say("pinned to release %s of %d by %s%s",
			console.Release(i.Pinned, i.Commit), i.Latest, cmp.Or(i.PinnedBy, "a person"), reasonSuffix(i.PinReason))
	case i.Target > 0 && i.Release > 0:
		say("at release %s of %d", console.Release(i.Release, i.Commit), i.Latest)
	case i.Target > 0:
		say("not completely at release %s", console.Release(i.Target, i.Commit))
	}
	if len(i.Behind) > 0 {
		say("behind: %s", strings.Join(i.Behind, ", "))
	}
	for _, d := range i.Drift {
		say("drift: others changed %s of %s since the last apply; plan it again with `nuon deploy %s %s --redeploy`",
			diff.Plural(d.Changes, "object", "objects"), d.Component, address(i.App, i.Name), d.Component)
	}
	rule := approvalWords(string(i.Approval), i.AllowDestroy, i.ApprovalsByOthers)
	if i.Approval == api.InstallApprovalApproveAll || i.AllowDestroy {
		rule += setBy(i.Rule)
	}
	online := "offline"
	if i.RunnerOnline {
		online = "online"
	}
	say("approval %s, runner %s (%s)", rule, i.Runner, online)
	if p := i.Pending; p.Approval != "" {
		say("%s requested approval %s: it waits for an approver (nuon review %s)", p.Author,
			approvalWords(string(p.Settings.Approval), p.Settings.AllowDestroy,
				p.Settings.ApprovalsByOthers), p.Approval)
	}
	switch i.ManagedBy {
	case api.InstallManagedByConfig:
		say("managed by its file: change it with `nuon installs sync`")
	case api.InstallManagedByManual:
		say("managed manually: change it with `nuon installs update`")
	}
	if i.LastWorkflow.ID != "" {
		say("last workflow %s %d (%s): %s", i.LastWorkflow.Kind, i.LastWorkflow.Number, i.LastWorkflow.ID,
			cmp.Or(i.LastWorkflow.Outcome, i.LastWorkflow.Status))
	}
	for _, b := range i.BreakGlass {
		say("break glass: %s until %s, %s%s", b.Role, b.Until.UTC().Format(time.RFC3339), b.Status, reasonSuffix(b.Note))
	}
	for _, kind := range slices.Sorted(maps.Keys(i.Account)) {
		say("%s: %s", kind, pairs(i.Account[kind]))
	}
	if len(i.Labels) > 0 {
		say("labels %s", pairs(i.Labels))
	}
	return append(lines, toggles(i.Toggles)...)
}

// setBy names the person who loosened the approval settings.
func setBy(r api.ApprovalRule) string {
	switch {
	case r.By == "":
		return ""
	case r.ApprovedBy != "":
		return " (set by " + r.By + ", approved by " + r.ApprovedBy + ")"
	}
	return " (set by " + r.By + ")"
}

// approvalWords describes approval settings.
func approvalWords(approval string, allowDestroy, byOthers bool) string {
	if allowDestroy {
		approval += ", including destroys"
	}
	if byOthers {
		approval += ", by someone other than the requester"
	}
	return approval
}

// toggles describes which components were switched on and off.
func toggles(all map[string]bool) []string {
	var on, off []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] {
			on = append(on, name)
		} else {
			off = append(off, name)
		}
	}
	var lines []string
	if len(on) > 0 {
		lines = append(lines, "  enabled: "+strings.Join(on, ", "))
	}
	if len(off) > 0 {
		lines = append(lines, "  disabled: "+strings.Join(off, ", "))
	}
	return lines
}

// pairs formats names with their values on one line, sorted by name.
func pairs(m map[string]string) string {
	all := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, k+"="+m[k])
	}
	return strings.Join(all, ", ")
}

// reasonSuffix formats a reason as a suffix; an empty reason yields an empty string.
func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// maxShown is the maximum number of characters shown of a component's output. Outputs
// of charts can be kilobytes of JSON.
const maxShown = 100

// Bounded returns the beginning of a value that is too long to show, with a hint at
// how to get all of it.
func Bounded(v string) string {
	all := []rune(v)
	if len(all) <= maxShown {
		return v
	}
	return fmt.Sprintf("%s…  (%d bytes, -o json shows all)", string(all[:maxShown]), len(v))
}

// ShownValue returns a value for people; a sensitive one is never shown.
func ShownValue(v string, sensitive bool) string {
	if sensitive {
		return "(sensitive)"
	}
	return v
}
