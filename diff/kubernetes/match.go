package kubernetes

import (
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

// match lists all objects: those of after in order, then those that only
// before has. It counts those that only the cluster has.
func (m *matcher) match(c *comparison) (jobs []job, onlyLive int) {
	place := map[manifest.ID]int{}
	add := func(set *manifest.Set, put func(*job, *manifest.Object)) {
		if set == nil {
			return
		}
		for _, o := range set.Objects {
			k := m.key(o.ID)
			i, ok := place[k]
			if !ok {
				i = len(jobs)
				place[k] = i
				jobs = append(jobs, job{id: o.ID})
			}
			put(&jobs[i], o)
		}
	}
	add(c.after, func(j *job, o *manifest.Object) { j.after = o })
	add(c.before, func(j *job, o *manifest.Object) { j.before = o })
	mine := len(jobs)
	add(c.live, func(j *job, o *manifest.Object) { j.live = o })
	onlyLive = len(jobs) - mine
	jobs = jobs[:mine]
	beside := func(set *manifest.Set, put func(*job, *manifest.Object)) {
		if set == nil {
			return
		}
		for _, o := range set.Objects {
			if i, ok := place[m.key(o.ID)]; ok && i < mine {
				put(&jobs[i], o)
			}
		}
	}
	beside(c.again, func(j *job, o *manifest.Object) { j.again = o })
	beside(c.beforeAgain, func(j *job, o *manifest.Object) { j.beforeAgain = o })
	beside(c.answers, func(j *job, o *manifest.Object) { j.answer = o })
	beside(c.answersAgain, func(j *job, o *manifest.Object) { j.answerAgain = o })
	return jobs, onlyLive
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
