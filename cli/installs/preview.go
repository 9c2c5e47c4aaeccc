package installs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// FieldChange is the change of one field of an install, from its current value to the new
// one. A sensitive value is replaced by a note.
type FieldChange struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// Preview is the output of `nuon installs update --preview`: the effects of a change of an install.
type Preview struct {
	Install    string                `json:"install"`
	App        string                `json:"app"`
	Changes    []FieldChange         `json:"changes"`
	Components []api.PreviewedEffect `json:"components"`
}

// preview requests the effects of a change from the control plane.
func preview(ctx context.Context, client *apiclient.Client, i api.Install, change api.InstallChange) (Preview, error) {
	p, err := apiclient.Decode[api.InstallPreview](client.PreviewInstall(ctx, i.ID, change))
	return Preview{Install: i.Name, App: i.App, Changes: fieldChanges(i, change), Components: p.Components}, err
}

// fieldChanges returns the changed fields. It leaves out those that already have the new value.
func fieldChanges(i api.Install, change api.InstallChange) []FieldChange {
	all := []FieldChange{}
	add := func(field, from, to string) {
		if from != to {
			all = append(all, FieldChange{field, from, to})
		}
	}
	add("approval", string(i.Approval), cmp.Or(string(change.Approval), string(i.Approval)))
	if change.AllowDestroy != nil {
		add("allow_destroy", strconv.FormatBool(i.AllowDestroy), strconv.FormatBool(*change.AllowDestroy))
	}
	if change.ApprovalsByOthers != nil {
		add("approvals_by_others", strconv.FormatBool(i.ApprovalsByOthers),
			strconv.FormatBool(*change.ApprovalsByOthers))
	}
	if change.ManagedBy != "" {
		add("managed_by", string(i.ManagedBy), string(change.ManagedBy))
	}
	for _, kind := range slices.Sorted(maps.Keys(change.Account)) {
		add(kind, pairs(i.Account[kind]), pairs(change.Account[kind]))
	}
	for _, in := range change.Inputs {
		if in.Sensitive {
			all = append(all, FieldChange{"input " + in.Name, "(sensitive)", "(another value)"})
			continue
		}
		add("input "+in.Name, inputOf(i, in.Name), strconv.Quote(in.Value))
	}
	for _, name := range slices.Sorted(maps.Keys(change.Labels)) {
		add("label "+name, quoted(i.Labels[name]), quoted(change.Labels[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(change.Toggles)) {
		from := "app default"
		if was, set := i.Toggles[name]; set {
			from = onOff(was)
		}
		add("component "+name, from, onOff(change.Toggles[name]))
	}
	return append(all, overrideMoves(i.Overrides, change.Overrides)...)
}

// inputOf returns the current value of an input for people.
func inputOf(i api.Install, name string) string {
	n := slices.IndexFunc(i.Inputs, func(v api.InputValue) bool { return v.Name == name })
	switch {
	case n < 0:
		return "(not set)"
	case i.Inputs[n].Sensitive:
		return "(sensitive)"
	}
	return strconv.Quote(i.Inputs[n].Value)
}

// quoted returns a label's value in quotes; "(none)" for an empty one.
func quoted(v string) string {
	if v == "" {
		return "(none)"
	}
	return strconv.Quote(v)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// showPreview prints the effects of a change for people.
func showPreview(w io.Writer, p Preview) error {
	lines := []string{fmt.Sprintf("%s/%s would change:", p.App, p.Install)}
	if len(p.Changes) == 0 {
		lines[0] = fmt.Sprintf("%s/%s would not change", p.App, p.Install)
	}
	lines = append(lines, showFieldChanges(p.Changes, "  ")...)
	untouched := 0
	var follows []string
	for _, c := range p.Components {
		if c.Effect == api.PreviewedEffectEffectNone {
			untouched++
			continue
		}
		follows = append(follows, fmt.Sprintf("  %-18s %-8s %s", c.Name, effect(c.Effect), c.Reason))
	}
	if len(follows) == 0 {
		lines = append(lines, "no component would be planned")
	} else {
		lines = append(append(lines, "planned as a result:"), follows...)
		if untouched > 0 {
			lines = append(lines, fmt.Sprintf("  (unchanged: %s)", countOf(untouched, "component")))
		}
	}
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(console.Line(l), " ")); err != nil {
			return err
		}
	}
	return nil
}

// showFieldChanges returns one line for each change, with the values aligned.
func showFieldChanges(all []FieldChange, indent string) []string {
	width := 0
	for _, m := range all {
		width = max(width, len(m.Field))
	}
	lines := make([]string, 0, len(all))
	for _, m := range all {
		if m.From == "" {
			lines = append(lines, fmt.Sprintf("%s%-*s  %s", indent, width, m.Field, Bounded(m.To)))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s%-*s  %s → %s", indent, width, m.Field, Bounded(m.From), Bounded(m.To)))
	}
	return lines
}

// effect returns the word for the effect on a component; the reason follows it.
func effect(e api.PreviewedEffectEffect) string {
	switch e {
	case api.PreviewedEffectEffectBehind:
		return "planned"
	case api.PreviewedEffectEffectWaiting:
		return "waits"
	case api.PreviewedEffectEffectRemoved:
		return "REMOVED"
	}
	return string(e)
}

// countOf returns a count with its noun in singular or plural.
func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
