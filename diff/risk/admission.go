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
	source := k8sDocs + "reference/access-authn-authz/extensible-admission-controllers/"
	return []Rule{
		{
			Name: "webhook-appears", Source: source, Kinds: webhooks, Actions: actionsPresent, Paths: []string{"webhooks"},
			When:    "there is a webhook that was not there before",
			matches: func(l subjectView) func(field) bool { return onlyIn(l.after, l.before) },
			Message: "a webhook sees, and may reject or change, API requests of the whole cluster",
		},
		{
			Name: "webhook-removed", Source: source, Kinds: webhooks, Actions: actionsChange, Paths: []string{"webhooks"},
			When:    "a webhook is removed",
			matches: func(l subjectView) func(field) bool { return onlyIn(l.before, l.after) },
			Message: "requests that the webhook checked or changed are no longer checked or changed",
		},
		{
			Name: "webhook-failure-policy", Source: source + "#failure-policy", Kinds: webhooks, Actions: actionsChange,
			Paths:   []string{"webhooks[*].failurePolicy"},
			Message: "requests are treated differently while the webhook does not answer: allowed unchecked, or rejected",
		},
		{
			Name: "webhook-timeout-ignored", Source: source + "#timeouts", Kinds: webhooks, Actions: actionsChange,
			Paths: []string{"webhooks[*].timeoutSeconds"}, When: "it is lowered, and the failure policy is Ignore",
			holds: func(l subjectView) bool {
				return someWebhook(l, func(before, after webhook) bool { return after.timeout < before.timeout && after.ignores })
			},
			Message: "requests are allowed unchecked sooner when the webhook is slow to answer",
		},
		{
			Name: "webhook-timeout", Source: source + "#timeouts", Kinds: webhooks, Actions: actionsChange,
			Paths: []string{"webhooks[*].timeoutSeconds"}, When: "it is raised, or lowered and the failure policy is Fail",
			holds: func(l subjectView) bool {
				return someWebhook(l, func(before, after webhook) bool {
					return after.timeout > before.timeout || after.timeout < before.timeout && !after.ignores
				})
			},
			Message: "requests to the API wait longer for a webhook that is slow to answer, or are rejected sooner",
		},
		{
			Name: "webhook-version", Source: k8sDocs + "reference/using-api/deprecation-guide/#webhook-resources-v122",
			Kinds: webhooks, Actions: actionsChange, Paths: []string{"apiVersion"}, When: "it becomes v1beta1",
			holds:   func(l subjectView) bool { return strings.HasSuffix(text(get(l.after, "apiVersion")), "/v1beta1") },
			Message: "this version has weaker defaults: requests are allowed unchecked while a webhook does not answer",
		},
		{
			Name: "webhook-scope", Source: source + "#matching-requests-rules", Kinds: webhooks, Actions: actionsChange,
			Paths: []string{"webhooks[*].namespaceSelector", "webhooks[*].objectSelector", "webhooks[*].rules",
				"webhooks[*].matchConditions", "webhooks[*].matchPolicy"},
			Message: "the webhook gets other requests than before; the others are not checked",
		},
		{
			Name: "webhook-target", Source: source + "#contacting-the-webhook", Kinds: webhooks, Actions: actionsChange,
			Paths:   []string{"webhooks[*].clientConfig.service", "webhooks[*].clientConfig.url"},
			Message: "requests to the API are sent to another service",
		},
		{
			Name: "webhook-authority", Source: source + "#contacting-the-webhook", Kinds: webhooks, Actions: actionsChange,
			Paths: []string{"webhooks[*].clientConfig.caBundle"}, When: "it is not generated again at each rendering",
			matches: onDifference(func(f field) bool { return !f.regenerated }),
			Message: "another certificate authority identifies the webhook",
		},
		{
			Name: "api-service", Source: k8sDocs + "concepts/extend-kubernetes/api-extension/apiserver-aggregation/",
			Kinds: []string{"APIService.apiregistration.k8s.io"}, Actions: actionsPresent,
			Paths:   []string{"spec.service", "spec.insecureSkipTLSVerify"},
			Message: "this service answers a part of the cluster's API",
		},
	}
}

// onlyIn returns a predicate that reports whether a difference belongs to a webhook that exists only
// in has, or to a list that has a webhook that the other side lacks.
func onlyIn(has, lacks raw.Value) func(field) bool {
	list := get(has, "webhooks")
	here, there := elementNames(list), elementNames(get(lacks, "webhooks"))
	some := hasNew(there, here)
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

// webhook is what rules need of a webhook's handling of failures.
type webhook struct {
	timeout float64 // seconds
	ignores bool    // requests are allowed when the webhook does not answer
}

// someWebhook reports whether test holds for a webhook that exists on both sides.
func someWebhook(l subjectView, test func(before, after webhook) bool) bool {
	was := webhooksOf(l.before)
	for name, after := range webhooksOf(l.after) {
		if before, has := was[name]; has && test(before, after) {
			return true
		}
	}
	return false
}

// webhooksOf returns the webhooks of a configuration by name, with the defaults of its version.
func webhooksOf(config raw.Value) map[string]webhook {
	beta := strings.HasSuffix(text(get(config, "apiVersion")), "/v1beta1")
	out := map[string]webhook{}
	for _, e := range oneOrMore(get(config, "webhooks")) {
		w := webhook{timeout: 10, ignores: beta}
		if beta {
			w.timeout = 30
		}
		if n, ok := quantity(get(e, "timeoutSeconds")); ok {
			w.timeout, _ = n.Float64()
		}
		if policy := text(get(e, "failurePolicy")); policy != "" {
			w.ignores = policy == "Ignore"
		}
		out[text(get(e, "name"))] = w
	}
	return out
}

func admissionPolicyRules() []Rule {
	source := k8sDocs + "reference/access-authn-authz/validating-admission-policy/"
	policies := []string{"*AdmissionPolicy" + admissionGroup}
	bindings := []string{"*AdmissionPolicyBinding" + admissionGroup}
	denies := func(v raw.Value) bool { return textSetOf(get(v, "spec", "validationActions"))["Deny"] }
	return []Rule{
		{
			Name: "admission-policy-changes", Source: source, Kinds: policies, Actions: actionsChange,
			Paths: []string{"spec.validations", "spec.mutations", "spec.matchConstraints", "spec.matchConditions",
				"spec.variables", "spec.paramKind", "spec.reinvocationPolicy"},
			Message: "the policy checks other requests than before, or by other expressions, and may let through more",
		},
		{
			Name: "admission-policy-ignores", Source: source + "#failure-policy", Kinds: policies, Actions: actionsChange,
			Paths: []string{"spec.failurePolicy"}, When: "it becomes Ignore",
			holds:   func(l subjectView) bool { return text(get(l.after, "spec", "failurePolicy")) == "Ignore" },
			Message: "requests for which an expression fails are allowed unchecked",
		},
		{
			Name: "admission-policy-reports", Source: source + "#validation-actions", Kinds: bindings, Actions: actionsChange,
			Paths: []string{"spec.validationActions"}, When: "it no longer denies",
			holds:   func(l subjectView) bool { return denies(l.before) && !denies(l.after) },
			Message: "requests that violate the policy are allowed, and only reported",
		},
		{
			Name: "admission-policy-scope", Source: source + "#match-criteria", Kinds: bindings, Actions: actionsChange,
			Paths:   []string{"spec.matchResources", "spec.policyName", "spec.paramRef"},
			Message: "the policy applies to other requests than before, or with other parameters",
		},
		{
			Name: "admission-mutates", Source: k8sDocs + "reference/access-authn-authz/mutating-admission-policy/",
			Actions: actionsCreate,
			Kinds:   []string{"MutatingAdmissionPolicy*" + admissionGroup}, Risk: diff.RiskAdditive,
			Message: "requests to the API are changed before they are stored",
		},
	}
}

func namespaceRules() []Rule {
	namespace := []string{"Namespace"}
	return []Rule{
		{
			Name:   "namespace-pod-security",
			Source: k8sDocs + "concepts/security/pod-security-admission/#pod-security-admission-labels-for-namespaces",
			Kinds:  namespace, Actions: actionsChange, Paths: []string{`metadata.labels["pod-security.kubernetes.io/enforce"]`},
			When:    "the level is lowered or left out",
			holds:   func(l subjectView) bool { return levelLowered(l.before, l.after) },
			Message: "the namespace admits pods with more rights than before",
		},
		{
			Name:   "namespace-pod-security-version",
			Source: k8sDocs + "concepts/security/pod-security-admission/#pod-security-admission-labels-for-namespaces",
			Kinds:  namespace, Actions: actionsChange,
			Paths:   []string{`metadata.labels["pod-security.kubernetes.io/enforce-version"]`},
			When:    "it names an older version than before",
			holds:   func(l subjectView) bool { return levelVersion(l.after) < levelVersion(l.before) },
			Message: "pods are checked as an older Kubernetes did, which does not know the newer restrictions of the level",
		},
		{
			Name: "namespace-privileged", Source: k8sDocs + "concepts/security/pod-security-standards/#privileged",
			Kinds: namespace, Actions: actionsCreate,
			When: "its label asks for the level privileged", Risk: diff.RiskAdditive,
			holds: func(l subjectView) bool {
				return text(get(l.after, "metadata", "labels", podLevelLabel)) == podLevels[0]
			},
			Message: "the namespace admits pods with all rights on their nodes",
		},
		{
			Name:   "namespace-unchecked",
			Source: "https://open-policy-agent.github.io/gatekeeper/website/docs/exempt-namespaces/", Kinds: namespace,
			Actions: actionsPresent, Paths: []string{"metadata.labels"}, When: "a label newly excludes it from admission checks",
			holds:   func(l subjectView) bool { return hasNew(exemptions(l.before), exemptions(l.after)) },
			Message: "policies of the cluster no longer check new objects in the namespace",
		},
		{
			Name: "namespace-mesh-off", Source: "https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/",
			Kinds: namespace, Actions: actionsChange, Paths: []string{"metadata.labels", "metadata.annotations"},
			When:    "it is no longer part of a mesh",
			holds:   func(l subjectView) bool { return inMesh(l.before) && !inMesh(l.after) },
			Message: "new pods of the namespace have no proxy of the mesh, and lack its encryption and its policies",
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
			out = addToSet(out, k)
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
				out = addToSet(out, k+" "+value)
			}
		}
	}
	return out
}
