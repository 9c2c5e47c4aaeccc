package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// This file says which plans are read as one: those that the control plane has found to be alike (Approval.group).

// Gather puts plans together that are alike. What stands alone is a list of one. They come in the order of all, but for the plans of
// a component of which some are alike: those are told together, at the place of the first, the most first and what is like no other
// last.
func Gather(all []api.Approval) [][]api.Approval {
	return gather(all, func(a api.Approval) api.Approval { return a })
}

// gather is Gather for whatever holds an approval.
func gather[T any](all []T, of func(T) api.Approval) [][]T {
	clusters := make(map[string][]T) // of a group
	families := make(map[string][]T) // of a component at all installs
	crowded := make(map[string]bool) // families in which some are alike
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
			out = append(out, parted(families[f], clusters, of)...)
			families[f] = nil // told
		}
	}
	return out
}

// familyOf is what plans have in common that may be alike.
func familyOf(a api.Approval) string {
	return strings.Join([]string{a.App, Subject(a), Verb(a)}, "\x00")
}

// groupOf is the group of a plan that has one. It says of what component, too, so that a control plane cannot put plans together that
// are of different ones.
func groupOf(a api.Approval) string { return familyOf(a) + "\x00" + a.Group }

// parted are the plans of one family: those that are alike, then the exceptions.
func parted[T any](family []T, clusters map[string][]T, of func(T) api.Approval) [][]T {
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

// Place says where plans that are alike are: "hello/acme", or "40 installs of hello".
func Place(alike []api.Approval) string {
	if len(alike) == 1 {
		return alike[0].App + "/" + alike[0].Install
	}
	return fmt.Sprintf("%s of %s", diff.Plural(len(alike), "install", "installs"), alike[0].App)
}

// Names are the installs of plans, sorted, at most so many of them by name: "acme, globex and 38 more".
func Names(alike []api.Approval, most int) string {
	names := make([]string, 0, len(alike))
	for _, a := range alike {
		names = append(names, a.Install)
	}
	slices.Sort(names)
	return some(names, most)
}

// some names so many of all and counts the rest.
func some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// OfAll is the report of one of several plans that are alike, as it holds for all of them: placeholders stand for the install's own
// name and id, and for values that it has of its own. It is for display only: answers bind to each plan's own content.
func OfAll(a api.Approval, r *diff.Report) *diff.Report {
	return diff.Group([]diff.Member{{Install: a.Install, Names: []string{a.Install, a.InstallID}, Report: r.Gist()}})[0].Report
}

// Placeholders says what OfAll puts in the place of names.
const Placeholders = "‹own name› stands for the name of each install, ‹own name 2› for its id"
