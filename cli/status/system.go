package status

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// showSystem implements `nuon status --system`, which prints the control plane part by
// part. It returns exitcode.Failed if something is wrong.
func showSystem(ctx context.Context, c *console.Console, client *apiclient.Client) error {
	s, err := apiclient.Decode[api.System](client.GetSystem(ctx))
	if err != nil {
		return err
	}
	now := time.Now()
	if err := c.Result(s, func(w io.Writer) error {
		return c.Table(w, []string{"PART", "STATUS", "DETAILS"}, rows(s, now))
	}); err != nil {
		return err
	}
	if wrong := systemProblems(s); len(wrong) > 0 {
		return exitcode.With(exitcode.Failed, fmt.Errorf("%s", strings.Join(wrong, "\n  ")))
	}
	return nil
}

// lateAfter is the delay of work that counts as a problem. A replica that was not seen
// for goneAfter counts as gone.
const (
	lateAfter = time.Minute
	goneAfter = 15 * time.Second
)

// rows returns the table rows of the parts.
func rows(s api.System, now time.Time) [][]string {
	var all [][]string
	for _, r := range s.Replicas {
		all = append(all, replica(r, now))
	}
	all = append(all,
		part("database", s.Database, "PostgreSQL "+s.Database.Version),
		part("registry", s.Registry, ""),
		work(s.Work), jobs(s.Work), runners(s.Runners))
	return all
}

func replica(r api.Replica, now time.Time) []string {
	state := "running"
	if now.Sub(r.SeenAt) > goneAfter {
		state = "gone"
	}
	detail := fmt.Sprintf("%s, version %s, up for %s", r.ID, r.Version, now.Sub(r.StartedAt).Round(time.Second))
	if r.This {
		detail += ", serving this request"
	}
	if state == "gone" {
		detail = fmt.Sprintf("%s, last seen %s ago", r.ID, now.Sub(r.SeenAt).Round(time.Second))
	}
	return []string{"replica", state, detail}
}

func part(name string, p api.PartHealth, detail string) []string {
	if !p.Ok {
		return []string{name, "away", p.Error}
	}
	answer := fmt.Sprintf("responds in %.1f ms", p.Milliseconds)
	if detail != "" {
		answer = detail + ", " + answer
	}
	return []string{name, "ok", answer}
}

func work(w api.WorkHealth) []string {
	late := time.Duration(w.LateSeconds * float64(time.Second))
	state := "ok"
	switch {
	case late > lateAfter:
		state = "late"
	case w.Failing > 0:
		state = "failing"
	}
	return []string{"work", state, fmt.Sprintf("%s behind, %d retrying", late.Round(time.Second), w.Failing)}
}

func jobs(w api.WorkHealth) []string {
	state := "ok"
	switch {
	case w.Contested > 0:
		state = "contested"
	case w.AttemptsOutOfContact > 0:
		state = "lost contact"
	}
	return []string{"jobs", state, fmt.Sprintf("%d waiting, %d running, %d out of contact, %d contested",
		w.JobsWaiting, w.JobsRunning, w.AttemptsOutOfContact, w.Contested)}
}

func runners(r api.RunnerCounts) []string {
	return []string{"runners", "ok",
		fmt.Sprintf("%d online, %d off, %d offline, %d not registered", r.Online, r.Off, r.Offline, r.Unregistered)}
}

// systemProblems describes what is wrong and what to do. It ignores runners that are offline or
// off, which concern only their owners, and replicas that are gone, whose work the others do.
func systemProblems(s api.System) []string {
	var all []string
	if !s.Database.Ok {
		all = append(all, "the database: "+s.Database.Error)
	}
	if !s.Registry.Ok {
		all = append(all, "the registry: "+s.Registry.Error)
	}
	if late := time.Duration(s.Work.LateSeconds * float64(time.Second)); late > lateAfter {
		all = append(all, fmt.Sprintf("work is %s behind; start another replica, or check the load of the database",
			late.Round(time.Second)))
	}
	if s.Work.Failing > 0 {
		all = append(all, fmt.Sprintf("%d background tasks of the control plane are failing and retried; see which "+
			"and why in /debug/status on a replica's --insight-listen", s.Work.Failing))
	}
	if s.Work.AttemptsOutOfContact > 0 {
		all = append(all, fmt.Sprintf("%d attempts are out of contact; start their runner again, or "+
			"`nuon runners replace` it", s.Work.AttemptsOutOfContact))
	}
	if s.Work.Contested > 0 {
		all = append(all, fmt.Sprintf("%d components have a contested state version; list them with `nuon state list`",
			s.Work.Contested))
	}
	return all
}
