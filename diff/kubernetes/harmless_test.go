package kubernetes_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/kubernetes"
)

const (
	labelled = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n  labels:\n    helm.sh/chart: shop-1\n" +
		"    heritage: Helm\ndata:\n  key: one\n"
	// unparsable is no valid YAML, which its first lines do not show.
	unparsable = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\ndata:\n  reads: helm.sh/chart\n" +
		"  broken: [\n"
)

// TestReadersOfALabelAreSearchedWhenItChanges checks that an unchanged object is parsed if it may
// read a label that changes, and that the report fails if it cannot be.
func TestReadersOfALabelAreSearchedWhenItChanges(t *testing.T) {
	for _, test := range []struct {
		from, to string
		fails    bool
	}{
		{"key: one", "key: two", false},
		{"heritage: Helm", "heritage: Tiller", false},
		{"chart: shop-1", "chart: shop-2", true},
	} {
		after := strings.Replace(labelled, test.from, test.to, 1)
		_, err := kubernetes.Report(source("before.yaml", []byte(labelled+unparsable)),
			source("after.yaml", []byte(after+unparsable)), kubernetes.Options{})
		if (err != nil) != test.fails {
			t.Errorf("%s: %v", test.to, err)
		}
	}
}

// TestALabelThatIsReadIsShown checks each form in which an unchanged object can read a label.
func TestALabelThatIsReadIsShown(t *testing.T) {
	after := strings.Replace(labelled, "chart: shop-1", "chart: shop-2", 1)
	for name, test := range map[string]struct {
		other string
		shown bool
	}{
		"nothing":      {"  text: nothing\n", false},
		"a key":        {"  helm.sh/chart: x\n", true},
		"a whole text": {"  text: helm.sh/chart\n", true},
		"in a text":    {"  text: --selector=helm.sh/chart=shop-1\n", true},
		"escaped":      {"  text: \"helm.sh\\x2fchart\"\n", true},
		"continued":    {"  text: \"helm.sh/\\\n    chart\"\n", true},
	} {
		other := "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\ndata:\n" + test.other
		r := compare(t, labelled+other, after+other, kubernetes.Options{})
		if shown := r.Applyable && len(r.Changes) == 1 && r.Changes[0].Fields[0].Fold == ""; shown != test.shown {
			t.Errorf("%s: shown %v: %+v", name, shown, r.Changes)
		}
	}
	other := `---
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"text": "helm.sh\/chart"}}
`
	r := compare(t, labelled+other, after+other, kubernetes.Options{})
	if !r.Applyable || len(r.Changes) != 1 || r.Changes[0].Fields[0].Fold != "" {
		t.Errorf("JSON with an escape: %+v", r.Changes)
	}
}
