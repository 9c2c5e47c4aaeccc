package risk

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// engineRules returns the rules about policy engines, meshes and network policies that are custom
// resources, and about the objects that OpenShift adds.
func engineRules() []Rule {
	out := slices.Concat(policyEngineRules(), meshRules(), openShiftRules(), releaseRules())
	for i := range out {
		out[i].Security = true
		out[i].Risk = max(out[i].Risk, diff.RiskInPlace)
	}
	return out
}

func policyEngineRules() []Rule {
	kyverno := "https://kyverno.io/docs/policy-types/cluster-policy/"
	gatekeeper := "https://open-policy-agent.github.io/gatekeeper/website/docs/violations/"
	kinds := []string{"ClusterPolicy.kyverno.io", "Policy.kyverno.io", "*Policy.policies.kyverno.io",
		"*.constraints.gatekeeper.sh", "ConstraintTemplate.templates.gatekeeper.sh", "*.mutations.gatekeeper.sh",
		"Config.config.gatekeeper.sh"}
	return []Rule{
		{
			Name: "policy-gone", Source: gatekeeper, Kinds: kinds, Actions: actionsLoss, Risk: diff.RiskDestroy,
			Message: "objects that the policy rejected or changed are admitted as they are",
		},
		{
			Name: "policy-reports-only", Source: kyverno + "validate/", Kinds: kinds, Actions: actionsChange,
			Paths: []string{"spec.validationFailureAction", "spec.validationFailureActionOverrides", "spec.rules",
				"spec.validationActions", "spec.enforcementAction"},
			When:    "it rejected violations, and no longer does",
			holds:   func(l subjectView) bool { return enforces(l.before) && !enforces(l.after) },
			Message: "objects that violate the policy are admitted, and only reported",
		},
		{
			Name: "policy-changes", Source: kyverno, Kinds: kinds, Actions: actionsChange, Paths: []string{"spec"},
			Message: "the policy checks other objects than before, or by other rules, and may admit more",
		},
		{
			Name: "policy-exception", Source: "https://kyverno.io/docs/exceptions/", Actions: actionsPresent,
			Paths:   []string{"spec"},
			Kinds:   []string{"PolicyException.kyverno.io", "PolicyException.policies.kyverno.io"},
			Message: "objects are exempt from policies of the cluster",
		},
	}
}

// enforces reports whether a Kyverno policy or a Gatekeeper constraint rejects what violates it.
func enforces(v raw.Value) bool {
	spec := get(v, "spec")
	if strings.HasSuffix(idOf(v).group, "gatekeeper.sh") || !get(spec, "enforcementAction").IsNull() {
		action := text(get(spec, "enforcementAction"))
		return action == "" || action == "deny" || action == "scoped"
	}
	actions := append(gather(spec, "validationFailureAction", "validationActions"), "")
	for _, rule := range append(oneOrMore(get(spec, "rules")),
		oneOrMore(get(spec, "validationFailureActionOverrides"))...) {
		actions = append(actions, text(get(rule, "validate", "failureAction")), text(get(rule, "action")))
	}
	return slices.ContainsFunc(actions, func(a string) bool { return strings.EqualFold(a, "enforce") || a == "Deny" })
}

func meshRules() []Rule {
	istio := "https://istio.io/latest/docs/reference/config/"
	authz := "AuthorizationPolicy.security.istio.io"
	return []Rule{
		{
			Name: "mesh-policy-gone", Source: istio + "security/authorization-policy/", Actions: actionsLoss,
			Risk: diff.RiskDestroy,
			Kinds: []string{authz, "PeerAuthentication.security.istio.io", "RequestAuthentication.security.istio.io",
				"*.policy.linkerd.io"},
			Message: "calls that it rejected are allowed, or callers are no longer authenticated",
		},
		{
			Name: "mesh-mtls", Source: istio + "security/peer_authentication/",
			Kinds: []string{"PeerAuthentication.security.istio.io"}, Actions: actionsChange, Paths: []string{"spec"},
			When:    "a mode is weaker than before",
			holds:   func(l subjectView) bool { return weakerMTLS(l.before, l.after) },
			Message: "workloads accept unencrypted calls from callers without a proven identity",
		},
		{
			Name: "mesh-policy-widens", Source: istio + "security/authorization-policy/", Actions: actionsChange,
			Paths: []string{"spec"}, Kinds: []string{authz, "RequestAuthentication.security.istio.io"},
			When:    "it allows by a rule that is new, or no longer refuses by one that was there, or is about something else",
			holds:   func(l subjectView) bool { return meshPolicyWidens(l.before, l.after) },
			Message: "calls that were rejected may be allowed",
		},
		{
			Name: "mesh-policy-open", Source: istio + "security/authorization-policy/#Rule", Kinds: []string{authz},
			Actions: actionsPresent, Paths: []string{"spec.rules", "spec.action"},
			When:    "a rule without a condition newly allows all",
			holds:   func(l subjectView) bool { return allowsAllCalls(l.after) && !allowsAllCalls(l.before) },
			Message: "everyone may call the workloads that it selects",
		},
		{
			Name: "mesh-tls-off", Source: istio + "networking/destination-rule/#ClientTLSSettings", Actions: actionsChange,
			Kinds: []string{"DestinationRule.networking.istio.io"}, Paths: []string{"**.tls"},
			When:    "TLS is turned off, or the certificate of the other side is no longer checked",
			holds:   func(l subjectView) bool { return hasNew(plainTLS(l.before), plainTLS(l.after)) },
			Message: "calls of the mesh are unencrypted, or the server is not verified",
		},
		{
			Name: "mesh-egress", Source: istio + "networking/service-entry/", Actions: actionsPresent, Risk: diff.RiskAdditive,
			Kinds:   []string{"ServiceEntry.networking.istio.io", "Sidecar.networking.istio.io"},
			Paths:   []string{"spec.hosts", "spec.endpoints", "spec.outboundTrafficPolicy", "spec.egress"},
			When:    "it has hosts or addresses that are new",
			holds:   func(l subjectView) bool { return hasNew(externalHosts(l.before), externalHosts(l.after)) },
			Message: "workloads of the mesh can reach other hosts, or reach them at other addresses",
		},
		{
			Name: "mesh-filter", Source: istio + "networking/envoy-filter/", Actions: actionsPresent, Paths: []string{"spec"},
			Kinds: []string{"EnvoyFilter.networking.istio.io", "WasmPlugin.extensions.istio.io", "CiliumEnvoyConfig.cilium.io",
				"CiliumClusterwideEnvoyConfig.cilium.io"},
			Message: "the proxies of the mesh get another filter, which can read and change all calls",
		},
		{
			Name: "listener-plain", Source: "https://gateway-api.sigs.k8s.io/guides/tls/", Actions: actionsChange,
			Kinds:   []string{"Gateway.gateway.networking.k8s.io", "Gateway.networking.istio.io"},
			Paths:   []string{"spec.listeners", "spec.servers"},
			When:    "a port is no longer encrypted",
			holds:   func(l subjectView) bool { return losesTLS(l.before, l.after) },
			Message: "traffic on this port is no longer encrypted",
		},
	}
}

// mtlsLevel orders the modes of a PeerAuthentication by strictness. A mode that is not set is
// inherited from a wider scope, where PERMISSIVE is the default.
func mtlsLevel(v raw.Value) int {
	switch text(get(v, "mode")) {
	case "STRICT":
		return 2
	case "DISABLE":
		return 0
	}
	return 1
}

func weakerMTLS(before, after raw.Value) bool {
	was, is := get(before, "spec", "mtls"), get(after, "spec", "mtls")
	if mtlsLevel(is) < mtlsLevel(was) {
		return true
	}
	ports, portsWere := get(after, "spec", "portLevelMtls"), get(before, "spec", "portLevelMtls")
	for _, port := range union(ports.Keys(), portsWere.Keys()) {
		now, before := mtlsLevel(is), mtlsLevel(was)
		if own := get(ports, port); !own.IsNull() {
			now = mtlsLevel(own)
		}
		if own := get(portsWere, port); !own.IsNull() {
			before = mtlsLevel(own)
		}
		if now < before {
			return true
		}
	}
	return false
}

// meshPolicyWidens compares rules as wholes: a changed rule counts as a new one, because its meaning
// is not evaluated.
func meshPolicyWidens(before, after raw.Value) bool {
	was, is := get(before, "spec"), get(after, "spec")
	for _, k := range []string{"selector", "targetRef", "targetRefs", "provider", "jwtRules"} {
		if !get(was, k).Equal(get(is, k)) {
			return true
		}
	}
	action := func(v raw.Value) string { return text(orElse(get(v, "action"), raw.Of("ALLOW"))) }
	rules := func(v raw.Value) map[string]bool { return elements(get(v, "rules")) }
	switch {
	case action(was) != action(is):
		return true
	case action(is) == "DENY":
		return hasNew(rules(is), rules(was))
	case action(is) == "ALLOW":
		return hasNew(rules(was), rules(is))
	}
	return !get(was, "rules").Equal(get(is, "rules"))
}

// elements returns the elements of a list, each as one text.
func elements(list raw.Value) map[string]bool {
	out := map[string]bool{}
	for _, e := range oneOrMore(list) {
		whole, _ := raw.Text(e)
		out[whole] = true
	}
	return out
}

func allowsAllCalls(v raw.Value) bool {
	action := text(get(v, "spec", "action"))
	return (action == "" || action == "ALLOW") && elements(get(v, "spec", "rules"))["{}"]
}

// plainTLS returns the places of a DestinationRule at which TLS is off or verifies nothing.
func plainTLS(v raw.Value) map[string]bool {
	var out map[string]bool
	var visit func(place string, v raw.Value, depth int)
	visit = func(place string, v raw.Value, depth int) {
		if depth == 0 {
			return
		}
		if tls := get(v, "tls"); text(get(tls, "mode")) == "DISABLE" || get(tls, "insecureSkipVerify").IsTrue() {
			out = addToSet(out, place)
		}
		for _, k := range v.Keys() {
			child, _ := v.Get(k)
			visit(place+"/"+k, child, depth-1)
		}
		for i := range v.Len() {
			visit(place+"/"+strconv.Itoa(i), v.At(i), depth-1)
		}
	}
	visit("", get(v, "spec"), maxSearch)
	return out
}

// externalHosts returns the hosts and addresses that a ServiceEntry or a Sidecar lets a mesh reach.
func externalHosts(v raw.Value) map[string]bool {
	var out map[string]bool
	spec := get(v, "spec")
	for _, h := range gather(spec, "hosts", "addresses") {
		out = addToSet(out, h)
	}
	for _, e := range append(oneOrMore(get(spec, "endpoints")), oneOrMore(get(spec, "egress"))...) {
		for _, h := range gather(e, "address", "hosts") {
			out = addToSet(out, h)
		}
	}
	if text(get(spec, "outboundTrafficPolicy", "mode")) == "ALLOW_ANY" {
		out = addToSet(out, "*")
	}
	return out
}

// losesTLS reports whether a port of a gateway was encrypted and no longer is.
func losesTLS(before, after raw.Value) bool {
	secure := func(v raw.Value) map[string]bool {
		out := map[string]bool{}
		for _, l := range oneOrMore(get(v, "spec", "listeners")) {
			p := text(get(l, "protocol"))
			out[text(get(l, "port"))] = p == "HTTPS" || p == "TLS"
		}
		for _, s := range oneOrMore(get(v, "spec", "servers")) {
			p := text(get(s, "port", "protocol"))
			out[text(get(s, "port", "number"))] = (p == "HTTPS" || p == "TLS") && get(s, "tls").IsObject()
		}
		return out
	}
	now := secure(after)
	for port, was := range secure(before) {
		if is, stays := now[port]; was && stays && !is {
			return true
		}
	}
	return false
}

func openShiftRules() []Rule {
	scc := "https://docs.openshift.com/container-platform/latest/authentication/managing-security-context-constraints.html"
	return []Rule{
		{
			Name: "scc-widens", Source: scc, Kinds: []string{"SecurityContextConstraints.security.openshift.io"},
			Actions: actionsPresent,
			When:    "it allows something, or somebody, that it did not",
			holds: func(l subjectView) bool {
				return hasNew(sccAllows(l.before), sccAllows(l.after)) ||
					!l.before.IsNull() && hasNew(textSetOf(get(l.after, "requiredDropCapabilities")),
						textSetOf(get(l.before, "requiredDropCapabilities")))
			},
			Message: "pods may get more rights on the node, or more accounts may start such pods",
		},
		{
			Name:   "cluster-login",
			Source: "https://docs.openshift.com/container-platform/latest/authentication/understanding-authentication.html",
			Kinds: []string{"OAuth.config.openshift.io", "Authentication.config.openshift.io", "Group.user.openshift.io",
				"OAuthClient.oauth.openshift.io"},
			Actions: actionsPresent, Message: "users who can log in to the cluster, or members of a group there, change",
		},
	}
}

// sccAllows returns what a SecurityContextConstraints allows, and to whom.
func sccAllows(v raw.Value) map[string]bool {
	var out map[string]bool
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		if strings.HasPrefix(k, "allow") && child.IsTrue() {
			out = addToSet(out, k)
		}
		if text(get(child, "type")) == "RunAsAny" {
			out = addToSet(out, k)
		}
	}
	for _, k := range []string{"allowedCapabilities", "defaultAddCapabilities", "volumes", "users", "groups",
		"allowedUnsafeSysctls", "seccompProfiles"} {
		for e := range textSetOf(get(v, k)) {
			out = addToSet(out, k+" "+e)
		}
	}
	return out
}
