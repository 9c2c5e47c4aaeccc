package risk

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// workloads lists the built-in kinds that create pods from a template, and Pod.
var workloads = []string{"Pod", "PodTemplate", "ReplicationController", "Deployment.apps", "StatefulSet.apps",
	"DaemonSet.apps", "ReplicaSet.apps", "Job.batch", "CronJob.batch", "Deployment.extensions", "DaemonSet.extensions",
	"ReplicaSet.extensions"}

// podless reports whether a kind is built in and creates no pods, so that no search is needed.
func podless(kind string) bool {
	if slices.Contains(workloads, kind) {
		return false
	}
	_, group, _ := strings.Cut(kind, ".")
	return builtinGroup(group)
}

// builtinGroup reports whether an API group belongs to Kubernetes.
func builtinGroup(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy", "extensions":
		return true
	}
	return strings.HasSuffix(group, ".k8s.io") && !strings.Contains(group, ".x-k8s.io")
}

// pod is a pod specification, or a container alone, as some custom resources have it.
type pod struct {
	// place distinguishes the pods of one object; it is empty for a built-in workload.
	place string
	// meta is the metadata of the template, and spec the pod specification.
	meta, spec raw.Value
	containers map[string]raw.Value
}

// podsOf returns all pod specifications in an object. Built-in kinds have them at a known place; in
// all other kinds it searches for values with the structure of one.
func podsOf(kind string, v raw.Value) []pod {
	switch {
	case v.IsNull() || podless(kind):
		return nil
	case !slices.Contains(workloads, kind):
		s := podSearch{}
		s.visit("", raw.Value{}, v, maxSearch*2)
		return s.found
	}
	for _, at := range [][]string{{"spec", "jobTemplate", "spec", "template"}, {"spec", "template"}, {"template"}} {
		if t := get(v, at...); get(t, "spec").IsObject() {
			return []pod{{meta: get(t, "metadata"), spec: get(t, "spec"), containers: containers(get(t, "spec"))}}
		}
	}
	if s := get(v, "spec"); get(s, "containers").IsList() {
		return []pod{{meta: get(v, "metadata"), spec: s, containers: containers(s)}}
	}
	return nil
}

// podSearch finds pod specifications by their structure.
type podSearch struct{ found []pod }

// podKeys lists keys that only a pod specification has. The main one is a list of containers; custom
// resources often put the others beside their own settings.
var podKeys = []string{"containers", "initContainers", "ephemeralContainers", "steps", "sidecars", "hostNetwork",
	"hostPID", "hostIPC", "volumes", "podSecurityContext"}

// visit reads a mapping and everything below it. It skips complete nested objects, as in a
// ManifestWork: these are judged separately (see nested).
func (s *podSearch) visit(place string, meta, v raw.Value, depth int) {
	if depth == 0 {
		return
	}
	for i := range v.Len() {
		e := v.At(i)
		step := text(get(e, "name"))
		if step == "" {
			step = strconv.Itoa(i)
		}
		s.visit(place+"/"+step, raw.Value{}, e, depth-1)
	}
	if !v.IsObject() || place != "" && isObject(v) {
		return
	}
	s.read(place, meta, v)
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		switch {
		case k == "metadata" || k == "status":
		case k == "spec":
			s.visit(place+"/"+k, get(v, "metadata"), child, depth-1)
		case child.IsObject() || child.IsList() && !slices.Contains(containerLists, k):
			s.visit(place+"/"+k, raw.Value{}, child, depth-1)
		case k == "values" || k == "valuesContent": // chart values, as a text
			if doc, ok := readDocument(child); ok {
				s.visit(place+"/"+k, raw.Value{}, doc, depth-1)
			}
		}
	}
}

// read adds a mapping that is a pod specification, or a container alone.
func (s *podSearch) read(place string, meta, v raw.Value) {
	p := pod{place: place, meta: meta, spec: v, containers: containers(v)}
	_, hasImage := stringText(get(v, "image"))
	if len(p.containers) == 0 && (hasImage || get(v, "securityContext").IsObject()) {
		p.containers[""] = v
	}
	if len(p.containers) > 0 || slices.ContainsFunc(podKeys, func(k string) bool { _, ok := v.Get(k); return ok }) {
		s.found = append(s.found, p)
	}
}

// containerLists lists the keys under which pods, and their equivalents in custom resources, have
// containers.
var containerLists = []string{"containers", "initContainers", "ephemeralContainers", "steps", "sidecars"}

// containers returns all containers of a pod by name, or by index if they have no name.
func containers(spec raw.Value) map[string]raw.Value {
	out := map[string]raw.Value{}
	for _, list := range containerLists {
		for i, c := range oneOrMore(get(spec, list)) {
			if !c.IsObject() {
				continue
			}
			name := text(get(c, "name"))
			if name == "" {
				name = strconv.Itoa(i)
			}
			out[list+"/"+name] = c
		}
	}
	return out
}

// facts extracts facts from a pod. Each fact is a distinct text.
type facts func(*pod) map[string]bool

// of returns the facts of all pods of an object.
func (f facts) of(pods []pod) map[string]bool {
	var out map[string]bool
	for i := range pods {
		for fact := range f(&pods[i]) {
			out = addToSet(out, pods[i].place+" "+fact)
		}
	}
	return out
}

// gains reports whether after has facts that before lacks.
func gains(f facts) func(subjectView) bool {
	return func(l subjectView) bool { return hasNew(f.of(l.podsBefore), f.of(l.podsAfter)) }
}

// loses reports whether a container that remains loses a fact.
func loses(f facts) func(subjectView) bool {
	return func(l subjectView) bool {
		stay := facts(func(p *pod) map[string]bool {
			out := map[string]bool{}
			for name := range p.containers {
				out[name] = true
			}
			return out
		}).of(l.podsAfter)
		is := f.of(l.podsAfter)
		for fact := range f.of(l.podsBefore) {
			if stay[fact] && !is[fact] {
				return true
			}
		}
		return false
	}
}

// perContainer returns facts that name the containers for which holds is true.
func perContainer(holds func(p *pod, container raw.Value) bool) facts {
	return func(p *pod) map[string]bool {
		var out map[string]bool
		for name, c := range p.containers {
			if holds(p, c) {
				out = addToSet(out, name)
			}
		}
		return out
	}
}

// setting returns a security setting of a container, which defaults to that of its pod.
func setting(p *pod, container raw.Value, key string) raw.Value {
	if v, ok := get(container, "securityContext").Get(key); ok && !v.IsNull() {
		return v
	}
	if v, ok := get(p.spec, "securityContext").Get(key); ok {
		return v
	}
	return get(p.spec, "podSecurityContext", key)
}

// The settings of the pod security standards:
// https://kubernetes.io/docs/concepts/security/pod-security-standards/

func privileged(_ *pod, c raw.Value) bool { return get(c, "securityContext", "privileged").IsTrue() }

func escalating(_ *pod, c raw.Value) bool {
	return get(c, "securityContext", "allowPrivilegeEscalation").IsTrue()
}

func notEscalating(_ *pod, c raw.Value) bool {
	return isFalse(get(c, "securityContext", "allowPrivilegeEscalation"))
}

func readOnly(_ *pod, c raw.Value) bool {
	return get(c, "securityContext", "readOnlyRootFilesystem").IsTrue()
}

func asRoot(p *pod, c raw.Value) bool { return text(setting(p, c, "runAsUser")) == "0" }

func notRoot(p *pod, c raw.Value) bool {
	user := text(setting(p, c, "runAsUser"))
	return user != "0" && (user != "" || setting(p, c, "runAsNonRoot").IsTrue())
}

func hasLiveness(_ *pod, c raw.Value) bool { return get(c, "livenessProbe").IsObject() }

func hasReadiness(_ *pod, c raw.Value) bool { return get(c, "readinessProbe").IsObject() }

func hasLooseTag(_ *pod, c raw.Value) bool { return looseTag(text(get(c, "image"))) }

// addToSet adds to a set and creates the set if it is nil.
func addToSet(set map[string]bool, s string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[s] = true
	return set
}

// hostNamespaces returns the namespaces of the node that a pod shares.
func hostNamespaces(p *pod) map[string]bool {
	var out map[string]bool
	for _, k := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if get(p.spec, k).IsTrue() {
			out = addToSet(out, k)
		}
	}
	return out
}

// hostPaths returns the directories of the node that a pod mounts.
func hostPaths(p *pod) map[string]bool {
	var out map[string]bool
	for _, v := range oneOrMore(get(p.spec, "volumes")) {
		if h := get(v, "hostPath"); h.IsObject() {
			out = addToSet(out, text(get(h, "path")))
		}
	}
	return out
}

// capabilities returns the added capabilities of all containers, except NET_BIND_SERVICE, which the
// restricted level allows.
func capabilities(p *pod) map[string]bool {
	var out map[string]bool
	for name, c := range p.containers {
		for added := range textSetOf(get(c, "securityContext", "capabilities", "add")) {
			if strings.TrimPrefix(added, "CAP_") != "NET_BIND_SERVICE" {
				out = addToSet(out, name+" "+added)
			}
		}
	}
	return out
}

// looseTag reports whether an image name can point to a different image later.
func looseTag(image string) bool {
	if image == "" || strings.Contains(image, "@") {
		return false
	}
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	return !tagged || tag == "latest"
}

// limitLowered reports whether a container that remains gets a lower resource limit.
func limitLowered(l subjectView) bool {
	return eachStaying(l, func(_, _ *pod, was, is raw.Value) bool {
		limits := get(was, "resources", "limits")
		return slices.ContainsFunc(limits.Keys(), func(k string) bool {
			return less(get(is, "resources", "limits", k), get(limits, k))
		})
	})
}

// eachStaying reports whether holds is true for a container that exists before and after.
func eachStaying(l subjectView, holds func(podWas, podIs *pod, was, is raw.Value) bool) bool {
	now := map[string]*pod{}
	for i := range l.podsAfter {
		now[l.podsAfter[i].place] = &l.podsAfter[i]
	}
	for i := range l.podsBefore {
		p := now[l.podsBefore[i].place]
		if p == nil {
			continue
		}
		for name, was := range l.podsBefore[i].containers {
			if is, stays := p.containers[name]; stays && holds(&l.podsBefore[i], p, was, is) {
				return true
			}
		}
	}
	return false
}

// rollsOut reports whether a change of the pod template replaces pods immediately. It does not while a
// Deployment is paused or has no pods, or where pods are replaced only after someone deletes them.
func rollsOut(l subjectView) bool {
	spec := get(l.after, "spec")
	if get(spec, "paused").IsTrue() || text(get(spec, "replicas")) == "0" ||
		text(get(l.before, "spec", "replicas")) == "0" {
		return false
	}
	return text(get(spec, "updateStrategy", "type")) != "OnDelete"
}

// updatesOnDelete reports whether pods take on a changed template only after someone deletes them.
func updatesOnDelete(l subjectView) bool {
	return text(get(l.after, "spec", "updateStrategy", "type")) == "OnDelete"
}

// recreates reports whether all pods stop before the first new one starts.
func recreates(l subjectView) bool {
	return text(get(l.after, "spec", "strategy", "type")) == "Recreate" && rollsOut(l)
}

const podLevelLabel = "pod-security.kubernetes.io/enforce"

// podLevels lists the levels of the pod security standards, from lax to strict.
var podLevels = []string{"privileged", "baseline", "restricted"}

// levelLowered reports whether a namespace admits pods that it did not admit before. A missing label
// means the default of the cluster, which is privileged unless configured otherwise.
func levelLowered(before, after raw.Value) bool {
	level := func(v raw.Value) int {
		return slices.Index(podLevels, text(get(v, "metadata", "labels", podLevelLabel)))
	}
	return max(level(after), 0) < max(level(before), 0)
}

// levelVersion returns the minor version of Kubernetes by whose checks a namespace admits pods. A label
// that is missing, latest or malformed means the newest.
func levelVersion(v raw.Value) int {
	label := text(get(v, "metadata", "labels", podLevelLabel+"-version"))
	minor, err := strconv.Atoi(strings.TrimPrefix(label, "v1."))
	if err != nil || !strings.HasPrefix(label, "v1.") || minor < 0 {
		return math.MaxInt
	}
	return minor
}
