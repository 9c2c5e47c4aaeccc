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

// Kind is why something waits for a person.
type Kind string

// The kinds of matters, in the order in which they are shown: what only a person can answer first.
const (
	KindApproval Kind = "approval" // a plan waits for a yes or a no
	KindStalled  Kind = "stalled"  // a deploy failed, or a state version is contested
	KindHealth   Kind = "health"   // what was deployed does not work
	KindRefused  Kind = "refused"  // somebody said no, and it stays behind
	KindBuild    Kind = "build"    // a component cannot be built
	KindApp      Kind = "app"      // the repository cannot be read, or its config has errors
	KindWaiting  Kind = "waiting"  // an install waits for what is not there
	KindProgress Kind = "progress" // what was deployed is not ready yet
	KindStale    Kind = "stale"    // an install is not as it is wanted, and nothing has moved for long
	KindRunner   Kind = "runner"   // a runner takes no jobs
	KindSystem   Kind = "system"   // the control plane itself is not well
)

var kinds = []Kind{KindApproval, KindStalled, KindHealth, KindRefused, KindBuild, KindApp, KindWaiting, KindProgress, KindStale, KindRunner, KindSystem}

// Matter is something that waits for a person: one thing, or the same at several installs.
type Matter struct {
	Kind      Kind       `json:"kind"`
	App       string     `json:"app,omitempty"`
	Component string     `json:"component,omitempty"`
	Runner    string     `json:"runner,omitempty"`
	Installs  []string   `json:"installs,omitempty"` // at which it is so, by name
	What      string     `json:"what"`               // in a few words, without the installs
	Why       string     `json:"why"`                // as a sentence
	Since     *time.Time `json:"since,omitempty"`    // of the oldest; nil where nobody knows
	Command   string     `json:"command"`            // what to type next
}

// staleAfter is how long an install may be at something before it counts as not getting on.
const staleAfter = time.Hour

// matters are what waits for a person.
func (s seen) matters(now time.Time) []Matter {
	all := []Matter{}
	all = append(all, s.questions()...)
	all = append(all, s.troubled(now)...)
	all = append(all, s.sick()...)
	all = append(all, s.unbuilt()...)
	all = append(all, s.unread()...)
	all = append(all, s.away()...)
	all = append(all, s.unwell()...)
	slices.SortStableFunc(all, func(a, b Matter) int { return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)) })
	return all
}

// gather puts matters together that differ in their installs alone. What an install's reason says of itself by name does not count.
type gather struct {
	all   []Matter
	index map[string]int
}

// matters are what was gathered, the installs of each by name.
func (g *gather) matters() []Matter {
	for _, m := range g.all {
		slices.Sort(m.Installs)
	}
	return g.all
}

// add takes what is so at one install, since then where that is known.
func (g *gather) add(m Matter, install string, since time.Time) {
	if g.index == nil {
		g.index = map[string]int{}
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%s", m.Kind, m.App, m.Component, m.What, strings.ReplaceAll(m.Why, install, "\x00"))
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

// called is how commands know an install: by its name, and by that of its app as well where another app has one of that name.
func (s seen) called(app, name string) string {
	for _, i := range s.installs {
		if i.Name == name && i.App != app {
			return app + "/" + name
		}
	}
	return name
}

// questions are the plans that wait.
func (s seen) questions() []Matter {
	var g gather
	for _, a := range s.approvals {
		install := s.called(a.App, a.Install)
		g.add(Matter{
			Kind: KindApproval, App: a.App, Component: a.Component, What: review.Verb(a) + " " + review.Subject(a), Why: sentence(totals(a), cmp.Or(a.Because, a.Reason)),
			Command: "nuon review " + install + "/" + review.Subject(a),
		}, a.Install, a.CreatedAt)
	}
	for i, m := range g.all {
		if len(m.Installs) > 1 {
			g.all[i].Command = "nuon review"
		}
	}
	return g.matters()
}

// totals are the counts of a plan, in words.
func totals(a api.Approval) string {
	var t diff.Totals
	if len(a.Totals) == 0 || json.Unmarshal(a.Totals, &t) != nil {
		return ""
	}
	return t.Words()
}

func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// troubled are the installs that do not go on by themselves.
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
		case api.InstallSummaryStatusRefused:
			m.Kind, m.What, m.Command = KindRefused, "refused", "nuon deploy "+name
		case api.InstallSummaryStatusWaiting:
			if s.building(i.App) {
				continue
			}
			m.Kind, m.What = KindWaiting, "waits"
		case api.InstallSummaryStatusNew, api.InstallSummaryStatusBehind, api.InstallSummaryStatusDeploying, api.InstallSummaryStatusDeprovisioning:
			if !i.RunnerOnline || since.IsZero() || now.Sub(since) < staleAfter {
				continue // its runner is told of by itself
			}
			m.Kind, m.What = KindStale, "does not get on"
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

// sick are the components whose objects do not work, as the runner saw them last. What is not ready yet is told of once nothing is
// done to it any more.
func (s seen) sick() []Matter {
	var g gather
	for _, i := range s.installs {
		for _, u := range i.Unwell {
			kind := KindHealth
			if u.Health.Status == api.HealthStatusProgressing {
				kind = KindProgress
			}
			busy := i.Status == api.InstallSummaryStatusDeploying || i.Status == api.InstallSummaryStatusDeprovisioning
			if u.Health.Status == api.HealthStatusUnknown || kind == KindProgress && busy {
				continue
			}
			g.add(Matter{
				Kind: kind, App: i.App, Component: u.Component, What: u.Component + " is " + string(u.Health.Status), Why: reasons(u.Health),
				Command: "nuon installs get " + s.called(i.App, i.Name),
			}, i.Name, time.Time{})
		}
	}
	return g.matters()
}

// reasons are the first objects that are not ready, and why.
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

// moved is when something was last done to an install, or began to be; zero when nothing ever was.
func moved(i api.InstallSummary) time.Time {
	if !i.LastWorkflow.EndedAt.IsZero() {
		return i.LastWorkflow.EndedAt
	}
	return i.LastWorkflow.CreatedAt
}

// building says that a build of an app is under way.
func (s seen) building(app string) bool {
	return slices.ContainsFunc(s.components[app], func(c api.Component) bool {
		return c.Problem == "" && (c.Build.Status == api.BuildStatusQueued || c.Build.Status == api.BuildStatusRunning)
	})
}

// unbuilt are the components that cannot be built, or whose build failed.
func (s seen) unbuilt() []Matter {
	var all []Matter
	for _, a := range s.apps {
		for _, c := range s.components[a.Name] {
			m := Matter{Kind: KindBuild, App: a.Name, Component: c.Name}
			switch {
			case c.Problem != "":
				m.What, m.Why, m.Command = c.Name+" cannot be built", c.Problem, "nuon apps get "+a.Name
			case c.Build.Status == api.BuildStatusFailed:
				m.What, m.Why, m.Command = fmt.Sprintf("build %d of %s failed", c.Build.Number, c.Name), c.Build.Error, "nuon logs "+c.Build.ID
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

// unread are the apps whose repository or config cannot be used.
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
			m.What, m.Why = "its config has errors", fmt.Sprintf("%s, so nothing of it is used", diff.Plural(wrong, "error", "errors"))
			if a.Revision.Commit != "" {
				m.Why = fmt.Sprintf("%s at commit %.7s, so nothing of it is used", diff.Plural(wrong, "error", "errors"), a.Revision.Commit)
			}
		case a.Problem != "":
			m.What, m.Why = "it cannot be read", a.Problem
		default:
			continue
		}
		all = append(all, m)
	}
	return all
}

// away are the runners that take no jobs though there is something for them to do: those of installs, and all that build.
func (s seen) away() []Matter {
	var g gather
	for _, i := range s.installs {
		if i.RunnerOnline || i.Runner == "" || i.Status == api.InstallSummaryStatusGone {
			continue
		}
		m := Matter{Kind: KindRunner, Runner: i.Runner, What: "runner " + i.Runner, Why: "it takes no jobs", Command: "nuon runners get " + i.Runner}
		since := time.Time{}
		if n := slices.IndexFunc(s.runners, func(r api.Runner) bool { return r.Name == i.Runner }); n >= 0 {
			m.What, m.Why = stands(s.runners[n])
			if since = s.runners[n].LastSeen; !s.runners[n].Registered {
				m.Command = "nuon runners register " + i.Runner
			}
			if s.runners[n].Online {
				since = time.Time{} // it is seen; since when it is off, nobody knows
			}
		}
		g.add(m, s.called(i.App, i.Name), since)
	}
	return append(g.matters(), s.builders()...)
}

// builders says that nothing can be built, where there is something to build.
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
		return []Matter{{Kind: KindRunner, What: "no runner builds", Why: "nothing can be built before there is one", Command: "nuon runners create build --kind build"}}
	}
	return []Matter{{Kind: KindRunner, What: "no runner builds", Why: strings.Join(names, ", ") + ": nothing is built until one is back", Command: "nuon runners list --kind build"}}
}

// stands says how a runner stands that takes no jobs, and what to do.
func stands(r api.Runner) (what, why string) {
	switch {
	case !r.Registered:
		return "runner " + r.Name + " is not registered", "start it with a registration token"
	case !r.Online:
		return "runner " + r.Name + " is offline", "start it again where it works, or look into its log there"
	case r.Policy.Reason != "":
		return "runner " + r.Name + " takes no jobs now", r.Policy.Reason + "; whoever runs it decides that in its runner file"
	}
	return "runner " + r.Name + " takes no jobs now", "whoever runs it decides that in its runner file"
}

// unwell is what is wrong with the control plane itself. Contested state versions are told of with their installs.
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
