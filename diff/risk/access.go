package risk

import (
	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const (
	rbacGroup      = ".rbac.authorization.k8s.io"
	openShiftRoles = ".authorization.openshift.io"
)

// reachRules returns the rules about network reachability.
func reachRules() []Rule {
	serviceType := func(v raw.Value) string { return text(get(v, "spec", "type")) }
	exposed := func(t string) bool { return t == "LoadBalancer" || t == "NodePort" }
	policies := []string{"NetworkPolicy.networking.k8s.io"}
	return []Rule{
		{
			Name: "service-exposed", Source: k8sDocs + "concepts/services-networking/service/#publishing-services-service-types",
			Security: true, Kinds: []string{"Service"}, Actions: actionsPresent, Paths: []string{"spec.type"},
			Risk: diff.RiskAdditive,
			When: "its type becomes LoadBalancer or NodePort",
			holds: func(l subjectView) bool {
				was, is := serviceType(l.before), serviceType(l.after)
				return exposed(is) && was != is && (is != "NodePort" || was != "LoadBalancer")
			},
			Message: "the Service can be reached from outside the cluster",
		},
		{
			Name: "service-balancer-gone", Source: k8sDocs + "concepts/services-networking/service/#loadbalancer",
			Kinds: []string{"Service"}, Actions: actionsChange, Paths: []string{"spec.type"}, Risk: diff.RiskDestroy,
			When: "it is no longer a LoadBalancer",
			holds: func(l subjectView) bool {
				return serviceType(l.before) == "LoadBalancer" && serviceType(l.after) != "LoadBalancer"
			},
			Message: "clients lose the load balancer and its address",
		},
		{
			Name: "service-type", Source: k8sDocs + "concepts/services-networking/service/#externalname",
			Kinds: []string{"Service"}, Actions: actionsChange, Paths: []string{"spec.type"}, Risk: diff.RiskReplace,
			When:    "it becomes an ExternalName",
			holds:   func(l subjectView) bool { return serviceType(l.after) == "ExternalName" },
			Message: "the address inside the cluster is released, and the name leads to another host",
		},
		{
			Name: "service-sources", Source: k8sDocs + "concepts/services-networking/service/#loadbalancer", Security: true,
			Kinds: []string{"Service"}, Actions: actionsChange, Paths: []string{"spec.loadBalancerSourceRanges",
				"spec.externalIPs"},
			Risk:    diff.RiskInPlace,
			Message: "the addresses from which, or under which, the Service can be reached change",
		},
		{
			Name: "service-pods", Source: k8sDocs + "concepts/services-networking/service/#defining-a-service",
			Kinds: []string{"Service"}, Actions: actionsChange, Paths: []string{"spec.selector"}, Risk: diff.RiskInPlace,
			Message: "the Service selects other pods; while none matches, clients get no answer",
		},
		{
			Name: "route-appears", Source: k8sDocs + "concepts/services-networking/ingress/", Security: true,
			Actions: actionsCreate,
			Risk:    diff.RiskAdditive, Kinds: routeKinds,
			Message: "services can be reached from outside the cluster under new names",
		},
		{
			Name: "route-hosts", Source: k8sDocs + "concepts/services-networking/ingress/#ingress-rules", Security: true,
			Actions: actionsChange, Kinds: routeKinds, Risk: diff.RiskInPlace,
			Paths: []string{"spec.rules", "spec.hostnames", "spec.listeners", "spec.defaultBackend", "spec.host", "spec.hosts",
				"spec.servers", "spec.routes"},
			When:    "there is a host that was not there before",
			holds:   func(l subjectView) bool { return hasNew(hosts(l.before), hosts(l.after)) },
			Message: "services can be reached from outside the cluster under new names",
		},
		{
			Name: "route-tls-gone", Source: k8sDocs + "concepts/services-networking/ingress/#tls", Security: true,
			Actions: actionsChange,
			Kinds:   []string{"Ingress.networking.k8s.io", "Route.route.openshift.io", "IngressRoute*.traefik.io"},
			Paths:   []string{"spec.tls"}, Risk: diff.RiskInPlace, When: "none remains, or requests without TLS are allowed",
			holds: func(l subjectView) bool {
				was, is := get(l.before, "spec", "tls"), get(l.after, "spec", "tls")
				tls := func(v raw.Value) bool { return v.Len() > 0 || v.IsObject() }
				return tls(was) && (!tls(is) || edgeOpen(is) && !edgeOpen(was))
			},
			Message: "traffic from outside is no longer encrypted",
		},
		{
			Name: "network-policy-widens", Source: k8sDocs + "concepts/services-networking/network-policies/", Security: true,
			Kinds: policies, Actions: actionsChange, Paths: []string{"spec.ingress", "spec.egress", "spec.policyTypes"},
			Risk: diff.RiskInPlace, When: "it lets through more than before",
			holds:   func(l subjectView) bool { return networkPolicyWidens(l.before, l.after) },
			Message: "pods may send or receive traffic that was blocked",
		},
		{
			Name: "network-policy-pods", Source: k8sDocs +
				"concepts/services-networking/network-policies/#networkpolicy-resource",
			Security: true, Kinds: policies, Actions: actionsChange, Paths: []string{"spec.podSelector"}, Risk: diff.RiskInPlace,
			Message: "the policy selects other pods: those that it no longer selects may be open",
		},
	}
}

// hosts returns the names under which a route can be reached. The empty name stands for a rule
// without a host, which serves every name.
func hosts(v raw.Value) map[string]bool {
	out := textSetOf(get(v, "spec", "hostnames"))
	for _, list := range []struct{ key, host string }{{"rules", "host"}, {"listeners", "hostname"}} {
		for _, e := range oneOrMore(get(v, "spec", list.key)) {
			if list.key == "rules" && !get(e, "matches").IsNull() {
				continue // a rule of a Gateway route has no host
			}
			out = addToSet(out, text(get(e, list.host)))
		}
	}
	if !get(v, "spec", "defaultBackend").IsNull() {
		out = addToSet(out, "")
	}
	for _, h := range gather(get(v, "spec"), "host", "hosts") {
		out = addToSet(out, h)
	}
	for _, s := range oneOrMore(get(v, "spec", "servers")) {
		for _, h := range gather(s, "hosts") {
			out = addToSet(out, h)
		}
	}
	for _, r := range oneOrMore(get(v, "spec", "routes")) {
		for _, match := range gather(r, "match") {
			out = addToSet(out, match)
		}
	}
	return out
}

// edgeOpen reports whether an OpenShift Route also accepts requests without TLS.
func edgeOpen(tls raw.Value) bool { return text(get(tls, "insecureEdgeTerminationPolicy")) == "Allow" }

// rightsRules returns the rules about who may do what.
func rightsRules() []Rule {
	roles := []string{"Role" + rbacGroup, "ClusterRole" + rbacGroup, "Role" + openShiftRoles,
		"ClusterRole" + openShiftRoles}
	bindings := []string{"RoleBinding" + rbacGroup, "ClusterRoleBinding" + rbacGroup, "RoleBinding" + openShiftRoles,
		"ClusterRoleBinding" + openShiftRoles}
	rbac := k8sDocs + "reference/access-authn-authz/rbac/"
	admin := func(v raw.Value) bool { return text(get(v, "roleRef", "name")) == "cluster-admin" }
	return []Rule{
		{
			Name: "role-widens", Source: rbac, Security: true, Kinds: roles, Actions: actionsPresent, Paths: []string{"rules"},
			Risk:  diff.RiskAdditive,
			When:  "its rules allow something that they did not",
			holds: func(l subjectView) bool { return roleWidens(l.before, l.after) }, details: roleGains,
			Message: "the role allows more than before",
		},
		{
			Name: "role-aggregated-into", Source: rbac + "#aggregated-clusterroles", Security: true, Actions: actionsPresent,
			Kinds: []string{"ClusterRole" + rbacGroup}, Paths: []string{"metadata.labels"}, Risk: diff.RiskInPlace,
			When:    "a label aggregate-to-… is new",
			holds:   func(l subjectView) bool { return hasNew(aggregates(l.before), aggregates(l.after)) },
			Message: "its rules are added to a cluster role (usually view, edit or admin), and so to everyone who has that",
		},
		{
			Name: "role-powerful", Source: k8sDocs + "concepts/security/rbac-good-practices/", Security: true, Kinds: roles,
			Actions: actionsPresent, Paths: []string{"rules"}, Risk: diff.RiskInPlace,
			When:    "it newly allows every verb or resource, or to escalate, bind or impersonate",
			holds:   func(l subjectView) bool { return roleAll(l.before, l.after) },
			Message: "the role has wildcards, or rights that allow it to get all others",
		},
		{
			Name: "role-aggregates", Source: rbac + "#aggregated-clusterroles", Security: true, Kinds: roles[1:2],
			Actions: actionsPresent, Paths: []string{"aggregationRule"}, Risk: diff.RiskInPlace, When: "it gathers other roles",
			holds:   func(l subjectView) bool { return get(l.after, "aggregationRule").IsObject() },
			Message: "the role gets the rules of all roles with certain labels, including future ones",
		},
		{
			Name: "binding-subjects", Source: rbac + "#rolebinding-and-clusterrolebinding", Security: true, Kinds: bindings,
			Actions: actionsPresent, Paths: []string{"subjects"}, Risk: diff.RiskAdditive,
			When:    "it is for someone that it was not for",
			holds:   func(l subjectView) bool { return hasNew(subjects(l.before), subjects(l.after)) },
			Message: "more users, groups or service accounts get the role",
		},
		{
			Name: "binding-cluster-admin", Source: rbac + "#user-facing-roles", Security: true, Kinds: bindings,
			Actions: actionsPresent, Paths: []string{"subjects", "roleRef"}, Risk: diff.RiskInPlace,
			When: "the role is cluster-admin, and someone gets it newly",
			holds: func(l subjectView) bool {
				return admin(l.after) && (!admin(l.before) || hasNew(subjects(l.before), subjects(l.after)))
			},
			Message: "the subjects may do everything in the cluster",
		},
		{
			Name: "binding-everyone", Source: k8sDocs + "concepts/security/rbac-good-practices/", Security: true,
			Kinds:   bindings,
			Actions: actionsPresent, Paths: []string{"subjects"}, Risk: diff.RiskInPlace,
			When:    "a subject is everyone who is logged in, or who is not",
			holds:   func(l subjectView) bool { return everyoneSubject(l.before, l.after) },
			Message: "everyone who can reach the API gets the role",
		},
		{
			Name:     "account-token",
			Source:   k8sDocs + "tasks/configure-pod-container/configure-service-account/#opt-out-of-api-credential-automounting",
			Security: true, Kinds: append([]string{"ServiceAccount"}, workloads...), Actions: actionsChange,
			Paths: []string{"automountServiceAccountToken", "spec.automountServiceAccountToken",
				"spec.template.spec.automountServiceAccountToken",
				"spec.jobTemplate.spec.template.spec.automountServiceAccountToken"},
			Risk: diff.RiskInPlace, When: "it is no longer off",
			matches: onDifference(func(f field) bool { return isFalse(f.Before) && !isFalse(f.After) }),
			Message: "pods get a token for the API of the cluster",
		},
	}
}
