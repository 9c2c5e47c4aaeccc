package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/review"
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Kind is the reason why something waits for a person.
type Kind string

// The kinds of action items, in the order in which they are printed: first what only a
// person can answer.
const (
	KindApproval Kind = "approval" // a plan waits for an approval
	KindStalled  Kind = "stalled"  // a deploy failed, or a state version is contested
	KindHealth   Kind = "health"   // deployed objects are unhealthy
	KindRejected Kind = "rejected" // a person rejected the change, and the install stays behind
	KindBuild    Kind = "build"    // a component cannot be built
	KindApp      Kind = "app"      // the repository cannot be read, or its config has errors
	KindWaiting  Kind = "waiting"  // an install waits for something that is missing
	KindProgress Kind = "progress" // deployed objects are not ready yet
	KindStale    Kind = "stale"    // an install is out of date, and its last workflow is long ago
	KindRunner   Kind = "runner"   // a runner takes no jobs
	KindSystem   Kind = "system"   // the control plane is unhealthy
)

var kinds = []Kind{KindApproval, KindStalled, KindHealth, KindRejected, KindBuild, KindApp, KindWaiting, KindProgress,
	KindStale, KindRunner, KindSystem}

// Matter is an action item: something that waits for a person, on one install or in
// the same way on several.
type Matter struct {
	Kind      Kind       `json:"kind"`
	App       string     `json:"app,omitempty"`
	Component string     `json:"component,omitempty"`
	Runner    string     `json:"runner,omitempty"`
	Installs  []string   `json:"installs,omitempty"` // affected installs, by name
	What      string     `json:"what"`               // a few words, without the installs
	Why       string     `json:"why"`                // a sentence
	Since     *time.Time `json:"since,omitempty"`    // of the oldest; nil if unknown
	Command   string     `json:"command"`            // command to run next
}

// staleAfter is the time since the last workflow after which an install that is not
// current counts as not progressing.
const staleAfter = time.Hour

// matters returns the action items.
func (s seen) matters(now time.Time) []Matter {
	all := []Matter{}
	all = append(all, s.questions()...)
	all = append(all, s.troubled(now)...)
	all = append(all, s.sick()...)
	all = append(all, s.unbuilt()...)
	all = append(all, s.unread()...)
	all = append(all, s.away()...)
	all = append(all, s.unwell()...)
	slices.SortStableFunc(all, func(a, b Matter) int {
		return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind))
	})
	return all
}

// gather merges action items that differ only in their installs. It ignores an
// install's own name in the reason.
type gather struct {
	all   []Matter
	index map[string]int
}

// matters returns the merged action items, the installs of each sorted by name.
func (g *gather) matters() []Matter {
	for _, m := range g.all {
		slices.Sort(m.Installs)
	}
	return g.all
}

// add adds an action item of one install. Since may be zero.
func (g *gather) add(m Matter, install string, since time.Time) {
	if g.index == nil {
		g.index = map[string]int{}
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s",
		m.Kind, m.App, m.Component, m.What, strings.ReplaceAll(m.Why, install, "\x00"))
	n, has := g.index[key]
	if !has {
		n, g.index[key] = len(g.all), len(g.all)
		g.all = append(g.all, m)
	}
	at := &g.all[n]
	at.Installs = append(at.Installs, install)
	if !since.IsZero() && (at.Since == nil || since.Before(*at.Since)) {
		at.Since = &since
	}
}

// called returns the name of an install for commands. It includes the app if another
// app has an install of the same name.
func (s seen) called(app, name string) string {
	for _, i := range s.installs {
		if i.Name == name && i.App != app {
			return app + "/" + name
		}
	}
	return name
}

// questions returns the waiting approvals.
func (s seen) questions() []Matter {
	var g gather
	for _, a := range s.approvals {
		install := s.called(a.App, a.Install)
		g.add(Matter{
			Kind:      KindApproval,
			App:       a.App,
			Component: a.Component,
			What:      review.Verb(a) + " " + review.Subject(a),
			Why:       sentence(totals(a), cmp.Or(a.Because, a.Reason)),
			Command:   "nuon review " + install + "/" + review.Subject(a),
		}, a.Install, a.CreatedAt)
	}
	for i, m := range g.all {
		if len(m.Installs) > 1 {
			g.all[i].Command = "nuon review"
		}
	}
	return g.matters()
}

// totals describes the counts of a plan.
func totals(a api.Approval) string {
	var t diff.Totals
	if len(a.Totals) == 0 || json.Unmarshal(a.Totals, &t) != nil {
		return ""
	}
	return t.Text()
}

func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// troubled returns the installs that do not progress without a person.
func (s seen) troubled(now time.Time) []Matter {
	var g gather
	for _, i := range s.installs {
		m := Matter{App: i.App, Why: i.Reason}
		name := s.called(i.App, i.Name)
		m.Command = "nuon explain install " + name
		since := moved(i)
		switch i.Status {
		case api.InstallSummaryStatusStalled:
			m.Kind, m.What = KindStalled, "stalled"
		case api.InstallSummaryStatusRejected:
			m.Kind, m.What, m.Command = KindRejected, "rejected", "nuon deploy "+name
		case api.InstallSummaryStatusWaiting:
			if s.building(i.App) {
				continue
			}
			m.Kind, m.What = KindWaiting, "waits"
		case api.InstallSummaryStatusNew, api.InstallSummaryStatusBehind, api.InstallSummaryStatusDeploying,
			api.InstallSummaryStatusDeprovisioning:
			if !i.RunnerOnline || since.IsZero() || now.Sub(since) < staleAfter {
				continue // an offline runner has its own action item
			}
			m.Kind, m.What = KindStale, "not progressing"
		default:
			continue
		}
		g.add(m, i.Name, since)
	}
	for i, m := range g.all {
		if len(m.Installs) > 1 {
			g.all[i].Command = fmt.Sprintf("nuon installs list --app %s", m.App)
			if m.Kind != KindStale {
				g.all[i].Command += " --status " + string(m.Kind)
			}
		}
	}
	return g.matters()
}

// sick returns the components with unhealthy objects, as last observed by the runner.
// It includes objects that are not ready yet only if no workflow changes the install.
func (s seen) sick() []Matter {
	var g gather
	for _, i := range s.installs {
		for _, u := range i.Unhealthy {
			kind := KindHealth
			if u.Health.Status == api.HealthStatusProgressing {
				kind = KindProgress
			}
			busy := i.Status == api.InstallSummaryStatusDeploying || i.Status == api.InstallSummaryStatusDeprovisioning
			if u.Health.Status == api.HealthStatusUnknown || kind == KindProgress && busy {
				continue
			}
			g.add(Matter{
				Kind:      kind,
				App:       i.App,
				Component: u.Component,
				What:      u.Component + " is " + string(u.Health.Status),
				Why:       reasons(u.Health),
				Command:   "nuon installs get " + s.called(i.App, i.Name),
			}, i.Name, time.Time{})
		}
	}
	return g.matters()
}

// reasons describes the first objects that are not ready.
func reasons(h api.Health) string {
	var words []string
	for _, o := range h.Objects[:min(len(h.Objects), 2)] {
		words = append(words, o.Object.String()+": "+o.Reason)
	}
	if more := len(h.Objects) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "; ")
}

// moved returns the time when the last workflow of an install ended or, if it runs,
// was created; zero if there was none.
func moved(i api.InstallSummary) time.Time {
	if !i.LastWorkflow.EndedAt.IsZero() {
		return i.LastWorkflow.EndedAt
	}
	return i.LastWorkflow.CreatedAt
}

// building reports whether a build of an app is queued or running.
func (s seen) building(app string) bool {
	return slices.ContainsFunc(s.components[app], func(c api.Component) bool {
		return c.Problem == "" && (c.Build.Status == api.BuildStatusQueued || c.Build.Status == api.BuildStatusRunning)
	})
}

// unbuilt returns the components that cannot be built, or whose build failed.
func (s seen) unbuilt() []Matter {
	var all []Matter
	for _, a := range s.apps {
		for _, c := range s.components[a.Name] {
			m := Matter{Kind: KindBuild, App: a.Name, Component: c.Name}
			switch {
			case c.Problem != "":
				m.What, m.Why, m.Command = c.Name+" cannot be built", c.Problem, "nuon apps get "+a.Name
			case c.Build.Status == api.BuildStatusFailed:
				m.What, m.Why, m.Command = fmt.Sprintf("build %d of %s failed", c.Build.Number, c.Name),
					c.Build.Error, "nuon logs "+c.Build.ID
				if !c.Build.EndedAt.IsZero() {
					m.Since = &c.Build.EndedAt
				}
			default:
				continue
			}
			all = append(all, m)
		}
	}
	return all
}

// unread returns the apps whose repository or config cannot be used.
func (s seen) unread() []Matter {
	var all []Matter
	for _, a := range s.apps {
		wrong := 0
		for _, d := range a.Diagnostics {
			if d.Severity == "error" {
				wrong++
			}
		}
		m := Matter{Kind: KindApp, App: a.Name, Command: "nuon apps get " + a.Name}
		switch {
		case wrong > 0:
			m.What, m.Why = "config has errors",
				fmt.Sprintf("%s; the config is not used", diff.Plural(wrong, "error", "errors"))
			if a.Revision.Commit != "" {
				m.Why = fmt.Sprintf("%s at commit %.7s; the config is not used",
					diff.Plural(wrong, "error", "errors"), a.Revision.Commit)
			}
		case a.Problem != "":
			m.What, m.Why = "repository cannot be read", a.Problem
		default:
			continue
		}
		all = append(all, m)
	}
	return all
}

// away returns the runners that take no jobs although they have work: those of
// installs, and the build runners if all of them are away.
func (s seen) away() []Matter {
	var g gather
	for _, i := range s.installs {
		if i.RunnerOnline || i.Runner == "" || i.Status == api.InstallSummaryStatusDeprovisioned {
			continue
		}
		m := Matter{Kind: KindRunner, Runner: i.Runner, What: "runner " + i.Runner, Why: "it accepts no jobs",
			Command: "nuon runners get " + i.Runner}
		since := time.Time{}
		if n := slices.IndexFunc(s.runners, func(r api.Runner) bool { return r.Name == i.Runner }); n >= 0 {
			m.What, m.Why = stands(s.runners[n])
			if since = s.runners[n].LastSeen; !s.runners[n].Registered {
				m.Command = "nuon runners register " + i.Runner
			}
			if s.runners[n].Online {
				since = time.Time{} // the runner is online, and the time when it was turned off is unknown
			}
		}
		g.add(m, s.called(i.App, i.Name), since)
	}
	return append(g.matters(), s.builders()...)
}

// builders returns an action item if there are apps and no build runner takes jobs.
func (s seen) builders() []Matter {
	if s.system == nil || len(s.apps) == 0 {
		return nil
	}
	var names []string
	for _, r := range s.runners {
		if r.Kind != api.RunnerKindBuild {
			continue
		}
		if r.Online && !r.Policy.Off {
			return nil
		}
		what, _ := stands(r)
		names = append(names, what)
	}
	if len(names) == 0 {
		return []Matter{{Kind: KindRunner, What: "no build runner", Why: "nothing can be built until one is created",
			Command: "nuon runners create build --kind build"}}
	}
	return []Matter{{Kind: KindRunner, What: "no build runner",
		Why:     strings.Join(names, ", ") + ": nothing can be built until one is online",
		Command: "nuon runners list --kind build"}}
}

// stands describes why a runner takes no jobs, and what to do.
func stands(r api.Runner) (what, why string) {
	switch {
	case !r.Registered:
		return "runner " + r.Name + " is not registered", "start it with a registration token"
	case !r.Online:
		return "runner " + r.Name + " is offline", "start it again on its machine, or check its log there"
	case r.Policy.Reason != "":
		return "runner " + r.Name + " accepts no jobs now", r.Policy.Reason +
			"; its owner decides that in its runner file"
	}
	return "runner " + r.Name + " accepts no jobs now", "its owner decides that in its runner file"
}

// unwell returns the problems of the control plane itself. It leaves out contested
// state versions, which are reported with their installs.
func (s seen) unwell() []Matter {
	if s.system == nil {
		return nil
	}
	var all []Matter
	system := *s.system
	system.Work.Contested = 0
	for _, t := range troubles(system) {
		all = append(all, Matter{Kind: KindSystem, What: "the control plane", Why: t, Command: "nuon status --system"})
	}
	return all
}
