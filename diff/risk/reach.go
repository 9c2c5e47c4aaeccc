package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// routeKinds lists the kinds that route requests from outside to services.
var routeKinds = []string{"Ingress.networking.k8s.io", "Ingress.extensions", "Gateway.gateway.networking.k8s.io",
	"*Route.gateway.networking.k8s.io", "Route.route.openshift.io", "VirtualService.networking.istio.io",
	"Gateway.networking.istio.io", "IngressRoute*.traefik.io"}

// annotationRules returns the rules about annotations by which the controllers of load balancers and
// routes control access.
func annotationRules() []Rule {
	nginx := "https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/"
	ingress := append([]string{"Service"}, routeKinds...)
	at := []string{"metadata.annotations"}
	rules := []Rule{
		{
			Name: "internet-facing", Kinds: ingress, Actions: actionsChange, Paths: at, Risk: diff.RiskInPlace,
			Source: k8sDocs + "concepts/services-networking/service/#internal-load-balancer",
			When:   "it is no longer internal, or is set to internet-facing",
			holds: func(l subjectView) bool {
				was, is := balancerScheme(l.before), balancerScheme(l.after)
				return was == "internal" && is != "internal" || is == "public" && was != "public"
			},
			Message: "the load balancer gets an address that can be reached from the internet",
		},
		{
			Name: "route-auth-gone", Source: nginx + "#authentication", Kinds: ingress, Actions: actionsChange, Paths: at,
			Risk:    diff.RiskInPlace,
			When:    "an annotation that requires authentication is removed",
			holds:   func(l subjectView) bool { return hasNew(authSettings(l.after, false), authSettings(l.before, false)) },
			Message: "requests no longer need the authentication that was required",
		},
		{
			Name: "route-auth-changes", Source: nginx + "#external-authentication", Kinds: ingress, Actions: actionsChange,
			Paths: at,
			Risk:  diff.RiskInPlace, When: "an annotation that asks for authentication has another value",
			holds: func(l subjectView) bool {
				return !hasNew(authSettings(l.after, false), authSettings(l.before, false)) &&
					hasNew(authSettings(l.after, true), authSettings(l.before, true))
			},
			Message: "another service decides which requests are allowed",
		},
		{
			Name: "route-sources-widen", Source: nginx + "#whitelist-source-range", Kinds: ingress, Actions: actionsChange,
			Paths: at,
			Risk:  diff.RiskInPlace, When: "a list of allowed addresses is removed or larger, or one of denied addresses " +
				"is smaller",
			holds:   func(l subjectView) bool { return sourcesWiden(l.before, l.after) },
			Message: "requests from more addresses are allowed",
		},
		{
			Name: "route-snippet", Source: nginx + "#configuration-snippet", Kinds: ingress, Actions: actionsPresent, Paths: at,
			Risk:  diff.RiskInPlace,
			When:  "there is a snippet that was not there before",
			holds: func(l subjectView) bool { return hasNew(snippets(l.before), snippets(l.after)) },
			Message: "custom configuration is added to the ingress controller, which also serves others and reads their " +
				"certificates",
		},
		{
			Name: "route-plain", Source: nginx + "#server-side-https-enforcement-through-redirect", Kinds: ingress,
			Actions: actionsChange, Paths: at, Risk: diff.RiskInPlace,
			When:    "a redirect to HTTPS is turned off, or requests are no longer forwarded by HTTPS",
			holds:   func(l subjectView) bool { return hasNew(encrypted(l.after), encrypted(l.before)) },
			Message: "requests may be unencrypted",
		},
		{
			Name: "route-led-away", Source: nginx + "#mirror", Kinds: ingress, Actions: actionsPresent, Paths: at,
			Risk:    diff.RiskInPlace,
			When:    "an annotation newly copies requests to another place, or leads them there",
			holds:   func(l subjectView) bool { return hasNew(redirects(l.before), redirects(l.after)) },
			Message: "requests are copied or redirected to another host, which then receives their content",
		},
		{
			Name: "route-checks-less", Source: nginx + "#modsecurity", Kinds: ingress, Actions: actionsChange, Paths: at,
			Risk:    diff.RiskInPlace,
			When:    "a request firewall is turned off or removed, or one of several checks now suffices",
			holds:   func(l subjectView) bool { return hasNew(requestChecks(l.after), requestChecks(l.before)) },
			Message: "requests are allowed without checks that applied before",
		},
		{
			Name: "middleware-changes", Source: "https://doc.traefik.io/traefik/middlewares/http/overview/",
			Actions: actionsExisting,
			Kinds:   []string{"Middleware.traefik.io", "Middleware.traefik.containo.us"}, Risk: diff.RiskInPlace,
			Paths:   []string{"spec.basicAuth", "spec.digestAuth", "spec.forwardAuth", "spec.ipAllowList", "spec.ipWhiteList"},
			Message: "requests are checked differently, or no longer",
		},
	}
	for i := range rules {
		rules[i].Security = true
	}
	return rules
}

// eachAnnotation calls visit for each annotation of an object, with the key split at its last slash.
func eachAnnotation(v raw.Value, visit func(prefix, name, value string)) {
	annotations := get(v, "metadata", "annotations")
	for _, k := range annotations.Keys() {
		prefix, name := "", k
		if i := strings.LastIndex(k, "/"); i >= 0 {
			prefix, name = k[:i], k[i+1:]
		}
		if value := text(get(annotations, k)); value != "" {
			visit(prefix, name, value)
		}
	}
}

// balancerScheme returns "internal", "public", or the empty string where no annotation sets it.
func balancerScheme(v raw.Value) string {
	out := ""
	eachAnnotation(v, func(prefix, name, value string) {
		switch name {
		case "aws-load-balancer-scheme", "scheme", "load-balancer-scheme":
			switch value {
			case "internal":
				out = "internal"
			case "internet-facing":
				out = "public"
			}
		case "aws-load-balancer-internal", "azure-load-balancer-internal", "openstack-internal-load-balancer",
			"oci-load-balancer-internal":
			if value != "false" {
				out = "internal"
			}
		case "load-balancer-type":
			if strings.EqualFold(value, "internal") && !strings.HasPrefix(prefix, "load-balancer.hetzner") {
				out = "internal"
			}
		case "ingress.class":
			if value == "gce-internal" {
				out = "internal"
			}
		}
	})
	return out
}

// authSettings returns the annotations that require authentication, with values also their values.
func authSettings(v raw.Value, values bool) map[string]bool {
	var out map[string]bool
	eachAnnotation(v, func(prefix, name, value string) {
		switch name {
		case "auth-type", "auth-url", "auth-signin", "auth-secret", "auth-tls-secret", "auth-tls-verify-client",
			"basic-auth-secret", "jwt-key", "mutual-authentication", "router.middlewares", "auth-trust-headers":
		case "plugins":
			if prefix != "konghq.com" {
				return
			}
		default:
			return
		}
		if value == "none" || value == "off" || value == "false" {
			return
		}
		// Each middleware in a list is a setting, so that losing one of them counts.
		for _, part := range strings.Split(value, ",") {
			key := prefix + "/" + name
			if values || name == "plugins" || name == "router.middlewares" {
				key += " " + strings.TrimSpace(part)
			}
			out = addToSet(out, key)
		}
	})
	return out
}

// sourcesWiden reports whether annotations admit requests from more addresses.
func sourcesWiden(before, after raw.Value) bool {
	lists := func(v raw.Value) (allowed, refused map[string][]string) {
		allowed, refused = map[string][]string{}, map[string][]string{}
		eachAnnotation(v, func(prefix, name, value string) {
			var sources []string
			for _, s := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
				sources = append(sources, source(s))
			}
			switch name {
			case "whitelist-source-range", "allowlist-source-range", "inbound-cidrs", "allow-list", "whitelist",
				"ip_whitelist", "ip_allowlist", "load-balancer-source-ranges", "azure-allowed-ip-ranges":
				// The names changed over time; all stand for the same list.
				allowed[prefix] = append(allowed[prefix], sources...)
			case "denylist-source-range", "deny-list", "blacklist":
				refused[prefix] = append(refused[prefix], sources...)
			}
		})
		return allowed, refused
	}
	allowed, refused := lists(before)
	allowedNow, refusedNow := lists(after)
	for prefix, list := range allowed {
		if len(allowedNow[prefix]) == 0 || !coveredSources(allowedNow[prefix], list) {
			return true
		}
	}
	for prefix, list := range refused {
		if !coveredSources(list, refusedNow[prefix]) {
			return true
		}
	}
	return false
}

// coveredSources reports whether each inner network is contained in one of the outer networks.
func coveredSources(inner, outer []string) bool {
	if len(inner)*len(outer) > maxCompared {
		return false
	}
	for _, i := range inner {
		if !slices.ContainsFunc(outer, func(o string) bool { return sourceCovers(o, i) }) {
			return false
		}
	}
	return true
}

// redirects returns the annotations that mirror or redirect requests to another place, with their
// values.
func redirects(v raw.Value) map[string]bool {
	var out map[string]bool
	eachAnnotation(v, func(prefix, name, value string) {
		switch name {
		case "mirror-target", "mirror-host", "permanent-redirect", "temporal-redirect", "upstream-vhost", "default-backend",
			"server-alias", "proxy-redirect-to":
			out = addToSet(out, prefix+"/"+name+" "+value)
		}
	})
	return out
}

// requestChecks returns the checks of requests that annotations turn on.
func requestChecks(v raw.Value) map[string]bool {
	out := map[string]bool{"satisfy": true, "global": true} // on unless an annotation turns them off
	eachAnnotation(v, func(prefix, name, value string) {
		switch name {
		case "satisfy":
			if value == "any" {
				delete(out, "satisfy")
			}
		case "enable-global-auth":
			if value == "false" {
				delete(out, "global")
			}
		case "enable-modsecurity", "enable-owasp-core-rules", "proxy-ssl-verify":
			if value == "true" || value == "on" {
				out[name] = true
			}
		case "wafv2-acl-arn", "waf-acl-id", "web-acl-id", "shield-advanced-protection", "security-policy", "limit-rps",
			"limit-rpm", "limit-connections", "wafv2-acl-name":
			if value != "false" && value != "none" {
				out[prefix+"/"+name] = true
			}
		}
	})
	return out
}

func snippets(v raw.Value) map[string]bool {
	var out map[string]bool
	eachAnnotation(v, func(prefix, name, value string) {
		if strings.HasSuffix(name, "-snippet") || strings.HasSuffix(name, "-snippets") {
			out = addToSet(out, prefix+"/"+name+" "+value)
		}
	})
	return out
}

// encrypted returns the settings for encryption that annotations turn on.
func encrypted(v raw.Value) map[string]bool {
	out := map[string]bool{}
	// A redirect is on unless an annotation turns it off.
	out["ssl-redirect"] = true
	eachAnnotation(v, func(_, name, value string) {
		switch name {
		case "ssl-redirect":
			if value == "false" {
				delete(out, name)
			}
		case "force-ssl-redirect":
			if value == "true" {
				out[name] = true
			}
		case "aws-load-balancer-ssl-cert", "certificate-arn":
			out[name] = true
		case "backend-protocol":
			if value == "HTTPS" || value == "GRPCS" {
				out[name] = true
			}
		}
	})
	return out
}

// clusterServiceRules returns the rules about the targets and ports of a Service.
func clusterServiceRules() []Rule {
	service := k8sDocs + "concepts/services-networking/service/"
	return []Rule{
		{
			Name: "service-external-name", Source: service + "#externalname", Security: true, Kinds: []string{"Service"},
			Actions: actionsPresent, Paths: []string{"spec.externalName"}, Risk: diff.RiskInPlace,
			When: "the name is another one",
			holds: func(l subjectView) bool {
				name := text(get(l.after, "spec", "externalName"))
				return name != "" && name != text(get(l.before, "spec", "externalName"))
			},
			Message: "clients of the Service are sent to another host, which then receives their requests",
		},
		{
			Name: "endpoints-by-hand", Source: service + "#services-without-selectors", Security: true, Actions: actionsPresent,
			Kinds: []string{"Endpoints", "EndpointSlice.discovery.k8s.io"}, Paths: []string{"subsets", "endpoints"},
			Risk:    diff.RiskInPlace,
			When:    "there is an address that was not there before",
			holds:   func(l subjectView) bool { return hasNew(addresses(l.before), addresses(l.after)) },
			Message: "clients of the Service are sent to other addresses, which then receive their requests",
		},
		{
			Name: "service-port-exposed", Source: service + "#publishing-services-service-types", Security: true,
			Kinds: []string{"Service"}, Actions: actionsChange, Paths: []string{"spec.ports"}, Risk: diff.RiskInPlace,
			When: "it is a LoadBalancer or NodePort with a port that it did not have",
			holds: func(l subjectView) bool {
				t := text(get(l.after, "spec", "type"))
				return (t == "LoadBalancer" || t == "NodePort") && hasNew(servicePorts(l.before), servicePorts(l.after))
			},
			Message: "one more port can be reached from outside the cluster",
		},
		{
			Name: "route-backend", Source: k8sDocs + "concepts/services-networking/ingress/#resource-backend", Kinds: routeKinds,
			Actions: actionsChange,
			Paths: []string{"spec.rules", "spec.defaultBackend", "spec.to", "spec.alternateBackends", "spec.http", "spec.tcp",
				"spec.tls", "spec.routes"},
			Risk: diff.RiskInPlace, When: "it leads to a service that it did not lead to",
			holds:   func(l subjectView) bool { return hasNew(backends(l.before), backends(l.after)) },
			Message: "requests from outside are sent to another service",
		},
		{
			Name: "service-port-gone", Source: service + "#multi-port-services", Kinds: []string{"Service"},
			Actions: actionsChange,
			Paths:   []string{"spec.ports"}, Risk: diff.RiskInPlace, When: "a port is removed",
			holds:   func(l subjectView) bool { return hasNew(servicePorts(l.after), servicePorts(l.before)) },
			Message: "clients of this port no longer get an answer",
		},
	}
}

// backends returns the services that a route leads to, wherever it names them.
func backends(v raw.Value) map[string]bool {
	var out map[string]bool
	fieldsIn(get(v, "spec"), maxSearch, func(k string, child raw.Value) bool {
		switch {
		case child.IsList() && (k == "backendRefs" || k == "services" || k == "alternateBackends"):
			for _, b := range oneOrMore(child) {
				out = addToSet(out, text(get(b, "namespace"))+"/"+text(get(b, "name")))
			}
		case k == "service" || k == "to":
			out = addToSet(out, "/"+text(get(child, "name")))
		case k == "serviceName":
			out = addToSet(out, "/"+text(child))
		case k == "destination":
			out = addToSet(out, "/"+text(get(child, "host")))
		}
		return true
	})
	delete(out, "/")
	return out
}

func servicePorts(v raw.Value) map[string]bool {
	var out map[string]bool
	for _, p := range oneOrMore(get(v, "spec", "ports")) {
		out = addToSet(out, text(orElse(get(p, "protocol"), raw.Of("TCP")))+" "+text(get(p, "port")))
	}
	return out
}

// addresses returns the addresses of an Endpoints or an EndpointSlice.
func addresses(v raw.Value) map[string]bool {
	var out map[string]bool
	for _, subset := range oneOrMore(get(v, "subsets")) {
		for _, a := range append(oneOrMore(get(subset, "addresses")), oneOrMore(get(subset, "notReadyAddresses"))...) {
			for _, at := range gather(a, "ip", "hostname") {
				out = addToSet(out, at)
			}
		}
	}
	for _, e := range oneOrMore(get(v, "endpoints")) {
		for a := range textSetOf(get(e, "addresses")) {
			out = addToSet(out, a)
		}
	}
	return out
}

// customPolicies lists kinds of network policies that are custom resources.
var customPolicies = []string{"CiliumNetworkPolicy.cilium.io", "CiliumClusterwideNetworkPolicy.cilium.io",
	"*NetworkPolicy.crd.projectcalico.org", "*NetworkPolicy.projectcalico.org",
	"*AdminNetworkPolicy.policy.networking.k8s.io", "EgressFirewall.k8s.ovn.org",
	"EgressNetworkPolicy.network.openshift.io"}

// networkPolicyRules returns the rules about network policies of all kinds.
func networkPolicyRules() []Rule {
	cilium := "https://docs.cilium.io/en/stable/security/policy/"
	isolation := k8sDocs + "concepts/services-networking/network-policies/"
	return []Rule{
		{
			Name: "network-policy-custom", Source: cilium, Security: true, Kinds: customPolicies, Actions: actionsChange,
			Paths: []string{"spec", "specs"}, Risk: diff.RiskInPlace,
			When:    "it allows by a rule that is new, no longer refuses by one that was there, or is about other pods",
			holds:   func(l subjectView) bool { return customPolicyWidens(l.before, l.after) },
			Message: "pods may send or receive traffic that was blocked",
		},
		{
			Name: "network-policy-denies", Source: isolation + "#default-deny-all-ingress-traffic", Actions: actionsPresent,
			Risk: diff.RiskInPlace, Kinds: []string{"NetworkPolicy.networking.k8s.io"}, Paths: []string{"spec"},
			When:    "it newly lets nothing in, or nothing out",
			holds:   func(l subjectView) bool { return hasNew(denied(l.before), denied(l.after)) },
			Message: "the pods that it selects may receive or send no traffic, unless another policy allows it",
		},
		{
			Name: "network-policy-narrows", Source: isolation, Actions: actionsChange, Risk: diff.RiskInPlace,
			Kinds:   []string{"NetworkPolicy.networking.k8s.io"},
			Paths:   []string{"spec.ingress", "spec.egress", "spec.policyTypes"},
			When:    "it lets through less than before",
			holds:   func(l subjectView) bool { return networkPolicyWidens(l.after, l.before) },
			Message: "traffic that it allowed is dropped, unless another policy allows it",
		},
	}
}

// denied returns the directions in which a NetworkPolicy admits nothing.
func denied(v raw.Value) map[string]bool {
	var out map[string]bool
	if v.IsNull() {
		return nil
	}
	for _, d := range []struct{ name, list string }{{"Ingress", "ingress"}, {"Egress", "egress"}} {
		if isolates(v, d.name, d.list) && get(v, "spec", d.list).Len() == 0 {
			out = addToSet(out, d.name)
		}
	}
	return out
}

// customPolicyWidens compares the rules of a custom network policy as wholes: a new allow rule may
// allow more, and so may the loss of a deny rule.
func customPolicyWidens(before, after raw.Value) bool {
	was, is := customPolicy(before), customPolicy(after)
	return was.about != is.about || hasNew(was.allow, is.allow) || hasNew(is.deny, was.deny) ||
		hasNew(is.isolates, was.isolates)
}

type customRules struct {
	// about holds the selectors of the policy and the order of its rules.
	about string
	// allow and deny hold rules; isolates holds the directions in which only matching rules admit
	// traffic.
	allow, deny, isolates map[string]bool
}

func customPolicy(v raw.Value) customRules {
	var p customRules
	for _, spec := range append([]raw.Value{get(v, "spec")}, oneOrMore(get(v, "specs"))...) {
		about := map[string]any{}
		for _, k := range []string{"endpointSelector", "nodeSelector", "selector", "namespaceSelector", "subject",
			"priority", "tier", "order",
			"serviceAccountSelector", "enableDefaultDeny", "preDNAT", "doNotTrack", "applyOnForward"} {
			if part, ok := spec.Get(k); ok {
				about[k] = part
			}
		}
		whole, _ := raw.Text(raw.Of(about))
		p.about += whole
		for _, t := range gather(spec, "types") {
			p.isolates = addToSet(p.isolates, t)
		}
		for _, list := range []string{"ingress", "egress", "ingressDeny", "egressDeny"} {
			for _, rule := range oneOrMore(get(spec, list)) {
				p.isolates = addToSet(p.isolates, list)
				p.add(list, rule)
			}
		}
	}
	return p
}

func (p *customRules) add(list string, rule raw.Value) {
	whole, _ := raw.Text(rule)
	switch action := text(orElse(get(rule, "action"), get(rule, "type"))); {
	case whole == "{}" && list != "ingressDeny" && list != "egressDeny":
		// In Cilium, an empty rule allows nothing.
	case strings.HasSuffix(list, "Deny") || action == "Deny":
		p.deny = addToSet(p.deny, list+" "+whole)
	default:
		p.allow = addToSet(p.allow, list+" "+whole)
	}
}

// identityRules returns the rules about identities that connect the cluster and a cloud, in both
// directions.
func identityRules() []Rule {
	return []Rule{
		{
			Name: "aws-auth", Source: "https://docs.aws.amazon.com/eks/latest/userguide/auth-configmap.html", Security: true,
			Kinds: []string{"ConfigMap"}, Actions: actionsPresent, Risk: diff.RiskInPlace, Paths: []string{"data"},
			When: "it is aws-auth, and maps a role, a user or an account to a name or a group that it did not",
			holds: func(l subjectView) bool {
				return text(get(l.after, "metadata", "name")) == "aws-auth" && awsAuthWidens(l.before, l.after)
			},
			Message: "more AWS users or roles can access the cluster, or get other rights there",
		},
		{
			Name:   "account-cloud-identity",
			Source: "https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html", Security: true,
			Kinds: []string{"ServiceAccount"}, Actions: actionsPresent, Risk: diff.RiskInPlace,
			Paths: []string{"metadata.annotations"}, When: "it names a role or an identity that it did not name",
			holds:   func(l subjectView) bool { return hasNew(cloudIdentities(l.before), cloudIdentities(l.after)) },
			Message: "pods of the account act in the cloud with this role or identity and all its rights",
		},
	}
}

func cloudIdentities(v raw.Value) map[string]bool {
	var out map[string]bool
	for _, k := range []string{"eks.amazonaws.com/role-arn", "iam.gke.io/gcp-service-account",
		"azure.workload.identity/client-id", "azure.workload.identity/tenant-id"} {
		if id := text(get(v, "metadata", "annotations", k)); id != "" {
			out = addToSet(out, k+" "+id)
		}
	}
	return out
}

// awsAuthWidens reports whether the ConfigMap aws-auth has new mappings. A text that cannot be
// parsed counts as wider.
func awsAuthWidens(before, after raw.Value) bool {
	for _, k := range []string{"mapRoles", "mapUsers", "mapAccounts"} {
		was, is := text(get(before, "data", k)), text(get(after, "data", k))
		if was == is {
			continue
		}
		mapped, ok := awsMappings(was)
		now, alsoOK := awsMappings(is)
		if !ok || !alsoOK || hasNew(mapped, now) {
			return true
		}
	}
	return false
}

func awsMappings(doc string) (map[string]bool, bool) {
	if s := strings.TrimSpace(doc); s == "" || s == "[]" {
		return nil, true
	}
	_, list, _, ok := tree.Embedded("", doc)
	if !ok || !list.IsList() {
		return nil, false
	}
	var out map[string]bool
	for _, e := range oneOrMore(list) {
		who := text(get(e, "rolearn")) + text(get(e, "userarn")) + text(e)
		for _, as := range append(gather(e, "groups"), "user "+text(get(e, "username"))) {
			out = addToSet(out, who+" "+as)
		}
	}
	return out, true
}
