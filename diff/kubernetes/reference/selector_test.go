package reference

import (
	"encoding/json"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// TestSelectorsMatchAsInKubernetes draws selectors and labels, and compares what matches with Kubernetes' own code.
func TestSelectorsMatchAsInKubernetes(t *testing.T) {
	keys, values := rapid.SampledFrom([]string{"app", "tier", "zone"}), rapid.SampledFrom([]string{"web", "db", ""})
	requirement := rapid.Custom(func(t *rapid.T) meta.LabelSelectorRequirement {
		r := meta.LabelSelectorRequirement{Key: keys.Draw(t, "key"), Operator: rapid.SampledFrom(
			[]meta.LabelSelectorOperator{meta.LabelSelectorOpIn, meta.LabelSelectorOpNotIn, meta.LabelSelectorOpExists,
				meta.LabelSelectorOpDoesNotExist}).Draw(t, "operator")}
		if r.Operator == meta.LabelSelectorOpIn || r.Operator == meta.LabelSelectorOpNotIn {
			r.Values = rapid.SliceOfNDistinct(values, 1, 2, rapid.ID).Draw(t, "values")
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		sel := meta.LabelSelector{MatchLabels: rapid.MapOfN(keys, values, 0, 2).Draw(t, "labels"),
			MatchExpressions: rapid.SliceOfN(requirement, 0, 3).Draw(t, "expressions")}
		encoded, err := json.Marshal(sel)
		if err != nil {
			t.Fatal(err)
		}
		v, err := raw.Parse(encoded)
		if err != nil {
			t.Fatal(err)
		}
		kubernetes, err := meta.LabelSelectorAsSelector(&sel)
		if err != nil {
			t.Fatal(err)
		}
		got := parseSelector(v)
		if got.empty() != kubernetes.Empty() {
			t.Fatalf("%s is empty: %t", encoded, got.empty())
		}
		pod := rapid.MapOfN(keys, values, 0, 3).Draw(t, "of a pod")
		if want := kubernetes.Matches(labels.Set(pod)); got.matches(pod) != want {
			t.Fatalf("%s matches %v: %t", encoded, pod, !want)
		}
		// The index of labels finds the same pods.
		s := set{budget: 1000, byLabel: map[place][]int{{"ns", ""}: {0}}, pods: []template{{labels: pod}}}
		for key, value := range pod {
			s.byLabel[place{"ns", key + "=" + value}] = []int{0}
		}
		if found := len(s.matching("ns", got)) == 1; found != (!got.empty() && got.matches(pod)) {
			t.Fatalf("%s finds %v in the index: %t", encoded, pod, found)
		}
	})
}
