package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// workloads are the kinds that make pods from a template, and pods themselves.
var workloads = []string{"Pod", "ReplicationController", "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps", "Job.batch",
	"CronJob.batch"}

// podSpec is the specification of the pods that an object makes, or null.
func podSpec(v raw.Value) raw.Value {
	for _, at := range [][]string{{"spec", "jobTemplate", "spec", "template", "spec"}, {"spec", "template", "spec"}} {
		if s := get(v, at...); s.IsObject() {
			return s
		}
	}
	if s := get(v, "spec"); get(s, "containers").IsList() {
		return s
	}
	return raw.Value{}
}

// containers are all containers of a pod by name; those without a name have their place.
func containers(spec raw.Value) map[string]raw.Value {
	out := map[string]raw.Value{}
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, c := range oneOrMore(get(spec, list)) {
			out[list+"/"+text(get(c, "name"))] = c
		}
	}
	return out
}

// pod is what an object says of its pods, looked up once for all rules.
type pod struct {
	spec       raw.Value
	containers map[string]raw.Value
}

func podOf(v raw.Value) *pod {
	spec := podSpec(v)
	return &pod{spec: spec, containers: containers(spec)}
}

// facts are what a predicate finds in the pods of an object, each as a text that tells it from others.
type facts func(*pod) map[string]bool

// gains says that after has facts that before lacks.
func gains(f facts) func(look) bool {
	return func(l look) bool { return grows(f(l.was), f(l.is)) }
}

// loses says that a container that stays loses a fact.
func loses(f facts) func(look) bool {
	return func(l look) bool {
		is := f(l.is)
		for fact := range f(l.was) {
			if _, stays := l.is.containers[fact]; stays && !is[fact] {
				return true
			}
		}
		return false
	}
}

// perContainer makes facts of the names of the containers for which something holds.
func perContainer(holds func(pod, container raw.Value) bool) facts {
	return func(p *pod) map[string]bool {
		var out map[string]bool
		for name, c := range p.containers {
			if holds(p.spec, c) {
				out = with(out, name)
			}
		}
		return out
	}
}

// setting is a container's own security setting, or else its pod's.
func setting(pod, container raw.Value, key string) raw.Value {
	if v, ok := get(container, "securityContext").Get(key); ok && !v.IsNull() {
		return v
	}
	return get(pod, "securityContext", key)
}

// The settings of the pod security standards: https://kubernetes.io/docs/concepts/security/pod-security-standards/

func privileged(_, c raw.Value) bool { return get(c, "securityContext", "privileged").IsTrue() }

func escalating(_, c raw.Value) bool {
	return get(c, "securityContext", "allowPrivilegeEscalation").IsTrue()
}

func notEscalating(_, c raw.Value) bool {
	return isFalse(get(c, "securityContext", "allowPrivilegeEscalation"))
}

func readOnly(_, c raw.Value) bool {
	return get(c, "securityContext", "readOnlyRootFilesystem").IsTrue()
}

func asRoot(p, c raw.Value) bool { return text(setting(p, c, "runAsUser")) == "0" }

func notRoot(p, c raw.Value) bool {
	user := text(setting(p, c, "runAsUser"))
	return user != "0" && (user != "" || setting(p, c, "runAsNonRoot").IsTrue())
}

func unconfined(p, c raw.Value) bool {
	return text(get(setting(p, c, "seccompProfile"), "type")) == "Unconfined" || text(get(setting(p, c, "appArmorProfile"), "type")) == "Unconfined"
}

func hasLiveness(_, c raw.Value) bool { return get(c, "livenessProbe").IsObject() }

func hasReadiness(_, c raw.Value) bool { return get(c, "readinessProbe").IsObject() }

func hasLooseTag(_, c raw.Value) bool { return looseTag(text(get(c, "image"))) }

// with adds to a set that is made when there is something in it.
func with(set map[string]bool, s string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[s] = true
	return set
}

// hostNamespaces are the parts of the node that a pod shares.
func hostNamespaces(p *pod) map[string]bool {
	var out map[string]bool
	for _, k := range []string{"hostNetwork", "hostPID", "hostIPC"} {
		if get(p.spec, k).IsTrue() {
			out = with(out, k)
		}
	}
	return out
}

// hostPaths are the folders of the node that a pod can see.
func hostPaths(p *pod) map[string]bool {
	var out map[string]bool
	for _, v := range oneOrMore(get(p.spec, "volumes")) {
		if h := get(v, "hostPath"); h.IsObject() {
			out = with(out, text(get(h, "path")))
		}
	}
	return out
}

// capabilities are what containers may do beyond others. NET_BIND_SERVICE is what the restricted level allows.
func capabilities(p *pod) map[string]bool {
	var out map[string]bool
	for name, c := range p.containers {
		for added := range set(get(c, "securityContext", "capabilities", "add")) {
			if strings.TrimPrefix(added, "CAP_") != "NET_BIND_SERVICE" {
				out = with(out, name+" "+added)
			}
		}
	}
	return out
}

// looseTag says that an image can become another one under the same name.
func looseTag(image string) bool {
	if image == "" || strings.Contains(image, "@") {
		return false
	}
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	return !tagged || tag == "latest"
}

// limitLowered says that a container that stays gets less of something than it had.
func limitLowered(l look) bool {
	for name, was := range l.was.containers {
		limits := get(was, "resources", "limits")
		for _, k := range limits.Keys() {
			if less(get(l.is.containers[name], "resources", "limits", k), get(limits, k)) {
				return true
			}
		}
	}
	return false
}

// rolls says that a change of the pod template ends pods now: not while a Deployment is paused or has no pods, and not where pods are
// only replaced when someone deletes them.
func rolls(l look) bool {
	spec := get(l.after, "spec")
	if get(spec, "paused").IsTrue() || text(get(spec, "replicas")) == "0" || text(get(l.before, "spec", "replicas")) == "0" {
		return false
	}
	return text(get(spec, "updateStrategy", "type")) != "OnDelete"
}

// waits says that pods take a change of their template on only when someone deletes them.
func waits(l look) bool {
	return text(get(l.after, "spec", "updateStrategy", "type")) == "OnDelete"
}

// recreates says that all pods end before the first new one begins.
func recreates(l look) bool {
	return text(get(l.after, "spec", "strategy", "type")) == "Recreate" && rolls(l)
}

// podLevels are the levels of the pod security standards, from lax to strict.
var podLevels = []string{"privileged", "baseline", "restricted"}

// levelLowered says that a namespace lets in pods that it did not. No label is as the cluster has it, which is privileged where
// nobody said otherwise.
func levelLowered(before, after raw.Value) bool {
	const label = "pod-security.kubernetes.io/enforce"
	level := func(v raw.Value) int { return slices.Index(podLevels, text(get(v, "metadata", "labels", label))) }
	return max(level(after), 0) < max(level(before), 0)
}
