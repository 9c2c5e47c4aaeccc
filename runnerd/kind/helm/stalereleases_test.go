package helm_test

import (
	"strings"
	"testing"
)

// TestAReleaseThatWasMovedIsTold: the release under the old name stays, so the approver
// of the new one is informed, and a destroy fails while something is left behind.
func TestAReleaseThatWasMovedIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	spec := r.spec(r.chart("templates/a.yaml",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\n"))
	r.deploy(spec)
	old := spec.Helm.Release
	spec.Helm.Release = "moved-away"
	planned := r.mustPlan(spec, false)
	if report := string(planned.Report); !strings.Contains(report, "helm uninstall "+old) {
		t.Errorf("the plan does not tell of %s:\n%s", old, report)
	}
	r.mustApply(applySpec(spec, planned, false))
	if _, err := r.plan(spec, true); err == nil || !strings.Contains(err.Error(), "helm uninstall "+old) {
		t.Errorf("its destroy would leave %s: %v", old, err)
	}
}
