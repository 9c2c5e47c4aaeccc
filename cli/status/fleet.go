package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/installs"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// App is the state of an app's installs.
type App struct {
	Name    string  `json:"name"`
	Release int     `json:"release"` // the newest; 0 if there is none yet
	Commit  string  `json:"commit,omitempty"`
	Groups  []Group `json:"groups"`
}

// Group is a set of installs of an app in the same state.
type Group struct {
	Installs []string `json:"installs"`          // by name
	Release  int      `json:"release,omitempty"` // the one applied to all components; 0 if there is none
	Commit   string   `json:"commit,omitempty"`  // of the target release
	Pinned   int      `json:"pinned,omitempty"`  // release that the installs are pinned to
	Status   string   `json:"status"`
	Behind   []string `json:"behind,omitempty"` // components
	Drift    []string `json:"drift,omitempty"`  // components that others changed, as a plan found
	Health   string   `json:"health"`
	// Last is the last workflow. For several installs it has no number and no times.
	Last *api.WorkflowRef `json:"last_workflow,omitempty"`
}

// status computes the output from the data of the control plane.
func (s snapshot) status(now time.Time) Status {
	s.shared = sharedNames(s.installs)
	out := Status{Waiting: s.actionItems(now), Apps: []App{}}
	byApp := map[string][]api.InstallSummary{}
	for _, i := range s.installs {
		byApp[i.App] = append(byApp[i.App], i)
	}
	for _, a := range s.apps {
		out.Apps = append(out.Apps, App{Name: a.Name, Release: a.Release.Number, Commit: a.Release.Commit,
			Groups: groupsOf(byApp[a.Name])})
	}
	if s.system != nil {
		out.System = &System{Version: s.system.Version, Runners: s.system.Runners,
			Troubles: append([]string{}, systemProblems(*s.system)...)}
		for _, r := range s.system.Replicas {
			if now.Sub(r.SeenAt) <= goneAfter {
				out.System.Replicas++
			}
		}
	}
	return out
}

// order is the order of the groups: first those that need a person, last those that are current.
var order = []api.InstallSummaryStatus{
	api.InstallSummaryStatusStalled, api.InstallSummaryStatusRejected, api.InstallSummaryStatusWaitingForApproval,
	api.InstallSummaryStatusWaiting,
	api.InstallSummaryStatusNew, api.InstallSummaryStatusDeploying, api.InstallSummaryStatusBehind,
	api.InstallSummaryStatusDeprovisioning,
	api.InstallSummaryStatusCurrent, api.InstallSummaryStatusDeprovisioned,
}

// groupsOf groups the installs of an app by state.
func groupsOf(ofApp []api.InstallSummary) []Group {
	all, index := []Group{}, map[string]int{}
	for _, i := range ofApp {
		key := fmt.Sprint(i.Release, i.Target, i.Pinned, i.Status, i.Behind, installs.DriftNames(i.Drift), i.Health,
			i.LastWorkflow.Kind, i.LastWorkflow.Status)
		n, has := index[key]
		if !has {
			n, index[key] = len(all), len(all)
			g := Group{Release: i.Release, Commit: i.Commit, Pinned: i.Pinned, Status: string(i.Status),
				Behind: i.Behind, Drift: installs.DriftNames(i.Drift),
				Health: string(i.Health)}
			if i.LastWorkflow.ID != "" {
				last := i.LastWorkflow
				g.Last = &last
			}
			all = append(all, g)
		}
		if g := &all[n]; len(g.Installs) > 0 && g.Last != nil {
			g.Last = &api.WorkflowRef{Kind: g.Last.Kind, Status: g.Last.Status}
		}
		all[n].Installs = append(all[n].Installs, i.Name)
	}
	place := func(g Group) int { return slices.Index(order, api.InstallSummaryStatus(g.Status)) }
	slices.SortStableFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Installs[0], b.Installs[0]))
	})
	return all
}

// row returns a table row for a group: app, installs, release, health, status.
func (g Group) row(a App, when func(time.Time) string) []string {
	how := g.Status
	if len(g.Behind) > 0 {
		how += ": " + strings.Join(g.Behind, ", ")
	}
	if len(g.Drift) > 0 {
		how += "; drift: " + strings.Join(g.Drift, ", ")
	}
	if last := g.Last; last != nil {
		what := last.Kind
		if last.Number > 0 {
			what = fmt.Sprintf("%s %d", last.Kind, last.Number)
		}
		at := last.EndedAt
		if at.IsZero() {
			at = last.CreatedAt
		}
		how += fmt.Sprintf("; %s %s", what, last.Status)
		if !at.IsZero() {
			how += " " + when(at)
		}
	}
	return []string{a.Name, InstallNames(g.Installs), g.ReleaseOf(a.Release), g.Health, how}
}

// ReleaseOf describes the release of a group, and the newest one if it differs.
func (g Group) ReleaseOf(newest int) string {
	at := console.Release(g.Release, g.Commit)
	if g.Release != newest {
		at += fmt.Sprintf(" of %d", newest)
	}
	if g.Pinned > 0 {
		at += ", pinned"
		if g.Pinned != g.Release {
			at = fmt.Sprintf("%s at %d", at, g.Pinned)
		}
	}
	return at
}

// maxNamed is the maximum number of installs that are named one by one.
const maxNamed = 3

// InstallNames returns the names of a few installs, or the number of many.
func InstallNames(names []string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%d installs", len(names))
	}
	return strings.Join(names, ", ")
}
