package risk_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/risk"
)

// TestMayTouch checks that a rule can be about its own places, the places below them and the places
// that contain them, and about no others.
func TestMayTouch(t *testing.T) {
	for _, c := range []struct {
		rule, pointer string
		want          bool
	}{
		{"scale-down", "spec/replicas", true},
		{"scale-down", "spec", true},
		{"scale-down", "spec/template/spec", false},
		{"pods-roll", "spec/template/spec/containers/name=web/image", true},
		{"pods-roll", "spec/replicas", false},
		{"webhook-failure-policy", "webhooks/name=a.b/failurePolicy", true},
		{"webhook-failure-policy", "webhooks", true},
		{"webhook-failure-policy", "webhooks/name=a.b/rules/0", false},
		{"statefulset-fixed", "spec/replicas", false},
		{"statefulset-fixed", "spec/serviceName", true},
		{"statefulset-fixed", "spec", true},
		{"config-changed", "binaryData/x", true},
		{"config-changed", "metadata/labels/x", false},
	} {
		r, found := risk.Find(c.rule)
		if !found {
			t.Errorf("there is no rule %s", c.rule)
			continue
		}
		if got := r.MayTouch(strings.Split(c.pointer, "/")); got != c.want {
			t.Errorf("%s about %s: %t", c.rule, c.pointer, got)
		}
	}
	if _, found := risk.Find("no such rule"); found {
		t.Error("found a rule that is not there")
	}
	for fold, want := range map[string]bool{"": true, "chart label": true, "checksum": true, "default": false,
		"ignored by x": false} {
		if risk.ReadsFold(fold) != want {
			t.Errorf("sees %q: %t", fold, !want)
		}
	}
}
