// Package reference finds what a change breaks between the objects of one set: a Secret that goes while a Deployment still reads it, a
// port of a Service that an Ingress still names, a Service whose selector matches no pods any more.
//
// It judges only what the manifests themselves show. What a reference leads to that was in neither set may be in the cluster, so nothing
// is said of it; the same holds for references that are optional, and for what a custom resource newly provides. It reads each object
// once, holds values as raw.Value, and names objects, keys and ports, never values. Package kubernetes calls it and puts what it finds to
// the changes of a report.
package reference

import (
	"cmp"
	"slices"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// Object is one object of a set. Its ID has the namespace that the object lives in, also where the manifest leaves that out.
type Object struct {
	ID    manifest.ID
	Value raw.Value
	// Custom says that the kind is not one of the API itself.
	Custom bool
}

// Rule names what is broken.
type Rule string

// The rules. Gone: the target is no longer there. KeyGone and PortGone: a part of it is not. NoPods: no pods match the selector of the
// target any more. Mismatch: the selector of a workload does not match the labels of its own pods.
const (
	Gone     Rule = "still-used"
	KeyGone  Rule = "key-still-used"
	PortGone Rule = "port-still-used"
	NoPods   Rule = "selects-no-pods"
	Mismatch Rule = "selector-mismatch"
)

// Rules are all rules.
func Rules() []Rule { return []Rule{Gone, KeyGone, PortGone, NoPods, Mismatch} }

// Broken is something that holds before and not after.
type Broken struct {
	Rule Rule
	// Target is what is referred to, or whose selector matches nothing.
	Target manifest.ID
	// Part is the key or the port that is missing.
	Part string
	// Users refer to it, sorted; for NoPods they are what made the pods that matched before.
	Users []manifest.ID
}

// Find compares two sets. Work grows with their size.
func Find(before, after []Object) []Broken {
	was, is := read(before), read(after)
	var out []Broken
	out = append(out, gone(was, is)...)
	out = append(out, missing(was, is)...)
	out = append(out, selectors(was, is)...)
	slices.SortFunc(out, func(a, b Broken) int {
		return cmp.Or(cmp.Compare(a.Target.Address(), b.Target.Address()), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Part, b.Part))
	})
	return out
}

// set is one side, looked through once.
type set struct {
	objects map[manifest.ID]Object
	// uses are all references, by what they lead to.
	uses map[manifest.ID][]use
	// provided are names that custom resources mention, which may be of Secrets and ConfigMaps that they make.
	provided map[place]bool
	pods     []template
	// byLabel are the places in pods of the templates with a label, by namespace and label.
	byLabel map[place][]int
	budget  int
}

// place is a name in a namespace.
type place struct{ namespace, name string }

// maxMatches bounds how many pairs of a selector and a template one side compares.
const maxMatches = 1 << 20

func read(objects []Object) *set {
	s := &set{objects: map[manifest.ID]Object{}, uses: map[manifest.ID][]use{}, provided: map[place]bool{}, byLabel: map[place][]int{},
		budget: maxMatches}
	for _, o := range objects {
		s.objects[o.ID] = o
		r := reader{object: o, set: s}
		r.read()
	}
	return s
}

// gone lists what was there and is not any more, and is still used.
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

// providedNow says that a custom resource newly names a Secret or a ConfigMap, and so may make it: a Certificate, an ExternalSecret.
func providedNow(was, is *set, target manifest.ID) bool {
	at := place{target.Namespace, target.Name}
	return (target.Kind == "Secret" || target.Kind == "ConfigMap") && is.provided[at] && !was.provided[at]
}

// missing lists keys and ports that are used and not there, but for those that were missing before.
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
			if !u.optional && is.lacks(target, u) && !old[target.Address()+"\n"+u.part()+"\n"+u.user.Address()] && (u.key == "" || was.has(target, u.key)) {
				parts[u.part()] = append(parts[u.part()], u)
			}
		}
		for part, uses := range parts {
			rule := PortGone
			if uses[0].key != "" {
				rule = KeyGone
			}
			out = append(out, Broken{Rule: rule, Target: target, Part: part, Users: usersOf(uses, func(use) bool { return true })})
		}
	}
	return append(out, targetPorts(was, is)...)
}

// lacks says that an object of the set is without the key or the port that is used.
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

// hasPort says that a Service has a port of a name or a number. One without ports takes all, as an ExternalName does.
func hasPort(v raw.Value, port string) bool {
	ports := get(v, "spec", "ports")
	for i := range ports.Len() {
		if p := ports.At(i); text(get(p, "name")) == port || text(get(p, "port")) == port {
			return true
		}
	}
	return ports.Len() == 0
}

// targetPorts lists names of ports of Services that no container has any more to which they lead.
func targetPorts(was, is *set) []Broken {
	var out []Broken
	for id, o := range is.objects {
		if id.Kind != "Service" || id.Group != "" {
			continue
		}
		ports := get(o.Value, "spec", "ports")
		for i := range ports.Len() {
			name, isName := raw.Reveal(get(ports.At(i), "targetPort")).(string)
			if !isName || number(name) || !is.leadsNowhere(o, name) {
				continue
			}
			if before, ok := was.objects[id]; !ok || was.leadsNowhere(before, name) {
				continue
			}
			out = append(out, Broken{Rule: PortGone, Target: id, Part: name, Users: is.owners(is.matching(id.Namespace, selectorOf(o)))})
		}
	}
	return out
}

// leadsNowhere says that a Service has pods in the set, none of which has a port of a name.
func (s *set) leadsNowhere(service Object, port string) bool {
	pods := s.matching(service.ID.Namespace, selectorOf(service))
	return len(pods) > 0 && !slices.ContainsFunc(pods, func(i int) bool { return s.pods[i].ports[port] })
}

// selectors lists selectors that matched pods of the set and match none any more, and workloads that do not match their own.
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
