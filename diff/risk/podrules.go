package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// ofPods completes rules about the pods that an object of any kind creates.
func ofPods(rules []Rule) []Rule {
	for i := range rules {
		rules[i].Pods, rules[i].Kinds = true, []string{"*"}
		if rules[i].Actions == nil {
			rules[i].Actions = actionsPresent
		}
	}
	return rules
}

// containerRules returns the rules about what containers run, and with which resources.
func containerRules() []Rule {
	probes := k8sDocs + "concepts/configuration/liveness-readiness-startup-probes/"
	images := k8sDocs + "concepts/containers/images/#image-names"
	resources := k8sDocs + "concepts/configuration/manage-resources-containers/"
	return ofPods([]Rule{
		{
			Name: "image-loose", Source: images, Paths: []string{"**.image"}, Risk: diff.RiskInPlace,
			When: "an image has the tag latest or none, and had not before", holds: gains(perContainer(hasLooseTag)),
			Message: "an image has no fixed tag: pods that start later may run another image",
		},
		{
			Name: "image-repository", Source: images, Security: true, Actions: actionsChange, Risk: diff.RiskInPlace,
			Paths:   []string{"**.image", "**.containers", "**.initContainers", "**.ephemeralContainers"},
			When:    "an image is of a registry or repository that no container had before",
			holds:   func(l subjectView) bool { return len(l.podsBefore) > 0 && gains(repositories)(l) },
			Message: "a container runs an image from another registry or repository than before",
		},
		{
			Name: "image-digest-gone", Source: k8sDocs + "concepts/containers/images/#image-pull-policy", Security: true,
			Actions: actionsChange, Paths: []string{"**.image"}, Risk: diff.RiskInPlace,
			When:    "an image is no longer pinned by digest",
			holds:   loses(perContainer(pinned)),
			Message: "an image is no longer pinned by digest: anyone who can push to the registry can replace it",
		},
		{
			Name: "liveness-gone", Source: probes, Actions: actionsChange, Paths: []string{"**.livenessProbe"},
			Risk: diff.RiskInPlace,
			When: "a container loses its liveness probe", holds: loses(perContainer(hasLiveness)),
			Message: "a container that hangs is no longer restarted",
		},
		{
			Name: "readiness-gone", Source: probes, Actions: actionsChange, Paths: []string{"**.readinessProbe"},
			Risk: diff.RiskInPlace,
			When: "a container loses its readiness probe", holds: loses(perContainer(hasReadiness)),
			Message: "a container gets traffic before it is ready, and a rollout no longer waits for it",
		},
		{
			Name: "limit-lowered", Source: resources, Actions: actionsChange, Paths: []string{"**.limits"},
			Risk: diff.RiskInPlace,
			When: "a limit of a container gets smaller", holds: limitLowered,
			Message: "a container gets a lower limit: it is throttled, or killed when it needs more memory",
		},
		{
			Name: "limit-gone", Source: resources, Actions: actionsChange, Paths: []string{"**.resources"},
			Risk: diff.RiskInPlace,
			When: "a container loses its memory limit", holds: loses(perContainer(hasMemoryLimit)),
			Message: "a container may use all memory of the node, and other pods there may be killed",
		},
		{
			Name: "workload-account", Source: k8sDocs + "tasks/configure-pod-container/configure-service-account/",
			Security: true,
			Actions:  actionsChange, Paths: []string{"**.serviceAccountName", "**.serviceAccount"}, Risk: diff.RiskInPlace,
			When:    "the account is another one",
			holds:   func(l subjectView) bool { return len(l.podsBefore) > 0 && gains(accounts)(l) },
			Message: "the pods run under another service account, with its rights",
		},
		{
			Name: "pod-cloud-identity", Security: true, Risk: diff.RiskAdditive,
			Source: "https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html",
			Paths:  []string{"**.labels", "**.annotations"},
			When:   "the template requests another cloud identity", holds: gains(podIdentities),
			Message: "the pods act in the cloud with this identity and all its rights",
		},
		{
			Name: "pod-mesh-bypass", Source: "https://istio.io/latest/docs/reference/config/annotations/", Security: true,
			Actions: actionsChange, Paths: []string{"**.labels", "**.annotations"}, Risk: diff.RiskInPlace,
			When: "the template newly excludes its pods, or some of their calls, from a mesh", holds: gains(meshBypasses),
			Message: "calls of the pods bypass the proxy of the mesh, with its encryption and its policies",
		},
		{
			Name: "pod-priority", Source: k8sDocs + "concepts/scheduling-eviction/pod-priority-preemption/",
			Risk:  diff.RiskInPlace,
			Paths: []string{"**.priorityClassName"}, When: "the priority becomes one of those for the system",
			holds:   gains(systemPriority),
			Message: "other pods are evicted in favor of these pods",
		},
		{
			Name: "pod-no-grace", Source: k8sDocs + "concepts/workloads/pods/pod-lifecycle/#pod-termination",
			Actions: actionsChange,
			Paths:   []string{"**.terminationGracePeriodSeconds"}, Risk: diff.RiskInPlace, When: "it becomes 0",
			holds:   gains(noGrace),
			Message: "containers are killed at once when their pod ends, and cannot finish their work",
		},
		{
			Name: "custom-pods-change", Source: k8sDocs + "concepts/workloads/pods/#pod-templates", Actions: actionsUpdate,
			Risk: diff.RiskRestart, Paths: []string{"**.template", "**.podTemplate"},
			When: "the kind is not one of Kubernetes itself, and has containers there",
			holds: func(l subjectView) bool {
				return !slices.Contains(workloads, l.kind) && hasTemplate(l.podsBefore) && hasTemplate(l.podsAfter)
			},
			Message: "the pod template changes: its controller may replace all pods",
		},
	})
}

// isolationRules returns the rules about what pods share with their node.
func isolationRules() []Rule {
	rules := []Rule{
		{
			Name: "pod-privileged", Paths: []string{"**.privileged"}, When: "a container becomes privileged",
			holds: gains(perContainer(privileged)), Message: "a container has all rights on the node",
		},
		{
			Name: "pod-host-namespace", Paths: []string{"**.hostNetwork", "**.hostPID", "**.hostIPC"},
			When: "hostNetwork, hostPID or hostIPC is turned on", holds: gains(hostNamespaces),
			Message: "pods share the network, the processes or the memory of the node",
		},
		{
			Name: "pod-host-path", Paths: []string{"**.hostPath"}, When: "a folder of the node is mounted that was not",
			holds:   gains(hostPaths),
			Message: "pods can read, and may change, files of the node",
		},
		{
			Name: "pod-host-port", Paths: []string{"**.hostPort"}, When: "a container gets a port of the node",
			holds:   gains(hostPorts),
			Message: "the container can be reached at the address of its node, regardless of network policies",
		},
		{
			Name: "pod-host-process", Paths: []string{"**.hostProcess"}, When: "hostProcess is turned on for Windows",
			holds:   gains(perContainer(hostProcess)),
			Message: "a container runs as a process of the Windows node, with all rights there",
		},
		{
			Name: "pod-host-users", Paths: []string{"**.hostUsers"}, When: "hostUsers is no longer false",
			holds:   losesPod(ownUsers),
			Message: "root in a container is root on the node, if it breaks out",
		},
		{
			Name: "pod-shared-processes", Paths: []string{"**.shareProcessNamespace"}, When: "it is turned on",
			holds:   gains(sharedProcesses),
			Message: "containers of a pod can see and end each other's processes, and read their files and environment",
		},
		{
			Name: "pod-capabilities", Paths: []string{"**.capabilities"},
			When:  "a container gets a capability other than NET_BIND_SERVICE",
			holds: gains(capabilities), Message: "a container gets more rights on the node",
		},
		{
			Name: "pod-capabilities-kept", Paths: []string{"**.capabilities"},
			When:    "a container no longer drops a capability that it dropped",
			holds:   func(l subjectView) bool { return eachStaying(l, keepsCapability) },
			Message: "a container keeps capabilities that it dropped before",
		},
		{
			Name: "pod-sysctls", Paths: []string{"**.sysctls"}, When: "a sysctl is set that is not among the safe ones",
			holds:   gains(unsafeSysctls),
			Message: "pods set kernel parameters that may affect the whole node",
		},
		{
			Name: "mount-writable", Paths: []string{"**.volumeMounts", "**.readOnly"},
			When:    "a mount is no longer read-only",
			holds:   func(l subjectView) bool { return eachStaying(l, mountWritable) },
			Message: "a container may change files that it could only read before",
		},
	}
	return podStandards(rules)
}

// confinementRules returns the rules about limits inside a container.
func confinementRules() []Rule {
	return podStandards([]Rule{
		{
			Name: "pod-root", Paths: []string{"**.runAsUser"}, When: "runAsUser of a container is 0",
			holds:   gains(perContainer(asRoot)),
			Message: "a container runs as root",
		},
		{
			Name: "pod-may-be-root", Paths: []string{"**.runAsUser", "**.runAsNonRoot"},
			When: "a container that could not run as root now can", holds: loses(perContainer(notRoot)),
			Message: "a container may run as root if its image does",
		},
		{
			Name: "pod-escalation", Paths: []string{"**.allowPrivilegeEscalation"},
			When: "allowPrivilegeEscalation is turned on",
			holds: func(l subjectView) bool {
				return gains(perContainer(escalating))(l) || loses(perContainer(notEscalating))(l)
			},
			Message: "processes in a container may get more rights than their parent",
		},
		{
			Name: "pod-unconfined", Paths: []string{"**.seccompProfile", "**.appArmorProfile", "**.annotations"},
			When: "a seccomp or AppArmor profile becomes Unconfined", holds: gains(perContainer(unconfined)),
			Message: "nothing limits the system calls of a container",
		},
		{
			Name: "pod-profile-gone", Paths: []string{"**.seccompProfile", "**.appArmorProfile", "**.annotations"},
			When: "a container loses its seccomp or AppArmor profile",
			holds: func(l subjectView) bool {
				return loses(perContainer(hasSeccomp))(l) || loses(perContainer(hasAppArmor))(l)
			},
			Message: "a container no longer has its own profile that limits its system calls",
		},
		{
			Name: "pod-selinux", Paths: []string{"**.seLinuxOptions"},
			When:    "the options are not those that the baseline allows",
			holds:   gains(perContainer(looseSELinux)),
			Message: "a container runs with another SELinux user, role or type, which may limit it less",
		},
		{
			Name: "pod-proc-mount", Paths: []string{"**.procMount"}, When: "procMount becomes Unmasked",
			holds:   gains(perContainer(procUnmasked)),
			Message: "a container sees parts of /proc that are normally hidden, and may change kernel settings",
		},
		{
			Name: "pod-writable-root", Paths: []string{"**.readOnlyRootFilesystem"},
			When:  "a container loses readOnlyRootFilesystem",
			holds: loses(perContainer(readOnly)), Message: "a container may change its own files",
		},
	})
}

func podStandards(rules []Rule) []Rule {
	for i := range rules {
		rules[i].Source, rules[i].Security = k8sDocs+"concepts/security/pod-security-standards/", true
		rules[i].Risk = diff.RiskAdditive
	}
	return ofPods(rules)
}

// losesPod reports whether pods that remain lose a fact about the whole pod.
func losesPod(f facts) func(subjectView) bool {
	return func(l subjectView) bool {
		stay := facts(func(*pod) map[string]bool { return map[string]bool{"": true} }).of(l.podsAfter)
		is := f.of(l.podsAfter)
		for fact := range f.of(l.podsBefore) {
			if stay[fact] && !is[fact] {
				return true
			}
		}
		return false
	}
}

func ownUsers(p *pod) map[string]bool {
	if !isFalse(get(p.spec, "hostUsers")) {
		return nil
	}
	return map[string]bool{"": true}
}

func sharedProcesses(p *pod) map[string]bool {
	if !get(p.spec, "shareProcessNamespace").IsTrue() {
		return nil
	}
	return map[string]bool{"": true}
}

// repository returns the normalized name of an image without its tag and digest.
// https://kubernetes.io/docs/concepts/containers/images/#image-names
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image = image[:i]
	}
	host, rest, ok := strings.Cut(image, "/")
	switch {
	case !ok:
		return "docker.io/library/" + image
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		return "docker.io/" + image
	case host == "index.docker.io" || host == "registry-1.docker.io":
		host = "docker.io"
	}
	if host == "docker.io" && !strings.Contains(rest, "/") {
		rest = "library/" + rest
	}
	return host + "/" + rest
}

// repositories returns the repositories of all images of a pod.
func repositories(p *pod) map[string]bool {
	var out map[string]bool
	for _, c := range p.containers {
		if image := text(get(c, "image")); image != "" {
			out = addToSet(out, repository(image))
		}
	}
	return out
}

func pinned(_ *pod, c raw.Value) bool { return strings.Contains(text(get(c, "image")), "@sha") }

func hasMemoryLimit(_ *pod, c raw.Value) bool {
	return !get(c, "resources", "limits", "memory").IsNull()
}

// accounts returns the service account of a pod; an omitted one is "default".
func accounts(p *pod) map[string]bool {
	for _, k := range []string{"serviceAccountName", "serviceAccount"} {
		if name := text(get(p.spec, k)); name != "" {
			return map[string]bool{name: true}
		}
	}
	return map[string]bool{"default": true}
}

// podIdentities returns the cloud identities that a template requests.
func podIdentities(p *pod) map[string]bool {
	var out map[string]bool
	if text(get(p.meta, "labels", "azure.workload.identity/use")) == "true" {
		out = addToSet(out, "azure")
	}
	for _, k := range []string{"iam.amazonaws.com/role", "iam.cloud.google.com/service-account"} {
		if role := text(get(p.meta, "annotations", k)); role != "" {
			out = addToSet(out, k+" "+role)
		}
	}
	if binding := text(get(p.meta, "labels", "aadpodidbinding")); binding != "" {
		out = addToSet(out, "aad "+binding)
	}
	return out
}

func systemPriority(p *pod) map[string]bool {
	if c := text(get(p.spec, "priorityClassName")); strings.HasPrefix(c, "system-") {
		return map[string]bool{c: true}
	}
	return nil
}

func noGrace(p *pod) map[string]bool {
	if text(get(p.spec, "terminationGracePeriodSeconds")) != "0" {
		return nil
	}
	return map[string]bool{"": true}
}

// hasTemplate reports whether one of the pods comes from a template, judging by its place.
func hasTemplate(pods []pod) bool {
	return slices.ContainsFunc(pods, func(p pod) bool {
		return len(p.containers) > 0 && (strings.HasSuffix(p.place, "emplate/spec") || strings.HasSuffix(p.place, "emplate"))
	})
}

func hostPorts(p *pod) map[string]bool {
	var out map[string]bool
	for _, c := range p.containers {
		for _, port := range oneOrMore(get(c, "ports")) {
			if n := text(get(port, "hostPort")); n != "" && n != "0" {
				out = addToSet(out, text(get(port, "protocol"))+n)
			}
		}
	}
	return out
}

func hostProcess(p *pod, c raw.Value) bool {
	return get(setting(p, c, "windowsOptions"), "hostProcess").IsTrue()
}

// keepsCapability reports whether a container no longer drops a capability that it used to drop.
func keepsCapability(_, _ *pod, was, is raw.Value) bool {
	dropped := textSetOf(get(is, "securityContext", "capabilities", "drop"))
	return !dropped["ALL"] && hasNew(dropped, textSetOf(get(was, "securityContext", "capabilities", "drop")))
}

// safeSysctls lists the sysctls that the baseline level allows.
var safeSysctls = map[string]bool{
	"kernel.shm_rmid_forced": true, "net.ipv4.ip_local_port_range": true, "net.ipv4.ip_unprivileged_port_start": true,
	"net.ipv4.tcp_syncookies": true, "net.ipv4.ping_group_range": true, "net.ipv4.ip_local_reserved_ports": true,
	"net.ipv4.tcp_keepalive_time": true, "net.ipv4.tcp_fin_timeout": true, "net.ipv4.tcp_keepalive_intvl": true,
	"net.ipv4.tcp_keepalive_probes": true,
}

func unsafeSysctls(p *pod) map[string]bool {
	var out map[string]bool
	for _, s := range oneOrMore(get(p.spec, "securityContext", "sysctls")) {
		if name := text(get(s, "name")); name != "" && !safeSysctls[name] {
			out = addToSet(out, name)
		}
	}
	return out
}

// mountWritable reports whether a mount of a container becomes writable.
func mountWritable(podWas, podIs *pod, was, is raw.Value) bool {
	now := mounts(podIs, is)
	for path, readOnly := range mounts(podWas, was) {
		if still, stays := now[path]; readOnly && stays && !still {
			return true
		}
	}
	return false
}

// mounts returns the mount paths of a container and whether each is read-only. A mount of a
// read-only volume counts as read-only.
func mounts(p *pod, c raw.Value) map[string]bool {
	closed := map[string]bool{}
	for _, v := range oneOrMore(get(p.spec, "volumes")) {
		for _, kind := range v.Keys() {
			source, _ := v.Get(kind)
			fixed := kind == "configMap" || kind == "secret" || kind == "projected" || kind == "downwardAPI"
			if fixed || get(source, "readOnly").IsTrue() {
				closed[text(get(v, "name"))] = true
			}
		}
	}
	out := map[string]bool{}
	for _, m := range oneOrMore(get(c, "volumeMounts")) {
		out[text(get(m, "mountPath"))] = get(m, "readOnly").IsTrue() || closed[text(get(m, "name"))]
	}
	return out
}

// appArmor returns the profile of a container:
// https://kubernetes.io/docs/tutorials/security/apparmor/
func appArmor(p *pod, c raw.Value) string {
	if t := text(get(setting(p, c, "appArmorProfile"), "type")); t != "" {
		return strings.ToLower(t)
	}
	return text(get(p.meta, "annotations", "container.apparmor.security.beta.kubernetes.io/"+text(get(c, "name"))))
}

func seccomp(p *pod, c raw.Value) string {
	if t := text(get(setting(p, c, "seccompProfile"), "type")); t != "" {
		return strings.ToLower(t)
	}
	if t := text(get(p.meta, "annotations", "container.seccomp.security.alpha.kubernetes.io/"+
		text(get(c, "name")))); t != "" {
		return t
	}
	return text(get(p.meta, "annotations", "seccomp.security.alpha.kubernetes.io/pod"))
}

func unconfined(p *pod, c raw.Value) bool {
	return seccomp(p, c) == "unconfined" || appArmor(p, c) == "unconfined"
}

func hasSeccomp(p *pod, c raw.Value) bool {
	s := seccomp(p, c)
	return s != "" && s != "unconfined"
}

func hasAppArmor(p *pod, c raw.Value) bool {
	s := appArmor(p, c)
	return s != "" && s != "unconfined"
}

// looseSELinux reports whether SELinux options lie outside of the baseline level.
func looseSELinux(p *pod, c raw.Value) bool {
	o := setting(p, c, "seLinuxOptions")
	switch text(get(o, "type")) {
	case "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t":
	default:
		return true
	}
	return text(get(o, "user")) != "" || text(get(o, "role")) != ""
}

func procUnmasked(p *pod, c raw.Value) bool { return text(setting(p, c, "procMount")) == "Unmasked" }
