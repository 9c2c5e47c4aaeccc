package status

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
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
	KindBlocked  Kind = "blocked"  // a policy denies a plan, so nobody can approve it
	KindStalled  Kind = "stalled"  // a deploy failed, or a state version is contested
	KindHealth   Kind = "health"   // deployed objects are unhealthy
	KindRejected Kind = "rejected" // a person rejected the change, and the install stays behind
	KindBuild    Kind = "build"    // a component cannot be built
	KindApp      Kind = "app"      // the repository cannot be read, or its config has errors
	KindDrift    Kind = "drift"    // others changed what a component manages, which a plan found
	KindWaiting  Kind = "waiting"  // an install waits for something that is missing
	KindProgress Kind = "progress" // deployed objects are not ready yet
	KindStale    Kind = "stale"    // an install is out of date, and its last workflow is long ago
	KindAccess   Kind = "access"   // a request for a break-glass role waits, ends soon or has ended
	KindRunner   Kind = "runner"   // a runner takes no jobs, or somebody waits for a confirmation of it
	KindSystem   Kind = "system"   // the control plane is unhealthy
)

var kinds = []Kind{KindApproval, KindBlocked, KindStalled, KindHealth, KindRejected, KindBuild, KindApp, KindDrift,
	KindWaiting, KindProgress, KindStale, KindAccess, KindRunner, KindSystem}

// ActionItem is an action item: something that waits for a person, on one install or in
// the same way on several.
type ActionItem struct {
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

// actionItems returns the action items.
func (s snapshot) actionItems(now time.Time) []ActionItem {
	all := []ActionItem{}
	all = append(all, s.approvalItems()...)
	all = append(all, s.installItems(now)...)
	all = append(all, s.healthItems()...)
	all = append(all, s.driftItems()...)
	all = append(all, s.buildItems()...)
	all = append(all, s.appItems()...)
	all = append(all, s.accessItems()...)
	all = append(all, s.runnerItems()...)
	all = append(all, s.systemItems()...)
	slices.SortStableFunc(all, func(a, b ActionItem) int {
		return cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind))
	})
	return all
}

// itemMerger merges action items that differ only in their installs. It ignores an
// install's own name in the reason.
type itemMerger struct {
	all   []ActionItem
	index map[string]int
}

// items returns the merged action items, the installs of each sorted by name.
func (g *itemMerger) items() []ActionItem {
	for _, m := range g.all {
		slices.Sort(m.Installs)
	}
	return g.all
}

// add adds an action item of one install. Since may be zero.
func (g *itemMerger) add(m ActionItem, install string, since time.Time) {
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

// installName returns the name of an install for commands. It includes the app if another
// app has an install of the same name.
func (s snapshot) installName(app, name string) string {
	if s.shared[name] {
		return app + "/" + name
	}
	return name
}

// sharedNames returns the names that installs of several apps have.
func sharedNames(installs []api.InstallSummary) map[string]bool {
	shared, apps := map[string]bool{}, make(map[string]string, len(installs))
	for _, i := range installs {
		if app, seen := apps[i.Name]; seen && app != i.App {
			shared[i.Name] = true
		}
		apps[i.Name] = i.App
	}
	return shared
}

// approvalItems returns the waiting approvals, and the plans that nobody can approve.
func (s snapshot) approvalItems() []ActionItem {
	var g itemMerger
	for _, a := range s.approvals {
		install := s.installName(a.App, a.Install)
		m := ActionItem{
			Kind:      KindApproval,
			App:       a.App,
			Component: a.Component,
			What:      review.Verb(a) + " " + review.Subject(a),
			Why:       sentence(totals(a), cmp.Or(a.Because, a.Reason)),
			Command:   console.CommandLine("nuon", "review", install+"/"+review.Subject(a)),
		}
		if len(a.DeniedBy) > 0 {
			m.Kind, m.Why = KindBlocked, review.Denial(a)+": change what is denied and push, or reject the plan"
		}
		g.add(m, a.Install, a.CreatedAt)
	}
	for i, m := range g.all {
		if len(m.Installs) > 1 {
			g.all[i].Command = "nuon review"
		}
	}
	return g.items()
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

// installItems returns the installs that do not progress without a person.
func (s snapshot) installItems(now time.Time) []ActionItem {
	var g itemMerger
	building := s.building()
	for _, i := range s.installs {
		m := ActionItem{App: i.App, Why: i.Reason}
		name := s.installName(i.App, i.Name)
		m.Command = console.CommandLine("nuon", "explain", "install", name)
		since := lastActivity(i)
		switch i.Status {
		case api.InstallSummaryStatusStalled:
			m.Kind, m.What = KindStalled, "stalled"
		case api.InstallSummaryStatusRejected:
			m.Kind, m.What, m.Command = KindRejected, "rejected", console.CommandLine("nuon", "deploy", name)
		case api.InstallSummaryStatusWaiting:
			if building[i.App] {
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
			g.all[i].Command = console.CommandLine("nuon", "installs", "list", "--app", m.App)
			if m.Kind != KindStale {
				g.all[i].Command += " --status " + string(m.Kind)
			}
		}
	}
	return g.items()
}

// healthItems returns the components with unhealthy objects, as last observed by the runner.
// It includes objects that are not ready yet only if no workflow changes the install.
func (s snapshot) healthItems() []ActionItem {
	var g itemMerger
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
			g.add(ActionItem{
				Kind:      kind,
				App:       i.App,
				Component: u.Component,
				What:      u.Component + " is " + string(u.Health.Status),
				Why:       reasons(u.Health),
				Command:   console.CommandLine("nuon", "installs", "get", s.installName(i.App, i.Name)),
			}, i.Name, time.Time{})
		}
	}
	return g.items()
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

// lastActivity returns the time when the last workflow of an install ended or, if it runs,
// was created; zero if there was none.
func lastActivity(i api.InstallSummary) time.Time {
	if !i.LastWorkflow.EndedAt.IsZero() {
		return i.LastWorkflow.EndedAt
	}
	return i.LastWorkflow.CreatedAt
}

// building returns the names of the apps with a build that is queued or running.
func (s snapshot) building() map[string]bool {
	out := map[string]bool{}
	for _, a := range s.apps {
		if slices.ContainsFunc(a.Unbuilt, func(c api.UnbuiltComponent) bool {
			return c.Problem == "" && (c.Build.Status == api.BuildStatusQueued || c.Build.Status == api.BuildStatusRunning)
		}) {
			out[a.Name] = true
		}
	}
	return out
}

// buildItems returns the components that cannot be built, or whose build failed.
func (s snapshot) buildItems() []ActionItem {
	var all []ActionItem
	for _, a := range s.apps {
		for _, c := range a.Unbuilt {
			m := ActionItem{Kind: KindBuild, App: a.Name, Component: c.Name}
			switch {
			case c.Problem != "":
				m.What, m.Why, m.Command = c.Name+" cannot be built", c.Problem, console.CommandLine("nuon", "apps", "get", a.Name)
			case c.Build.Status == api.BuildStatusFailed:
				m.What, m.Why, m.Command = fmt.Sprintf("build %d of %s failed", c.Build.Number, c.Name),
					c.Build.Error, console.CommandLine("nuon", "logs", c.Build.ID)
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

// appItems returns the apps whose repository or config cannot be used.
func (s snapshot) appItems() []ActionItem {
	var all []ActionItem
	for _, a := range s.apps {
		wrong := 0
		for _, d := range a.Diagnostics {
			if d.Severity == "error" {
				wrong++
			}
		}
		m := ActionItem{Kind: KindApp, App: a.Name, Command: console.CommandLine("nuon", "apps", "get", a.Name)}
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

// accessItems returns the requests for break-glass roles that a person should look at.
func (s snapshot) accessItems() []ActionItem {
	var g itemMerger
	for _, b := range s.breakGlass {
		if b.Reminder == "" {
			continue
		}
		name := s.installName(b.App, b.Install)
		g.add(ActionItem{Kind: KindAccess, App: b.App, What: "break-glass role " + b.Role, Why: b.Reminder,
			Command: console.CommandLine("nuon", "break-glass", "list", name)}, b.Install, b.CreatedAt)
	}
	return g.items()
}

// runnerItems returns the runners that take no jobs although they have work: those of
// installs, and the build runners if all of them are away.
func (s snapshot) runnerItems() []ActionItem {
	var g itemMerger
	byName := make(map[string]api.Runner, len(s.runners))
	for _, r := range s.runners {
		byName[r.Name] = r
	}
	for _, i := range s.installs {
		r, known := byName[i.Runner]
		claims := len(r.Claims) > 0
		if i.RunnerOnline && !claims || i.Runner == "" || i.Status == api.InstallSummaryStatusDeprovisioned {
			continue
		}
		m := ActionItem{Kind: KindRunner, Runner: i.Runner, What: "runner " + i.Runner, Why: "it accepts no jobs",
			Command: console.CommandLine("nuon", "runners", "get", i.Runner)}
		since := time.Time{}
		if known {
			since = r.LastSeen
			if r.Online {
				since = time.Time{} // the runner is online, and the time when it was turned off is unknown
			}
			m.What, m.Why = runnerProblem(r)
			switch {
			case claims:
				m.What, m.Why, since = confirmation(r)
				m.Command = console.CommandLine("nuon", "runners", "confirm", i.Runner, "--account", r.Claims[0].Subject.Account)
			case !r.Registered:
				m.Command = console.CommandLine("nuon", "runners", "register", i.Runner)
			}
		}
		g.add(m, s.installName(i.App, i.Name), since)
	}
	return append(g.items(), s.buildRunnerItems()...)
}

// confirmation describes who waits for a confirmation of a runner, and since when.
func confirmation(r api.Runner) (what, why string, since time.Time) {
	first := r.Claims[0]
	what = "runner " + r.Name + " waits for a confirmation"
	if r.Registered {
		what = "the stack of runner " + r.Name + " waits for a confirmation"
	}
	return what, fmt.Sprintf("%s of the %s account %s is to be confirmed; compare the account with the customer",
		first.Subject.Name, first.Subject.Cloud, first.Subject.Account), first.FirstSeen
}

// buildRunnerItems returns an action item if there are apps and no build runner takes jobs.
func (s snapshot) buildRunnerItems() []ActionItem {
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
		what, _ := runnerProblem(r)
		names = append(names, what)
	}
	if len(names) == 0 {
		return []ActionItem{{Kind: KindRunner, What: "no build runner", Why: "nothing can be built until one is created",
			Command: "nuon runners create build --kind build"}}
	}
	return []ActionItem{{Kind: KindRunner, What: "no build runner",
		Why:     strings.Join(names, ", ") + ": nothing can be built until one is online",
		Command: "nuon runners list --kind build"}}
}

// runnerProblem describes why a runner takes no jobs, and what to do.
func runnerProblem(r api.Runner) (what, why string) {
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

// systemItems returns the problems of the control plane itself. It leaves out contested
// state versions, which are reported with their installs.
func (s snapshot) systemItems() []ActionItem {
	if s.system == nil {
		return nil
	}
	var all []ActionItem
	system := *s.system
	system.Work.Contested = 0
	for _, t := range systemProblems(system) {
		all = append(all, ActionItem{Kind: KindSystem, What: "the control plane", Why: t, Command: "nuon status --system"})
	}
	return all
}
