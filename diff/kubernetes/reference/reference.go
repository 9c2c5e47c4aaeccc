// Package reference finds references between the objects of one set that a change
// breaks: a Secret is removed while a Deployment still reads it, an Ingress still names
// a removed port of a Service, the selector of a Service no longer matches any pods.
//
// It considers only the manifests themselves. It reports nothing about a target that
// is in neither set, because it may exist in the cluster, about optional references,
// or about objects that a custom resource newly provides. It reads each object once,
// holds values as raw.Value, and names objects, keys and ports, never values.
// Package kubernetes calls it and adds its results to the changes of a report.
package reference

import (
	"cmp"
	"slices"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// Object is one object of a set. Its ID has the effective namespace of the
// object, even if the manifest omits it.
type Object struct {
	ID    manifest.ID
	Value raw.Value
	// Custom means that the kind is not part of the API itself.
	Custom bool
}

// Rule is the name of a kind of broken reference.
type Rule string

// The rules. Gone: the target no longer exists. KeyGone and PortGone: a part of it
// no longer exists. NoPods: the selector of the target no longer matches any pods.
// Mismatch: the selector of a workload does not match the labels of its own pods.
const (
	Gone     Rule = "still-used"
	KeyGone  Rule = "key-still-used"
	PortGone Rule = "port-still-used"
	NoPods   Rule = "selects-no-pods"
	Mismatch Rule = "selector-mismatch"
)

// Rules returns all rules.
func Rules() []Rule { return []Rule{Gone, KeyGone, PortGone, NoPods, Mismatch} }

// Broken is a reference that was valid before the change and is not after it.
type Broken struct {
	Rule Rule
	// Target is the referenced object, or the one whose selector matches nothing.
	Target manifest.ID
	// Part is the missing key or port.
	Part string
	// Users are the objects that refer to it, sorted; for NoPods, the owners
	// of the pods that matched before.
	Users []manifest.ID
}

// Find compares two sets. Its work grows linearly with their size.
func Find(before, after []Object) []Broken {
	was, is := read(before), read(after)
	var out []Broken
	out = append(out, gone(was, is)...)
	out = append(out, missing(was, is)...)
	out = append(out, selectors(was, is)...)
	slices.SortFunc(out, func(a, b Broken) int {
		return cmp.Or(cmp.Compare(a.Target.Address(), b.Target.Address()), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Part, b.Part))
	})
	return out
}

// set is one side, with an index of its objects and references.
type set struct {
	objects map[manifest.ID]Object
	// uses are all references, by their targets.
	uses map[manifest.ID][]use
	// provided are names in custom resources, which may be of Secrets and
	// ConfigMaps that they create.
	provided map[place]bool
	pods     []template
	// byLabel are the indices in pods of the templates with a label, by namespace and label.
	byLabel map[place][]int
	budget  int
}

// place is a name in a namespace.
type place struct{ namespace, name string }

// maxMatches bounds how many pairs of a selector and a template one side compares.
const maxMatches = 1 << 20

func read(objects []Object) *set {
	s := &set{objects: make(map[manifest.ID]Object, len(objects)), uses: map[manifest.ID][]use{},
		provided: map[place]bool{}, byLabel: map[place][]int{}, budget: maxMatches}
	for _, o := range objects {
		s.objects[o.ID] = o
		r := reader{object: o, set: s}
		r.read()
	}
	return s
}

// gone lists objects that no longer exist and are still used.
func gone(was, is *set) []Broken {
	var out []Broken
	for target, uses := range is.uses {
		_, before := was.objects[target]
		_, after := is.objects[target]
		if !before || after || providedNow(was, is, target) {
			continue
		}
		users := usersOf(uses, func(u use) bool { return !u.optional })
		if len(users) > 0 {
			out = append(out, Broken{Rule: Gone, Target: target, Users: users})
		}
	}
	return out
}

// providedNow reports whether a custom resource newly names a Secret or a
// ConfigMap, and so may create it: a Certificate, an ExternalSecret.
func providedNow(was, is *set, target manifest.ID) bool {
	at := place{target.Namespace, target.Name}
	return (target.Kind == "Secret" || target.Kind == "ConfigMap") && is.provided[at] && !was.provided[at]
}

// missing lists keys and ports that are used and do not exist, except those
// that were missing before.
func missing(was, is *set) []Broken {
	var out []Broken
	old := map[string]bool{}
	for target, uses := range was.uses {
		for _, u := range uses {
			if was.lacks(target, u) {
				old[target.Address()+"\n"+u.part()+"\n"+u.user.Address()] = true
			}
		}
	}
	for target, uses := range is.uses {
		parts := map[string][]use{}
		for _, u := range uses {
			if !u.optional && is.lacks(target, u) && !old[target.Address()+"\n"+u.part()+"\n"+u.user.Address()] &&
				(u.key == "" || was.has(target, u.key)) {
				parts[u.part()] = append(parts[u.part()], u)
			}
		}
		for part, uses := range parts {
			rule := PortGone
			if uses[0].key != "" {
				rule = KeyGone
			}
			out = append(out, Broken{Rule: rule, Target: target, Part: part, Users: usersOf(uses, func(use) bool {
				return true
			})})
		}
	}
	return append(out, targetPorts(was, is)...)
}

// lacks reports whether an object of the set does not have the key or the port of a reference.
func (s *set) lacks(target manifest.ID, u use) bool {
	o, ok := s.objects[target]
	switch {
	case !ok:
		return false
	case u.key != "":
		return !hasKey(o.Value, u.key)
	case u.port != "":
		return !hasPort(o.Value, u.port)
	}
	return false
}

func (s *set) has(target manifest.ID, key string) bool {
	o, ok := s.objects[target]
	return ok && hasKey(o.Value, key)
}

func hasKey(v raw.Value, key string) bool {
	for _, list := range []string{"data", "binaryData", "stringData"} {
		if _, ok := get(v, list).Get(key); ok {
			return true
		}
	}
	return false
}

// hasPort reports whether a Service has a port with a name or number. One
// without ports has every port, like an ExternalName.
func hasPort(v raw.Value, port string) bool {
	ports := get(v, "spec", "ports")
	for i := range ports.Len() {
		if p := ports.At(i); text(get(p, "name")) == port || text(get(p, "port")) == port {
			return true
		}
	}
	return ports.Len() == 0
}

// targetPorts lists target port names of Services that no selected container has any longer.
func targetPorts(was, is *set) []Broken {
	var out []Broken
	for id, o := range is.objects {
		if id.Kind != "Service" || id.Group != "" {
			continue
		}
		ports := get(o.Value, "spec", "ports")
		for i := range ports.Len() {
			name, isName := raw.String(get(ports.At(i), "targetPort"))
			if !isName || number(name) || !is.leadsNowhere(o, name) {
				continue
			}
			if before, ok := was.objects[id]; !ok || was.leadsNowhere(before, name) {
				continue
			}
			out = append(out,
				Broken{Rule: PortGone, Target: id, Part: name, Users: is.owners(is.matching(id.Namespace, selectorOf(o)))})
		}
	}
	return out
}

// leadsNowhere reports whether a Service has pods in the set and none of them
// has a port with this name.
func (s *set) leadsNowhere(service Object, port string) bool {
	pods := s.matching(service.ID.Namespace, selectorOf(service))
	return len(pods) > 0 && !slices.ContainsFunc(pods, func(i int) bool { return s.pods[i].ports[port] })
}

// selectors lists selectors that matched pods of the set and no longer match
// any, and workloads that do not match their own.
func selectors(was, is *set) []Broken {
	var out []Broken
	for id, o := range is.objects {
		sel := selectorOf(o)
		if sel.empty() {
			continue
		}
		if before, ok := was.objects[id]; ok && len(is.matching(id.Namespace, sel)) == 0 {
			if pods := was.matching(id.Namespace, selectorOf(before)); len(pods) > 0 {
				out = append(out, Broken{Rule: NoPods, Target: id, Users: was.owners(pods)})
			}
		}
	}
	for _, t := range is.pods {
		if !t.selector.empty() && !t.selector.matches(t.labels) {
			out = append(out, Broken{Rule: Mismatch, Target: t.owner})
		}
	}
	return out
}

func usersOf(uses []use, counts func(use) bool) []manifest.ID {
	var out []manifest.ID
	for _, u := range uses {
		if counts(u) {
			out = append(out, u.user)
		}
	}
	return sorted(out)
}

func (s *set) owners(pods []int) []manifest.ID {
	var out []manifest.ID
	for _, i := range pods {
		out = append(out, s.pods[i].owner)
	}
	return sorted(out)
}

func sorted(ids []manifest.ID) []manifest.ID {
	slices.SortFunc(ids, func(a, b manifest.ID) int { return cmp.Compare(a.Address(), b.Address()) })
	return slices.Compact(ids)
}
