package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const admissionGroup = ".admissionregistration.k8s.io"

// admissionRules returns the rules about what the cluster admits.
func admissionRules() []Rule {
	out := slices.Concat(webhookRules(), admissionPolicyRules(), namespaceRules())
	for i := range out {
		out[i].Security = true
		out[i].Risk = max(out[i].Risk, diff.RiskInPlace)
	}
	return out
}

func webhookRules() []Rule {
	webhooks := []string{"ValidatingWebhookConfiguration" + admissionGroup,
		"MutatingWebhookConfiguration" + admissionGroup}
	source := k8s + "reference/access-authn-authz/extensible-admission-controllers/"
	return []Rule{
		{
			Name: "webhook-appears", Source: source, Kinds: webhooks, Actions: present, Paths: []string{"webhooks"},
			When:  "there is a webhook that was not there before",
			each:  func(l look) func(field) bool { return onlyIn(l.after, l.before) },
			Words: "something gets to see, and may refuse or change, requests to the API of the whole cluster",
		},
		{
			Name: "webhook-removed", Source: source, Kinds: webhooks, Actions: changed, Paths: []string{"webhooks"},
			When:  "a webhook is gone",
			each:  func(l look) func(field) bool { return onlyIn(l.before, l.after) },
			Words: "requests that the webhook checked or changed are no longer checked or changed",
		},
		{
			Name: "webhook-failure-policy", Source: source + "#failure-policy", Kinds: webhooks, Actions: changed,
			Paths: []string{"webhooks[*].failurePolicy"},
			Words: "what happens to requests while the webhook does not answer changes: let through unchecked, or refused",
		},
		{
			Name: "webhook-version", Source: k8s + "reference/using-api/deprecation-guide/#webhook-resources-v122",
			Kinds: webhooks, Actions: changed, Paths: []string{"apiVersion"}, When: "it becomes v1beta1",
			holds: func(l look) bool { return strings.HasSuffix(text(get(l.after, "apiVersion")), "/v1beta1") },
			Words: "defaults are weaker in this version: requests are let through unchecked while a webhook does not answer",
		},
		{
			Name: "webhook-scope", Source: source + "#matching-requests-rules", Kinds: webhooks, Actions: changed,
			Paths: []string{"webhooks[*].namespaceSelector", "webhooks[*].objectSelector", "webhooks[*].rules",
				"webhooks[*].matchConditions", "webhooks[*].matchPolicy"},
			Words: "the webhook looks at other requests than before, and those that it leaves out are not checked",
		},
		{
			Name: "webhook-target", Source: source + "#contacting-the-webhook", Kinds: webhooks, Actions: changed,
			Paths: []string{"webhooks[*].clientConfig.service", "webhooks[*].clientConfig.url"},
			Words: "requests to the API are shown to another service",
		},
		{
			Name: "webhook-authority", Source: source + "#contacting-the-webhook", Kinds: webhooks, Actions: changed,
			Paths: []string{"webhooks[*].clientConfig.caBundle"}, When: "it is not made anew at each rendering",
			each:  at(func(f field) bool { return !f.regenerated }),
			Words: "another certificate authority says who may answer as the webhook",
		},
		{
			Name: "api-service", Source: k8s + "concepts/extend-kubernetes/api-extension/apiserver-aggregation/",
			Kinds: []string{"APIService.apiregistration.k8s.io"}, Actions: present,
			Paths: []string{"spec.service", "spec.insecureSkipTLSVerify"},
			Words: "a part of the API of the cluster is answered by this service",
		},
	}
}

// onlyIn returns a predicate that reports whether a difference belongs to a webhook that exists only
// in has, or to a list that has a webhook that the other side lacks.
func onlyIn(has, lacks raw.Value) func(field) bool {
	list := get(has, "webhooks")
	here, there := elementNames(list), elementNames(get(lacks, "webhooks"))
	some := grows(there, here)
	return func(f field) bool {
		if len(f.Path) < 2 || f.Path[1].Key != "" {
			return some
		}
		name := f.Path[1].Select
		if f.Path[1].IsIndex {
			name = text(get(list.At(f.Path[1].Index), "name"))
		}
		return here[name] && !there[name]
	}
}

// elementNames returns the names of the elements of a list.
func elementNames(list raw.Value) map[string]bool {
	out := map[string]bool{}
	for _, e := range oneOrMore(list) {
		out[text(get(e, "name"))] = true
	}
	return out
}

func admissionPolicyRules() []Rule {
	source := k8s + "reference/access-authn-authz/validating-admission-policy/"
	policies := []string{"*AdmissionPolicy" + admissionGroup}
	bindings := []string{"*AdmissionPolicyBinding" + admissionGroup}
	denies := func(v raw.Value) bool { return set(get(v, "spec", "validationActions"))["Deny"] }
	return []Rule{
		{
			Name: "admission-policy-changes", Source: source, Kinds: policies, Actions: changed,
			Paths: []string{"spec.validations", "spec.mutations", "spec.matchConstraints", "spec.matchConditions",
				"spec.variables", "spec.paramKind", "spec.reinvocationPolicy"},
			Words: "the policy checks other requests than before, or by other expressions, and may let through more",
		},
		{
			Name: "admission-policy-ignores", Source: source + "#failure-policy", Kinds: policies, Actions: changed,
			Paths: []string{"spec.failurePolicy"}, When: "it becomes Ignore",
			holds: func(l look) bool { return text(get(l.after, "spec", "failurePolicy")) == "Ignore" },
			Words: "requests of which an expression fails are let through unchecked",
		},
		{
			Name: "admission-policy-reports", Source: source + "#validation-actions", Kinds: bindings, Actions: changed,
			Paths: []string{"spec.validationActions"}, When: "it no longer denies",
			holds: func(l look) bool { return denies(l.before) && !denies(l.after) },
			Words: "requests that break the policy are let through, and only reported",
		},
		{
			Name: "admission-policy-scope", Source: source + "#match-criteria", Kinds: bindings, Actions: changed,
			Paths: []string{"spec.matchResources", "spec.policyName", "spec.paramRef"},
			Words: "the policy holds for other requests than before, or with other parameters",
		},
		{
			Name: "admission-mutates", Source: k8s + "reference/access-authn-authz/mutating-admission-policy/", Actions: created,
			Kinds: []string{"MutatingAdmissionPolicy*" + admissionGroup}, Risk: diff.RiskAdditive,
			Words: "requests to the API are changed before they are stored",
		},
	}
}

func namespaceRules() []Rule {
	namespace := []string{"Namespace"}
	return []Rule{
		{
			Name:   "namespace-pod-security",
			Source: k8s + "concepts/security/pod-security-admission/#pod-security-admission-labels-for-namespaces",
			Kinds:  namespace, Actions: changed, Paths: []string{`metadata.labels["pod-security.kubernetes.io/enforce"]`},
			When:  "the level is lowered or left out",
			holds: func(l look) bool { return levelLowered(l.before, l.after) },
			Words: "the namespace lets in pods with more rights than before",
		},
		{
			Name: "namespace-privileged", Source: k8s + "concepts/security/pod-security-standards/#privileged",
			Kinds: namespace, Actions: created,
			When: "its label asks for the level privileged", Risk: diff.RiskAdditive,
			holds: func(l look) bool { return text(get(l.after, "metadata", "labels", podLevelLabel)) == podLevels[0] },
			Words: "the namespace lets in pods with all rights on their nodes",
		},
		{
			Name:   "namespace-unchecked",
			Source: "https://open-policy-agent.github.io/gatekeeper/website/docs/exempt-namespaces/", Kinds: namespace,
			Actions: present, Paths: []string{"metadata.labels"}, When: "a label newly takes it out of admission checks",
			holds: func(l look) bool { return grows(exemptions(l.before), exemptions(l.after)) },
			Words: "policies of the cluster no longer check what is made in the namespace",
		},
		{
			Name: "namespace-mesh-off", Source: "https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/",
			Kinds: namespace, Actions: changed, Paths: []string{"metadata.labels", "metadata.annotations"},
			When:  "it was part of a mesh and is not any more",
			holds: func(l look) bool { return inMesh(l.before) && !inMesh(l.after) },
			Words: "new pods of the namespace have no proxy of the mesh: its encryption and its policies do not hold for them",
		},
	}
}

// exemptions returns the labels by which the common policy engines exempt a namespace.
func exemptions(v raw.Value) map[string]bool {
	var out map[string]bool
	labels := get(v, "metadata", "labels")
	for _, k := range labels.Keys() {
		value := text(get(labels, k))
		switch {
		case k == "admission.gatekeeper.sh/ignore", k == "openpolicyagent.org/webhook" && value == "ignore",
			k == "policy.sigstore.dev/exclude", k == "security.openshift.io/disable-securitycontextconstraints" &&
				value == "true":
			out = with(out, k)
		}
	}
	return out
}

// inMesh reports whether a namespace requests the sidecar proxies of Istio or Linkerd.
func inMesh(v raw.Value) bool {
	labels := get(v, "metadata", "labels")
	return text(get(labels, "istio-injection")) == "enabled" || text(get(labels, "istio.io/rev")) != "" ||
		text(get(labels, "istio.io/dataplane-mode")) == "ambient" ||
		text(get(v, "metadata", "annotations", "linkerd.io/inject")) == "enabled"
}

// meshBypasses returns the settings by which a pod takes itself, or some of its calls, out of a
// mesh.
func meshBypasses(p *pod) map[string]bool {
	var out map[string]bool
	for _, from := range []string{"labels", "annotations"} {
		settings := get(p.meta, from)
		for _, k := range settings.Keys() {
			value := text(get(settings, k))
			switch {
			case k == "sidecar.istio.io/inject" && value == "false", k == "linkerd.io/inject" && value == "disabled",
				strings.HasPrefix(k, "traffic.sidecar.istio.io/exclude"), strings.HasPrefix(k, "config.linkerd.io/skip-"):
				out = with(out, k+" "+value)
			}
		}
	}
	return out
}
