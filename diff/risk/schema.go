package risk

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// schemaRules returns the rules about schema changes of a custom resource field that remains.
func schemaRules() []Rule {
	crds := k8sDocs + "tasks/extend-kubernetes/custom-resources/custom-resource-definitions/"
	rules := []Rule{
		{
			Name: "crd-type", Source: crds + "#specifying-a-structural-schema", When: "the type of a field is another one",
			matches: onDifference(func(f field) bool { return schemaType(f.Difference) }),
			Message: "a field gets another type: existing objects may be rejected when something writes them, and " +
				"clients may fail",
		},
		{
			Name: "crd-enum", Source: crds + "#validation", When: "a value of a field is no longer allowed",
			matches: onDifference(func(f field) bool { return schemaLoses(f.Difference, "enum") }),
			Message: "a field allows fewer values: objects with other values are rejected when something writes them",
		},
		{
			Name: "crd-required", Source: crds + "#validation", When: "a field of an object that is not new becomes required",
			matches: func(l subjectView) func(field) bool {
				after := finder(get(l.after, "spec", "versions"))
				return func(f field) bool { return schemaRequires(f.Difference, after) }
			},
			Message: "a field becomes required: objects without it are rejected when something writes them",
		},
		{
			Name: "crd-stricter", Source: crds + "#validation-rules", When: "a field is validated more strictly",
			matches: onDifference(func(f field) bool { return schemaStricter(f.Difference) }),
			Message: "a field has stricter validation: objects that do not pass are rejected when something writes them",
		},
		{
			Name: "crd-default", Source: crds + "#defaulting", When: "the default of a remaining field changes",
			matches: onDifference(func(f field) bool { k, _ := keyword(f.Path); return k == "default" }),
			Message: "objects without the field get another value, without being changed themselves",
		},
		{
			Name: "crd-pruning", Source: crds + "#field-pruning", Risk: diff.RiskDestroy,
			When: "unknown fields are no longer preserved", Paths: []string{"spec.versions[*].schema",
				"spec.preserveUnknownFields"},
			matches: onDifference(func(f field) bool {
				k, _ := keyword(f.Path)
				last := len(f.Path) > 0 && f.Path[len(f.Path)-1].Key == "preserveUnknownFields"
				return (k == "x-kubernetes-preserve-unknown-fields" || last) && f.Before.IsTrue()
			}),
			Message: "existing objects lose fields that the schema does not define when something writes them",
		},
		{
			Name: "crd-conversion", Security: true, Paths: []string{"spec.conversion"},
			Source:  k8sDocs + "tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion",
			When:    "the conversion webhook is added, removed or replaced",
			holds:   func(l subjectView) bool { return !conversion(l.before).Equal(conversion(l.after)) },
			Message: "another webhook converts objects between versions: it sees and may change all objects of the kind",
		},
	}
	for i := range rules {
		r := &rules[i]
		r.Kinds, r.Actions, r.Risk = []string{"CustomResourceDefinition.apiextensions.k8s.io"}, actionsUpdate,
			max(r.Risk, diff.RiskInPlace)
		if r.Paths == nil {
			r.Paths = []string{"spec.versions[*].schema"}
		}
	}
	return rules
}

// conversion returns the address of the webhook that converts objects between versions, or null.
func conversion(crd raw.Value) raw.Value {
	c := get(crd, "spec", "conversion")
	if text(get(c, "strategy")) != "Webhook" {
		return raw.Value{}
	}
	client := orElse(get(c, "webhook", "clientConfig"), get(c, "webhookClientConfig"))
	return raw.OfList([]raw.Value{get(client, "url"), get(client, "service", "name"),
		get(client, "service", "namespace"), get(client, "service", "path")})
}

// keyword splits a path into the schema of a version into a JSON Schema keyword and the path below
// it. The keyword is empty for a field or a whole schema.
func keyword(p tree.Path) (word string, rest tree.Path) {
	for i, s := range p {
		if s.Key == "openAPIV3Schema" {
			rest = p[i+1:]
			break
		}
	}
	for len(rest) > 0 {
		step := 1
		switch rest[0].Key {
		case "properties", "allOf", "anyOf", "oneOf", "patternProperties", "definitions":
			step = 2
		case "items", "additionalProperties", "not":
		default:
			return rest[0].Key, rest[1:]
		}
		if len(rest) < step {
			return "", nil
		}
		rest = rest[step:]
	}
	return "", nil
}

// schemaType reports whether a field gets an incompatible type. A number accepts every integer. A
// type that is removed or added has no effect here: schemas are often completed that way.
func schemaType(t Difference) bool {
	k, _ := keyword(t.Path)
	return k == "type" && t.HasBefore && t.HasAfter && (text(t.Before) != "integer" || text(t.After) != "number")
}

// schemaLoses reports whether a list of values in a schema loses one. A new list of this kind
// excludes all other values.
func schemaLoses(t Difference, word string) bool {
	k, rest := keyword(t.Path)
	switch {
	case k != word:
		return false
	case len(rest) > 0:
		return t.HasBefore
	case !t.HasAfter:
		return false
	}
	return !t.HasBefore || hasNew(textSetOf(t.After), textSetOf(t.Before))
}

// schemaRequires reports whether a field without a default becomes required. The required fields of
// a status concern only the controller.
func schemaRequires(t Difference, after func(tree.Step) (raw.Value, bool)) bool {
	k, rest := keyword(t.Path)
	inStatus := func(s *tree.Step) bool { return s.Key == "status" }
	if k != "required" || !t.HasAfter || slices.ContainsFunc(t.Path, inStatus) {
		return false
	}
	version, _ := after(*t.Path[2])
	above := below(version, t.Path[3:len(t.Path)-len(rest)-1])
	var before map[string]bool
	if len(rest) == 0 {
		before = textSetOf(t.Before)
	}
	for field := range textSetOf(t.After) {
		if !before[field] && get(above, "properties", field, "default").IsNull() {
			return true
		}
	}
	return false
}

// below returns the value at a path, or null.
func below(v raw.Value, p tree.Path) raw.Value {
	for _, s := range p {
		switch {
		case s.Into() != "":
			return raw.Value{}
		case s.IsIndex || s.IsSelect:
			v, _ = element(v, *s)
		default:
			v, _ = v.Get(s.Key)
		}
	}
	return v
}

// schemaStricter reports whether a field gets stricter validation.
func schemaStricter(t Difference) bool {
	k, rest := keyword(t.Path)
	switch k {
	case "pattern", "format", "multipleOf", "const":
		return t.HasAfter
	case "x-kubernetes-validations":
		return t.HasAfter && (len(rest) == 0 || len(rest) == 1 || rest[len(rest)-1].Key == "rule")
	case "minimum", "minLength", "minItems", "minProperties":
		return t.HasAfter && (!t.HasBefore || less(t.Before, t.After))
	case "maximum", "maxLength", "maxItems", "maxProperties":
		return t.HasAfter && (!t.HasBefore || less(t.After, t.Before))
	case "nullable":
		return t.Before.IsTrue()
	case "uniqueItems", "exclusiveMinimum", "exclusiveMaximum":
		return t.After.IsTrue()
	}
	return false
}

// quotaRules returns the rules about the resources that a namespace may use.
func quotaRules() []Rule {
	source := k8sDocs + "concepts/policy/resource-quotas/"
	raised := func(small, large raw.Value) bool {
		was, is := get(small, "spec", "hard"), get(large, "spec", "hard")
		for _, k := range was.Keys() {
			if now, ok := is.Get(k); !ok || less(get(was, k), now) {
				return true
			}
		}
		return false
	}
	return []Rule{
		{
			Name: "quota-raised", Source: source, Kinds: []string{"ResourceQuota"}, Actions: actionsChange,
			Paths: []string{"spec"},
			Risk:  diff.RiskInPlace,
			When:  "a limit is higher or removed", holds: func(l subjectView) bool { return raised(l.before, l.after) },
			Message: "the namespace may use more resources than before",
		},
		{
			Name: "quota-lowered", Source: source, Kinds: []string{"ResourceQuota"}, Actions: actionsChange,
			Paths: []string{"spec"},
			Risk:  diff.RiskInPlace,
			When:  "a limit is lower or new", holds: func(l subjectView) bool { return raised(l.after, l.before) },
			Message: "new pods and objects of the namespace are rejected once this limit is reached",
		},
		{
			Name: "limit-range-changes", Source: k8sDocs + "concepts/policy/limit-range/", Kinds: []string{"LimitRange"},
			Actions: actionsChange, Paths: []string{"spec"}, Risk: diff.RiskInPlace,
			Message: "new pods of the namespace get other limits, or are rejected because of theirs",
		},
	}
}

// lifecycleRules returns the rules about how objects are deleted and how many of their pods may stop
// at once.
func lifecycleRules() []Rule {
	everything := []string{"*"}
	finalizers := func(v raw.Value) map[string]bool { return textSetOf(get(v, "metadata", "finalizers")) }
	return []Rule{
		{
			Name: "finalizer-gone", Source: k8sDocs + "concepts/overview/working-with-objects/finalizers/", Kinds: everything,
			Actions: actionsChange, Paths: []string{"metadata.finalizers"}, Risk: diff.RiskInPlace, When: "one is removed",
			holds:   func(l subjectView) bool { return hasNew(finalizers(l.after), finalizers(l.before)) },
			Message: "deleting the object no longer waits for the controller that protects it or cleans up after it",
		},
		{
			Name: "finalizer-new", Source: k8sDocs + "concepts/overview/working-with-objects/finalizers/", Kinds: everything,
			Actions: actionsChange, Paths: []string{"metadata.finalizers"}, Risk: diff.RiskInPlace, When: "one is new",
			holds:   func(l subjectView) bool { return hasNew(finalizers(l.before), finalizers(l.after)) },
			Message: "the object cannot be deleted until something removes its finalizer",
		},
		{
			Name: "owner-changes", Source: k8sDocs + "concepts/architecture/garbage-collection/#owners-dependents",
			Kinds: everything, Actions: actionsChange, Paths: []string{"metadata.ownerReferences"}, Risk: diff.RiskInPlace,
			Message: "the object is deleted with its owner, and its owner changes",
		},
		{
			Name: "rollout-at-once", Source: k8sDocs + "concepts/workloads/controllers/deployment/#max-unavailable",
			Kinds: []string{"Deployment.apps", "DaemonSet.apps", "StatefulSet.apps"}, Actions: actionsChange,
			Risk:    diff.RiskInPlace,
			Paths:   []string{"spec.strategy", "spec.updateStrategy", "spec.replicas"},
			When:    "all pods may newly end before a new one is ready",
			holds:   func(l subjectView) bool { return allAtOnce(l.after) && !allAtOnce(l.before) },
			Message: "a rollout may end all pods at once, so there is downtime until the new ones are ready",
		},
		{
			Name: "rollout-recreates", Source: k8sDocs + "concepts/workloads/controllers/deployment/#recreate-deployment",
			Actions: actionsChange, Kinds: []string{"Deployment.apps"}, Paths: []string{"spec.strategy"}, Risk: diff.RiskInPlace,
			When: "the strategy becomes Recreate",
			holds: func(l subjectView) bool {
				return text(get(l.after, "spec", "strategy", "type")) == "Recreate" &&
					text(get(l.before, "spec", "strategy", "type")) != "Recreate"
			},
			Message: "each rollout from now on ends all pods before the first new one starts, so there is downtime",
		},
		{
			Name: "class-default", Source: k8sDocs + "concepts/storage/storage-classes/#default-storageclass",
			Actions: actionsChange,
			Kinds:   []string{"StorageClass.storage.k8s.io", "IngressClass.networking.k8s.io"},
			Paths:   []string{"metadata.annotations"}, Risk: diff.RiskInPlace, When: "it becomes the default, or is it " +
				"no longer",
			holds:   func(l subjectView) bool { return defaultClass(l.before) != defaultClass(l.after) },
			Message: "objects without a class get another one from now on, or none",
		},
		{
			Name: "secret-store", Source: "https://external-secrets.io/latest/api/externalsecret/", Security: true,
			Actions: actionsChange,
			Kinds: []string{"ExternalSecret.external-secrets.io", "ClusterExternalSecret.external-secrets.io",
				"Certificate.cert-manager.io", "SecretProviderClass.secrets-store.csi.x-k8s.io",
				"*SecretStore.external-secrets.io", "*Issuer.cert-manager.io"},
			Risk: diff.RiskInPlace, Paths: []string{"**.secretStoreRef", "**.issuerRef", "spec.provider", "spec.acme",
				"spec.ca", "spec.vault", "**.remoteRef"},
			Message: "secrets or certificates come from another source",
		},
		{
			Name: "disruption-budget-off", Source: k8sDocs + "concepts/workloads/pods/disruptions/#pod-disruption-budgets",
			Kinds: []string{"PodDisruptionBudget.policy"}, Actions: actionsPresent, Risk: diff.RiskInPlace,
			Paths: []string{"spec.minAvailable", "spec.maxUnavailable"}, When: "it newly lets all pods end at once",
			holds:   func(l subjectView) bool { return budget(l.after) == budgetNone && budget(l.before) != budgetNone },
			Message: "the budget protects nothing: a drain of nodes may end all pods at once",
		},
		{
			Name: "disruption-budget-blocks", Source: k8sDocs + "tasks/run-application/configure-pdb/", Actions: actionsPresent,
			Risk: diff.RiskInPlace, Kinds: []string{"PodDisruptionBudget.policy"},
			Paths:   []string{"spec.minAvailable", "spec.maxUnavailable"},
			When:    "it newly lets no pod end",
			holds:   func(l subjectView) bool { return budget(l.after) == budgetAll && budget(l.before) != budgetAll },
			Message: "no pod may be evicted, so nodes cannot be drained and the cluster cannot be upgraded",
		},
		{
			Name: "autoscaler-target", Source: k8sDocs + "tasks/run-application/horizontal-pod-autoscale/",
			Actions: actionsChange,
			Risk:    diff.RiskInPlace, Kinds: []string{"HorizontalPodAutoscaler.autoscaling"},
			Paths:   []string{"spec.scaleTargetRef"},
			Message: "another object is scaled, and the previous one keeps its number of pods",
		},
		{
			Name: "cron-suspended", Source: k8sDocs + "concepts/workloads/controllers/cron-jobs/#schedule-suspension",
			Actions: actionsChange, Kinds: []string{"CronJob.batch"}, Paths: []string{"spec.suspend"}, Risk: diff.RiskInPlace,
			When:    "it is turned on",
			holds:   func(l subjectView) bool { return get(l.after, "spec", "suspend").IsTrue() },
			Message: "no run starts until someone resumes it",
		},
		{
			Name: "source-changes", Source: "https://argo-cd.readthedocs.io/en/stable/user-guide/application-specification/",
			Security: true,
			Kinds: []string{"Application.argoproj.io", "ApplicationSet.argoproj.io", "*Repository.source.toolkit.fluxcd.io",
				"Bucket.source.toolkit.fluxcd.io", "Kustomization.kustomize.toolkit.fluxcd.io",
				"HelmRelease.helm.toolkit.fluxcd.io"},
			Actions: actionsChange, Risk: diff.RiskInPlace, Paths: []string{"**.repoURL", "**.sourceRef", "spec.url",
				"spec.endpoint"},
			Message: "what is deployed from here comes from another source",
		},
	}
}

// allAtOnce reports whether a rolling update may stop all pods before a new one is ready.
func allAtOnce(v raw.Value) bool {
	spec := get(v, "spec")
	for _, k := range []string{"strategy", "updateStrategy"} {
		most := get(spec, k, "rollingUpdate", "maxUnavailable")
		if text(most) == "100%" {
			return true
		}
		replicas := get(spec, "replicas")
		_, number := quantity(most)
		if number && !replicas.IsNull() && text(most) != "0" && !less(most, replicas) {
			return true
		}
	}
	return false
}

func defaultClass(v raw.Value) bool {
	annotations := get(v, "metadata", "annotations")
	return text(get(annotations, "storageclass.kubernetes.io/is-default-class")) == "true" ||
		text(get(annotations, "ingressclass.kubernetes.io/is-default-class")) == "true"
}

// The two extremes of a PodDisruptionBudget.
const (
	budgetNone = "none"
	budgetAll  = "all"
)

func budget(v raw.Value) string {
	least, most := text(get(v, "spec", "minAvailable")), text(get(v, "spec", "maxUnavailable"))
	switch {
	case most == "100%" || least == "0" || least == "0%":
		return budgetNone
	case most == "0" || most == "0%" || least == "100%":
		return budgetAll
	}
	return ""
}
