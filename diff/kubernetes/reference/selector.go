package reference

import (
	"slices"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// selector is a condition on labels.
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
type selector struct {
	labels map[string]string
	// expressions are key, operator and values.
	expressions []expression
}

type expression struct {
	key, operator string
	values        []string
}

// selectorOf returns the selector by which an object finds pods; empty for
// kinds that have none, and for one that selects all.
func selectorOf(o Object) selector {
	spec := get(o.Value, "spec")
	switch o.ID.ResourceKind() {
	case "Service":
		return selector{labels: labelsOf(get(spec, "selector"))}
	case "NetworkPolicy.networking.k8s.io":
		return parseSelector(get(spec, "podSelector"))
	case "PodDisruptionBudget.policy":
		return parseSelector(get(spec, "selector"))
	}
	return selector{}
}

func labelsOf(v raw.Value) map[string]string {
	out := map[string]string{}
	for _, k := range v.Keys() {
		out[k] = text(get(v, k))
	}
	return out
}

// parseSelector reads matchLabels and matchExpressions. The selector of a
// ReplicationController consists only of labels.
func parseSelector(v raw.Value) selector {
	labels, has := v.Get("matchLabels")
	list, also := v.Get("matchExpressions")
	if !has && !also {
		return selector{labels: labelsOf(v)}
	}
	s := selector{labels: labelsOf(labels)}
	for i := range list.Len() {
		e := expression{key: text(get(list.At(i), "key")), operator: text(get(list.At(i), "operator"))}
		values := get(list.At(i), "values")
		for j := range values.Len() {
			e.values = append(e.values, text(values.At(j)))
		}
		s.expressions = append(s.expressions, e)
	}
	return s
}

func (s selector) empty() bool { return len(s.labels) == 0 && len(s.expressions) == 0 }

func (s selector) matches(labels map[string]string) bool {
	for k, v := range s.labels {
		if have, ok := labels[k]; !ok || have != v {
			return false
		}
	}
	for _, e := range s.expressions {
		have, ok := labels[e.key]
		in := ok && slices.Contains(e.values, have)
		switch e.operator {
		case "In":
			ok = in
		case "NotIn":
			ok = !in
		case "Exists":
		case "DoesNotExist":
			ok = !ok
		default:
			ok = true
		}
		if !ok {
			return false
		}
	}
	return true
}

// matching returns the indices in pods of the templates in a namespace that a
// selector matches. It checks those with the selector's rarest label.
func (s *set) matching(namespace string, sel selector) []int {
	if sel.empty() {
		return nil
	}
	least := s.byLabel[place{namespace, ""}]
	for k, v := range sel.labels {
		if list := s.byLabel[place{namespace, k + "=" + v}]; len(list) < len(least) {
			least = list
		}
	}
	var out []int
	for _, i := range least {
		// Beyond the budget, everything matches: then nothing is reported as lost.
		if s.budget--; s.budget < 0 || sel.matches(s.pods[i].labels) {
			out = append(out, i)
		}
	}
	return out
}
