package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// podInputRules returns the rules about what pods take in from elsewhere: code, tokens, secrets,
// addresses.
func podInputRules() []Rule {
	volumes := k8sDocs + "concepts/storage/volumes/"
	rules := ofPods([]Rule{
		{
			Name: "pod-code-variable", Source: "https://man7.org/linux/man-pages/man8/ld.so.8.html", Paths: []string{"**.env"},
			When: "a variable newly makes programs load code: LD_PRELOAD, BASH_ENV, PYTHONSTARTUP, -javaagent in " +
				"JAVA_TOOL_OPTIONS and the like",
			holds:   gains(codeVariables),
			Message: "programs in a container load code from the location in this variable before their own",
		},
		{
			Name: "pod-token", Source: k8sDocs + "concepts/storage/projected-volumes/#serviceaccounttoken",
			Actions: actionsChange,
			Paths:   []string{"**.volumes"},
			When:    "a volume has a token of the account for an audience that no volume had one for",
			holds:   gains(projectedTokens),
			Message: "pods get a token of their account, which identifies them to other systems",
		},
		{
			Name: "pod-secret", Source: k8sDocs + "concepts/configuration/secret/#using-a-secret", Actions: actionsChange,
			Paths: []string{"**.volumes", "**.env", "**.envFrom", "**.containers", "**.initContainers"},
			When:  "pods read a Secret that they did not read", holds: gains(podSecrets), prefers: citesSecret,
			Message: "pods read a Secret that they did not read before",
		},
		{
			Name:    "pod-vault-secret",
			Source:  "https://developer.hashicorp.com/vault/docs/deploy/kubernetes/injector/annotations",
			Paths:   []string{"**.annotations"},
			When:    "annotations request another role or secret from the Vault agent",
			holds:   gains(vaultSecrets),
			Message: "pods get other secrets from Vault, or with another role",
		},
		{
			Name: "pod-volume-driver", Source: volumes + "#gitrepo", Paths: []string{"**.volumes"},
			When:    "a volume is newly filled by gitRepo or by a FlexVolume",
			holds:   gains(volumesOf("gitRepo", "flexVolume")),
			Message: "a program on the node fills the volume from a repository or a driver, with the rights of the node",
		},
		{
			Name: "pod-image-volume", Source: volumes + "#image", Actions: actionsChange, Paths: []string{"**.volumes"},
			When: "an image is mounted that was not", holds: gains(imageVolumes),
			Message: "containers can read the files of another image",
		},
		{
			Name: "pod-host-aliases", Source: k8sDocs + "tasks/network/customize-hosts-file-for-pods/",
			Paths: []string{"**.hostAliases"},
			When:  "a name gets another address", holds: gains(hostAliases),
			Message: "pods reach another address under this name, regardless of DNS",
		},
		{
			Name: "pod-dns", Source: k8sDocs + "concepts/services-networking/dns-pod-service/#pod-dns-config",
			Paths: []string{"**.dnsConfig"},
			When:  "there is a name server or a search domain that was not there", holds: gains(nameServers),
			Message: "pods use another name server",
		},
		{
			Name: "pod-sidecar", Source: "https://istio.io/latest/docs/reference/config/annotations/",
			Paths: []string{"**.annotations"},
			When: "an annotation newly gives the proxy of a mesh another image, volumes or configuration, or the runtime of " +
				"the node other options",
			holds:   gains(sidecarSettings),
			Message: "an annotation changes the injected sidecar, or how containers run",
		},
	})
	return secured(rules)
}

// podPlaceRules returns the rules about the nodes and runtimes of pods.
func podPlaceRules() []Rule {
	return secured(ofPods([]Rule{
		{
			Name: "pod-node", Source: k8sDocs + "concepts/scheduling-eviction/assign-pod-node/#nodename",
			Paths: []string{"**.nodeName"},
			When:  "pods are put on a node by its name", holds: gains(nodeNames),
			Message: "the pods run on this node, regardless of the scheduler and of taints",
		},
		{
			Name:    "pod-control-plane",
			Source:  k8sDocs + "reference/labels-annotations-taints/#node-role-kubernetes-io-control-plane-taint",
			Actions: actionsChange,
			Paths:   []string{"**.tolerations", "**.nodeSelector", "**.nodeAffinity"},
			When:    "pods newly tolerate the taint of the control plane, or all taints, or select its nodes",
			holds:   gains(controlPlane),
			Message: "the pods may run on the nodes of the control plane",
		},
		{
			Name: "pod-runtime", Source: k8sDocs + "concepts/containers/runtime-class/", Actions: actionsChange,
			Paths: []string{"**.runtimeClassName"},
			When:  "the pods get another runtime class, or none", holds: runtimeChanges,
			Message: "the containers get another runtime, which may isolate them less",
		},
		{
			Name: "pod-root-group", Source: k8sDocs + "tasks/configure-pod-container/security-context/",
			Paths: []string{"**.runAsGroup", "**.supplementalGroups"},
			When:  "a container newly runs with group 0", holds: gains(rootGroups),
			Message: "a container has the rights of the group root on files",
		},
		{
			Name: "mount-propagation", Source: k8sDocs + "concepts/storage/volumes/#mount-propagation", Actions: actionsChange,
			Paths: []string{"**.volumeMounts"}, When: "a mount is newly propagated to the node", holds: gains(propagations),
			Message: "mounts of the container appear on the node, and in other pods there",
		},
	}))
}

func secured(rules []Rule) []Rule {
	for i := range rules {
		rules[i].Security, rules[i].Risk = true, diff.RiskInPlace
	}
	return rules
}

// codeVariable maps environment variables that make programs load code to the parts of the value
// that cause this; nil means that any value does.
var codeVariable = map[string][]string{
	"LD_PRELOAD": nil, "LD_AUDIT": nil, "BASH_ENV": nil, "PROMPT_COMMAND": nil, "PYTHONSTARTUP": nil, "PYTHONHOME": nil,
	"PERL5OPT": nil, "PERL5DB": nil, "RUBYOPT": nil, "LUA_INIT": nil, "GIT_SSH_COMMAND": nil, "GIT_EXTERNAL_DIFF": nil,
	"PHP_INI_SCAN_DIR": nil, "COR_PROFILER_PATH": nil, "CORECLR_PROFILER_PATH": nil, "DOTNET_STARTUP_HOOKS": nil,
	"GCONV_PATH": nil, "OPENSSL_CONF": nil, "JAVA_TOOL_OPTIONS": javaCode, "_JAVA_OPTIONS": javaCode,
	"JDK_JAVA_OPTIONS": javaCode, "JAVA_OPTS": javaCode,
	"NODE_OPTIONS": {"-r ", "--require", "--import", "--loader", "--experimental-loader", "--inspect"},
}

var javaCode = []string{"-javaagent", "-agentpath", "-agentlib", "-Xrun", "-XX:OnError", "-XX:OnOutOfMemoryError",
	"-Xbootclasspath", "@"}

func codeVariables(p *pod) map[string]bool {
	var out map[string]bool
	for name, c := range p.containers {
		for _, e := range oneOrMore(get(c, "env")) {
			parts, known := codeVariable[text(get(e, "name"))]
			value := text(get(e, "value"))
			if known && (parts == nil ||
				slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(value, part) })) {
				whole, _ := raw.Text(e)
				out = addToSet(out, name+" "+whole)
			}
		}
	}
	return out
}

// sources returns the volumes of a pod, and each source of a projected volume separately.
func sources(p *pod) []raw.Value {
	var out []raw.Value
	for _, v := range oneOrMore(get(p.spec, "volumes")) {
		out = append(out, v)
		out = append(out, oneOrMore(get(v, "projected", "sources"))...)
	}
	return out
}

func projectedTokens(p *pod) map[string]bool {
	var out map[string]bool
	for _, s := range sources(p) {
		if t := get(s, "serviceAccountToken"); t.IsObject() {
			out = addToSet(out, text(get(t, "audience")))
		}
	}
	return out
}

// podSecrets returns the Secrets that a pod reads.
func podSecrets(p *pod) map[string]bool {
	var out map[string]bool
	add := func(name raw.Value) {
		if n := text(name); n != "" {
			out = addToSet(out, n)
		}
	}
	for _, s := range sources(p) {
		add(get(s, "secret", "secretName"))
		add(get(s, "secret", "name"))
		add(get(s, "csi", "nodePublishSecretRef", "name"))
		add(get(s, "csi", "volumeAttributes", "secretProviderClass"))
	}
	for _, c := range p.containers {
		for _, e := range oneOrMore(get(c, "envFrom")) {
			add(get(e, "secretRef", "name"))
		}
		for _, e := range oneOrMore(get(c, "env")) {
			add(get(e, "valueFrom", "secretKeyRef", "name"))
		}
	}
	return out
}

// citesSecret prefers the differences that name a Secret that the pods newly read.
func citesSecret(l subjectView) func(Difference) bool {
	was, is := facts(podSecrets).of(l.podsBefore), facts(podSecrets).of(l.podsAfter)
	names := map[string]bool{}
	for fact := range is {
		if !was[fact] {
			names[fact[strings.LastIndexByte(fact, ' ')+1:]] = true
		}
	}
	return func(t Difference) bool {
		return !raw.Leaves(t.After, func(text string, isKey bool) bool { return isKey || !names[text] })
	}
}

// annotationsOf returns the annotations of a pod whose keys satisfy wanted, with their values.
func annotationsOf(p *pod, wanted func(key string) bool) map[string]bool {
	var out map[string]bool
	annotations := get(p.meta, "annotations")
	for _, k := range annotations.Keys() {
		if wanted(k) {
			out = addToSet(out, k+" "+text(get(annotations, k)))
		}
	}
	return out
}

func vaultSecrets(p *pod) map[string]bool {
	return annotationsOf(p, func(k string) bool {
		name, ok := strings.CutPrefix(k, "vault.hashicorp.com/")
		if !ok {
			return false
		}
		for _, asks := range []string{"role", "namespace", "service", "auth-path", "auth-type", "auth-config",
			"agent-inject-secret", "agent-inject-template", "agent-inject-command", "agent-configmap", "agent-image"} {
			if strings.HasPrefix(name, asks) {
				return true
			}
		}
		return false
	})
}

// sidecarKeys lists prefixes of annotations that change injected sidecars or the runtime.
var sidecarKeys = []string{
	"sidecar.istio.io/userVolume", "sidecar.istio.io/proxyImage", "sidecar.istio.io/bootstrapOverride", "inject.istio.io/",
	"proxy.istio.io/overrides", "dapr.io/sidecar-image", "dapr.io/volume-mounts", "config.linkerd.io/proxy-image",
	"config.linkerd.io/init-image", "config.linkerd.io/debug-image", "io.katacontainers.config", "io.kubernetes.cri-o",
	"k8s.v1.cni.cncf.io/networks", "run.oci.", "instrumentation.opentelemetry.io/inject-",
}

func sidecarSettings(p *pod) map[string]bool {
	return annotationsOf(p, func(k string) bool {
		return slices.ContainsFunc(sidecarKeys, func(key string) bool { return strings.HasPrefix(k, key) })
	})
}

// volumesOf returns facts about the volumes that have one of the given sources; each fact contains
// the full source.
func volumesOf(kinds ...string) facts {
	return func(p *pod) map[string]bool {
		var out map[string]bool
		for _, v := range oneOrMore(get(p.spec, "volumes")) {
			for _, kind := range kinds {
				if source := get(v, kind); source.IsObject() {
					whole, _ := raw.Text(source)
					out = addToSet(out, kind+" "+whole)
				}
			}
		}
		return out
	}
}

func imageVolumes(p *pod) map[string]bool {
	var out map[string]bool
	for _, v := range oneOrMore(get(p.spec, "volumes")) {
		if image := text(get(v, "image", "reference")); image != "" {
			out = addToSet(out, repository(image))
		}
	}
	return out
}

func hostAliases(p *pod) map[string]bool {
	var out map[string]bool
	for _, a := range oneOrMore(get(p.spec, "hostAliases")) {
		for name := range textSetOf(get(a, "hostnames")) {
			out = addToSet(out, name+" "+text(get(a, "ip")))
		}
	}
	return out
}

func nameServers(p *pod) map[string]bool {
	var out map[string]bool
	for _, k := range []string{"nameservers", "searches"} {
		for server := range textSetOf(get(p.spec, "dnsConfig", k)) {
			out = addToSet(out, k+" "+server)
		}
	}
	return out
}

func nodeNames(p *pod) map[string]bool {
	if n := text(get(p.spec, "nodeName")); n != "" {
		return map[string]bool{n: true}
	}
	return nil
}

// controlPlane returns the ways in which pods can reach nodes of the control plane.
func controlPlane(p *pod) map[string]bool {
	var out map[string]bool
	role := func(key string) bool {
		r, ok := strings.CutPrefix(key, "node-role.kubernetes.io/")
		return ok && (r == "control-plane" || r == "master" || r == "etcd" || r == "controlplane")
	}
	for _, t := range oneOrMore(get(p.spec, "tolerations")) {
		key, effect := text(get(t, "key")), text(get(t, "effect"))
		if role(key) || key == "" && text(get(t, "operator")) == "Exists" && effect != "PreferNoSchedule" {
			out = addToSet(out, "tolerates "+effect)
		}
	}
	for _, k := range get(p.spec, "nodeSelector").Keys() {
		if role(k) {
			out = addToSet(out, "selects")
		}
	}
	required := get(p.spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
		"nodeSelectorTerms")
	for _, term := range oneOrMore(required) {
		for _, e := range oneOrMore(get(term, "matchExpressions")) {
			if op := text(get(e, "operator")); role(text(get(e, "key"))) && (op == "Exists" || op == "In") {
				out = addToSet(out, "selects")
			}
		}
	}
	return out
}

// runtimeChanges reports whether existing pods get another runtime class, or none.
func runtimeChanges(l subjectView) bool {
	class := facts(func(p *pod) map[string]bool { return map[string]bool{text(get(p.spec, "runtimeClassName")): true} })
	return len(l.podsBefore) > 0 && hasNew(class.of(l.podsBefore), class.of(l.podsAfter))
}

func rootGroups(p *pod) map[string]bool {
	out := perContainer(func(p *pod, c raw.Value) bool { return text(setting(p, c, "runAsGroup")) == "0" })(p)
	for group := range textSetOf(get(p.spec, "securityContext", "supplementalGroups")) {
		if group == "0" {
			out = addToSet(out, "supplemental")
		}
	}
	return out
}

func propagations(p *pod) map[string]bool {
	var out map[string]bool
	for name, c := range p.containers {
		for _, m := range oneOrMore(get(c, "volumeMounts")) {
			if text(get(m, "mountPropagation")) == "Bidirectional" {
				out = addToSet(out, name+" "+text(get(m, "mountPath")))
			}
		}
	}
	return out
}
