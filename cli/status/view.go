package status

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/diff"
)

// print prints everything for people; in a pipe as tab-separated lines, of which the
// first cell names the kind. A terminal also shows the work under way, if it is not nil.
func (s Status) print(w io.Writer, c *console.Console, now time.Time, work *running) error {
	if !c.OutIsTerminal {
		return c.Table(w, nil, s.cells())
	}
	if err := s.printWaiting(w, c, now); err != nil {
		return err
	}
	if err := s.printFleet(w, c, now); err != nil {
		return err
	}
	if work != nil {
		if err := work.print(w, now); err != nil {
			return err
		}
	}
	if s.System == nil {
		return nil
	}
	_, err := fmt.Fprintln(w, "\n"+c.Wrap(console.Line(s.System.Line()), 2))
	return err
}

// printWaiting prints each action item as a paragraph.
func (s Status) printWaiting(w io.Writer, c *console.Console, now time.Time) error {
	if len(s.Waiting) == 0 {
		_, err := fmt.Fprintln(w, "Nothing needs your attention.")
		return err
	}
	var b strings.Builder
	b.WriteString("Needs your attention:\n")
	const indent = 12
	for _, m := range s.Waiting {
		head := m.Headline()
		if m.Since != nil {
			head += " (" + age(now.Sub(*m.Since)) + ")"
		}
		blank := strings.Repeat(" ", indent)
		fmt.Fprintf(&b, "\n%s\n", c.Wrap(console.Line(fmt.Sprintf("  %-*s%s", indent-2, m.Kind, head)), indent))
		if m.Why != "" {
			fmt.Fprintln(&b, c.Wrap(blank+console.Line(m.Why), indent))
		}
		fmt.Fprintln(&b, blank+console.Line(m.Command))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Headline describes an action item and where it occurs.
func (m ActionItem) Headline() string {
	switch {
	case m.Kind == KindRunner && len(m.Installs) > 0:
		return m.What + ", which runs " + listed(m.Installs)
	case m.Kind == KindStalled, m.Kind == KindRejected, m.Kind == KindWaiting, m.Kind == KindStale:
		return listed(m.Installs) + " of " + m.App
	case len(m.Installs) > 0:
		return m.What + " on " + listed(m.Installs) + " of " + m.App
	case m.App != "":
		return m.App + ": " + m.What
	}
	return m.What
}

// listed names installs in a sentence, but only some of many.
func listed(names []string) string {
	if n := len(names); n > maxNamed+1 {
		return fmt.Sprintf("%s and %d more installs", strings.Join(names[:maxNamed], ", "), n-maxNamed)
	}
	return diff.List(names)
}

// printFleet prints the installs as a table; for an app without installs, what to do next.
func (s Status) printFleet(w io.Writer, c *console.Console, now time.Time) error {
	if len(s.Apps) == 0 {
		_, err := fmt.Fprintln(w, "\nNo apps yet: create a config with `nuon init`, and the app with `nuon apps "+
			"create NAME`.")
		return err
	}
	when := func(at time.Time) string { return age(now.Sub(at)) + " ago" }
	var rows [][]string
	var bare []App
	for _, a := range s.Apps {
		for _, g := range a.Groups {
			rows = append(rows, g.row(a, when))
		}
		if len(a.Groups) == 0 {
			bare = append(bare, a)
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(w)
		if err := c.Table(w, []string{"APP", "INSTALLS", "RELEASE", "HEALTH", "STATUS"}, rows); err != nil {
			return err
		}
	}
	for i, a := range bare {
		if i == 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, c.Wrap(console.Line(a.Without()), 2)); err != nil {
			return err
		}
	}
	return nil
}

// Without describes what to do with an app that has no installs.
func (a App) Without() string {
	if a.Release == 0 {
		return fmt.Sprintf("%s has no release yet: create one, or see why, with `nuon sync --app %s`", a.Name, a.Name)
	}
	return fmt.Sprintf("%s is at release %s and has no installs: create one with `nuon installs create NAME --app %s`",
		a.Name, console.Release(a.Release, a.Commit), a.Name)
}

// Line returns the summary of the control plane.
func (y System) Line() string {
	stands := "is healthy"
	if len(y.Troubles) > 0 {
		stands = "is unhealthy (`nuon status --system`)"
	}
	runners := fmt.Sprintf("%s online", diff.Plural(y.Runners.Online, "runner", "runners"))
	for _, more := range []struct {
		n    int
		word string
	}{{y.Runners.Off, "off"}, {y.Runners.Offline, "offline"}, {y.Runners.Unregistered, "not registered"}} {
		if more.n > 0 {
			runners += fmt.Sprintf(", %d %s", more.n, more.word)
		}
	}
	return fmt.Sprintf("The control plane %s: version %s, %s, %s.",
		stands, y.Version, diff.Plural(y.Replicas, "replica", "replicas"), runners)
}

// cells returns the lines for a pipe. Times are absolute, so that a line changes only
// if its content does.
func (s Status) cells() [][]string {
	var rows [][]string
	for _, m := range s.Waiting {
		since := "-"
		if m.Since != nil {
			since = m.Since.UTC().Format(time.RFC3339)
		}
		rows = append(rows, []string{string(m.Kind), m.Headline(), since, m.Why, m.Command})
	}
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	for _, a := range s.Apps {
		for _, g := range a.Groups {
			rows = append(rows, append([]string{"installs"}, g.row(a, at)...))
		}
		if len(a.Groups) == 0 {
			rows = append(rows, []string{"installs", a.Name, "none", a.Without()})
		}
	}
	if s.System != nil {
		rows = append(rows, []string{"control plane", s.System.Line()})
	}
	return rows
}

// age formats a duration for people.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
