package kubernetes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/schema"
)

// job is one object on all sides; nil where it does not exist.
type job struct {
	id                         manifest.ID
	before, after, live, again *manifest.Object
	// answer is the server's answer for after, and answerAgain a second one.
	answer, answerAgain *manifest.Object
	// beforeAgain is a second rendering of before.
	beforeAgain *manifest.Object
	// from is the object that a new one with another name replaces.
	from manifest.ID
	// why is the reason of the change, if the match found one.
	reason string
	// twin: a side has another object with the same key; twinHook: it is the hook of the two.
	twin, twinHook bool
	// namesake is the live object with the key of a hook that has a twin. It is part of the release if twinReleased
	// is set, and twinBefore means that the side applied last has a hook with this key.
	namesake                 *manifest.Object
	twinReleased, twinBefore bool
}

// renamed reports whether before and after are two objects.
func (j *job) renamed() bool { return j.from != manifest.ID{} }

// version returns the API version of the manifest.
func (j *job) version() string {
	for _, o := range []*manifest.Object{j.after, j.before, j.live} {
		if o != nil {
			return o.Version
		}
	}
	return ""
}

// size returns the size in bytes of the texts to compare.
func (j *job) size() int {
	size := 0
	for _, o := range []*manifest.Object{j.before, j.after} {
		if o != nil {
			size += o.Size()
		}
	}
	return size
}

// movedGroups are kinds that the API serves under a second group: the objects are the same.
// https://kubernetes.io/docs/reference/using-api/deprecation-guide/
var movedGroups = map[string]map[string]string{
	"extensions": {
		"Deployment": "apps", "DaemonSet": "apps", "ReplicaSet": "apps", "Ingress": "networking.k8s.io",
		"NetworkPolicy": "networking.k8s.io",
	},
	"events.k8s.io": {"Event": ""},
}

// matcher finds the objects that correspond.
type matcher struct {
	// namespace is the namespace of an object that names none.
	namespace string
	// known has the scopes of kinds that the input defines, by group and kind.
	known *schema.Set
}

// key returns the identity of an object: with the group that serves it today,
// and its effective namespace.
func (m *matcher) key(id manifest.ID) manifest.ID {
	if group, ok := movedGroups[id.Group][id.Kind]; ok {
		id.Group = group
	}
	namespaced, known := m.known.Namespaced(id.Group, id.Kind)
	switch {
	case known && !namespaced:
		id.Namespace = ""
	case id.Namespace == "":
		id.Namespace = m.namespace
	}
	return id
}

// slot is where the objects of all sides correspond. Helm creates a hook separately from the release,
// so a hook with the key of another object on its side has a slot of its own for its events.
type slot struct {
	key  manifest.ID
	hook string
}

// pairer is the state of one match.
type pairer struct {
	*matcher
	plain bool
	// twins are the keys of more than one object of a side.
	twins map[manifest.ID]bool
	jobs  []job
	place map[slot]int
	// hooks are the jobs of the hooks that have twins, by key.
	hooks map[manifest.ID][]int
}

// match lists all objects: those of after in order, then those that only
// before has. It counts those that only the cluster has. Two objects of after in one slot are an error,
// because one of them would not be shown.
func (m *matcher) match(c *comparison) (jobs []job, onlyLive int, notes []string, err error) {
	most := 0
	if c.after != nil {
		most = len(c.after.Objects)
	}
	s := &pairer{matcher: m, plain: c.options.Plain, jobs: make([]job, 0, most), place: make(map[slot]int, most),
		hooks: map[manifest.ID][]int{}}
	s.twins = m.twins(c.after, c.before)
	var errs []error
	err = s.add(c.after, func(j *job, o *manifest.Object) {
		if j.after != nil && !j.after.Same(o) {
			errs = append(errs, o.RepeatedError(j.after))
		}
		j.after = o
	})
	if err != nil {
		return nil, 0, nil, err
	}
	err = s.add(c.before, func(j *job, o *manifest.Object) {
		switch {
		case j.before == nil || j.before.Same(o):
		case c.options.ThreeWay: // it is applied already, and the last one counts
			notes = append(notes, fmt.Sprintf("%s: it was applied twice, from %s and %s; the latter is compared.",
				address(o.ID, c.masker.Name), diff.EscapeText(j.before.Place()), diff.EscapeText(o.Place())))
		default:
			errs = append(errs, o.RepeatedError(j.before))
		}
		j.before = o
	})
	if err := errors.Join(err, firstErrors(errs)); err != nil {
		return nil, 0, nil, err
	}
	onlyLive = s.countOthers(c.live)
	if err := s.addOtherSides(c); err != nil {
		return nil, 0, nil, err
	}
	s.addNamesakes(c.live)
	return s.jobs, onlyLive, notes, nil
}

// addNamesakes adds the live objects with the keys of hooks that have twins: such a hook may delete its own.
func (s *pairer) addNamesakes(live *manifest.Set) {
	if live == nil || len(s.hooks) == 0 {
		return
	}
	for _, o := range live.Objects {
		k := s.key(o.ID)
		_, released := s.place[slot{key: k}]
		applied := slices.ContainsFunc(s.hooks[k], func(i int) bool { return s.jobs[i].before != nil })
		for _, i := range s.hooks[k] {
			j := &s.jobs[i]
			j.namesake, j.twinReleased, j.twinBefore = o, released, applied
		}
	}
}

// addOtherSides adds the objects of the other sides to those that after or before has. The server's
// objects are never those of a hook that has a twin, see addNamesakes.
func (s *pairer) addOtherSides(c *comparison) error {
	for _, side := range []struct {
		set    *manifest.Set
		served bool
		put    func(*job, *manifest.Object)
	}{
		{c.live, true, func(j *job, o *manifest.Object) { j.live = o }},
		{c.answers, true, func(j *job, o *manifest.Object) { j.answer = o }},
		{c.answersAgain, true, func(j *job, o *manifest.Object) { j.answerAgain = o }},
		{c.again, false, func(j *job, o *manifest.Object) { j.again = o }},
		{c.beforeAgain, false, func(j *job, o *manifest.Object) { j.beforeAgain = o }},
	} {
		if side.set == nil {
			continue
		}
		for _, o := range side.set.Objects {
			at := slot{key: s.key(o.ID)}
			if !side.served {
				var err error
				if at, err = s.slot(o); err != nil {
					return err
				}
			}
			if i, ok := s.place[at]; ok {
				side.put(&s.jobs[i], o)
			}
		}
	}
	return nil
}

// twins returns the keys that more than one object of a set has.
func (m *matcher) twins(sets ...*manifest.Set) map[manifest.ID]bool {
	twins := map[manifest.ID]bool{}
	for _, set := range sets {
		if set == nil {
			continue
		}
		seen := make(map[manifest.ID]bool, len(set.Objects))
		for _, o := range set.Objects {
			k := m.key(o.ID)
			if seen[k] {
				twins[k] = true
			}
			seen[k] = true
		}
	}
	return twins
}

// slot returns the slot of an object. It reads only objects that have a twin.
func (s *pairer) slot(o *manifest.Object) (slot, error) {
	at := slot{key: s.key(o.ID)}
	if s.plain || !s.twins[at.key] {
		return at, nil
	}
	v, err := o.Value()
	at.hook = hookOf(v)
	return at, err
}

// add adds the objects of a side, with a new job for each that has none.
func (s *pairer) add(set *manifest.Set, put func(*job, *manifest.Object)) error {
	if set == nil {
		return nil
	}
	for _, o := range set.Objects {
		at, err := s.slot(o)
		if err != nil {
			return err
		}
		i, ok := s.place[at]
		if !ok {
			i = len(s.jobs)
			s.place[at] = i
			s.jobs = append(s.jobs, job{id: o.ID, twin: s.twins[at.key], twinHook: at.hook != ""})
			if at.hook != "" {
				s.hooks[at.key] = append(s.hooks[at.key], i)
			}
		}
		put(&s.jobs[i], o)
	}
	return nil
}

// countOthers returns the number of objects in the cluster that are on no other side.
func (s *pairer) countOthers(live *manifest.Set) int {
	if live == nil {
		return 0
	}
	others := map[manifest.ID]bool{}
	for _, o := range live.Objects {
		k := s.key(o.ID)
		if _, known := s.place[slot{key: k}]; !known && !s.twins[k] { // twins may have slots as hooks only
			others[k] = true
		}
	}
	return len(others)
}

// unchanged reports whether it is known without parsing that an object does not change.
func (j *job) unchanged(threeWay bool) bool {
	return !threeWay && j.before != nil && j.after != nil && !j.renamed() && j.before.Same(j.after)
}

// address returns the address of the object as it may be shown. A secret in a name hides the name.
func address(id manifest.ID, shown func(string) string) string {
	id.Group, id.Kind = shown(id.Group), shown(id.Kind)
	id.Namespace, id.Name = shown(id.Namespace), shown(id.Name)
	return diff.EscapeText(id.Address())
}
