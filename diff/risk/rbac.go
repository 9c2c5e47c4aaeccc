package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// roleComparators compare API groups, resources, verbs, object names and non-resource URLs.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/
var roleComparators = []comparator{
	words, {covers: resourceCovers, widerItems: widerResources, loose: never}, words, words,
	{covers: pathCovers, widerItems: allItems, loose: isPattern},
}

func wordCovers(outer, inner string) bool { return outer == "*" || outer == inner }

// resourceCovers compares resources. */scale covers that subresource of every resource; other
// wildcards have no meaning.
func resourceCovers(outer, inner string) bool {
	part, ok := strings.CutPrefix(outer, "*/")
	return wordCovers(outer, inner) || ok && strings.HasSuffix(inner, "/"+part)
}

// widerResources returns * and, for a subresource, that subresource of every resource.
func widerResources(inner string) []string {
	out := []string{"*"}
	for i := range len(inner) {
		if inner[i] == '/' {
			out = append(out, "*"+inner[i:])
		}
	}
	return out
}

// pathCovers compares paths; a star at the end of a path matches any rest.
func pathCovers(outer, inner string) bool {
	start, ok := strings.CutSuffix(outer, "*")
	return outer == inner || ok && strings.HasPrefix(inner, start)
}

// roleGrants returns what a Role or ClusterRole allows. The names of objects begin with =; * is any object.
func roleGrants(v raw.Value) []grant {
	var out []grant
	for _, rule := range oneOrMore(get(v, "rules")) {
		verbs := itemsOnly(gather(rule, "verbs")...)
		if paths := gather(rule, "nonResourceURLs"); len(paths) > 0 {
			out = append(out, grant{dims: []dimension{itemsOnly("none"), itemsOnly("none"), verbs, itemsOnly("none"),
				itemsOnly(paths...)}})
		}
		resources := gather(rule, "resources")
		if len(resources) == 0 {
			continue
		}
		// The empty group is the core API, and a star is a name like any other; gather would drop empty texts.
		groups, _ := texts(get(rule, "apiGroups"))
		names, _ := texts(get(rule, "resourceNames"))
		for i := range names {
			names[i] = "=" + names[i]
		}
		if len(names) == 0 {
			names = []string{"*"}
		}
		out = append(out, grant{dims: []dimension{itemsOnly(groups...), itemsOnly(resources...), verbs, itemsOnly(names...),
			itemsOnly("none")}})
	}
	return out
}

// roleWidens reports whether a role allows more than before.
func roleWidens(before, after raw.Value) bool {
	return !covered(roleComparators, roleGrants(after), roleGrants(before))
}

// roleAll reports whether a role newly allows every verb, every resource, or a verb that takes on
// other rights: escalate, bind and impersonate.
func roleAll(before, after raw.Value) bool {
	var strong []grant
	for _, g := range roleGrants(after) {
		all := func(d int) bool { return slices.Contains(g.dims[d].items, "*") }
		if all(1) || all(2) || slices.ContainsFunc(g.dims[2].items, escalates) {
			strong = append(strong, g)
		}
	}
	return !covered(roleComparators, strong, roleGrants(before))
}

func escalates(verb string) bool {
	return verb == "escalate" || verb == "bind" || verb == "impersonate"
}

// subjects returns the subjects of a binding.
func subjects(v raw.Value) map[string]bool {
	out := map[string]bool{}
	for _, s := range oneOrMore(get(v, "subjects")) {
		out[strings.Join([]string{text(get(s, "kind")), text(get(s, "namespace")), text(get(s, "name"))}, "/")] = true
	}
	return out
}

// everyoneSubject reports whether a binding is newly for all authenticated or all unauthenticated
// users.
func everyoneSubject(before, after raw.Value) bool {
	was := subjects(before)
	for s := range subjects(after) {
		if was[s] {
			continue
		}
		switch _, name, _ := strings.Cut(s, "//"); name {
		case "system:anonymous", "system:unauthenticated", "system:authenticated":
			return true
		}
	}
	return false
}
