package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file groups the plans that are shown as one: those that the control plane reports as alike
// (Approval.group).

// Gather groups plans that are alike; a plan without such siblings is a list
// of one. The result is in the order of all, with one exception: if some plans
// of a component are alike, all plans of that component are listed together at
// the place of the first, the largest groups first and single plans last.
func Gather(all []api.Approval) [][]api.Approval {
	return gather(all, func(a api.Approval) api.Approval { return a })
}

// gather is Gather for any type that holds an approval.
func gather[T any](all []T, of func(T) api.Approval) [][]T {
	clusters := make(map[string][]T) // by group
	families := make(map[string][]T) // by component, across all installs
	crowded := make(map[string]bool) // families that have alike plans
	for _, t := range all {
		a := of(t)
		f := familyOf(a)
		families[f] = append(families[f], t)
		if a.Group == "" {
			continue
		}
		g := groupOf(a)
		clusters[g] = append(clusters[g], t)
		crowded[f] = crowded[f] || len(clusters[g]) > 1
	}
	out := make([][]T, 0, len(all))
	for _, t := range all {
		f := familyOf(of(t))
		switch {
		case !crowded[f]:
			out = append(out, []T{t})
		case families[f] != nil:
			out = append(out, splitFamily(families[f], clusters, of)...)
			families[f] = nil // already in out
		}
	}
	return out
}

// familyOf returns the key that alike plans share: app, subject and verb.
func familyOf(a api.Approval) string {
	return strings.Join([]string{a.App, Subject(a), Verb(a)}, "\x00")
}

// groupOf returns the key of a plan's group. It includes the family, so that a
// control plane cannot group plans of different components.
func groupOf(a api.Approval) string { return familyOf(a) + "\x00" + a.Group }

// splitFamily splits the plans of one family into its groups, the largest first.
func splitFamily[T any](family []T, clusters map[string][]T, of func(T) api.Approval) [][]T {
	var out [][]T
	told := map[string]bool{}
	for _, t := range family {
		g := groupOf(of(t))
		switch {
		case of(t).Group == "":
			out = append(out, []T{t})
		case !told[g]:
			out = append(out, clusters[g])
		}
		told[g] = true
	}
	slices.SortStableFunc(out, func(a, b []T) int { return cmp.Compare(len(b), len(a)) })
	return out
}

// Place describes where alike plans are: "hello/acme", or "40 installs of hello".
func Place(alike []api.Approval) string {
	if len(alike) == 1 {
		return alike[0].App + "/" + alike[0].Install
	}
	return fmt.Sprintf("%s of %s", diff.Plural(len(alike), "install", "installs"), alike[0].App)
}

// Names lists the installs of plans, sorted, with at most `most` of them by
// name: "acme, globex and 38 more".
func Names(alike []api.Approval, most int) string {
	names := make([]string, 0, len(alike))
	for _, a := range alike {
		names = append(names, a.Install)
	}
	slices.Sort(names)
	return joinNames(names, most)
}

// joinNames joins the first `most` names and counts the rest.
func joinNames(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// GroupReport returns the report of one of several alike plans in a form that holds
// for all of them: placeholders replace the install's own name, id and values.
// It is for display only: answers bind to each plan's own content.
func GroupReport(a api.Approval, r *diff.Report) *diff.Report {
	return diff.Group([]diff.Member{
		{Install: a.Install, Names: []string{a.Install, a.InstallID}, Report: r.ComparableForm()}})[0].Report
}

// Placeholders explains the placeholders of GroupReport to the user.
const Placeholders = "‹own name› stands for the name of each install, ‹own name 2› for its ID"
