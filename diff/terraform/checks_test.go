package terraform_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/terraform"
)

// TestFailingChecksNeedAPerson checks that no group and no approval rule approves a plan with a
// failed check.
func TestFailingChecksNeedAPerson(t *testing.T) {
	for status, want := range map[string]bool{"pass": false, "unknown": false, "fail": true, "error": true} {
		plan := `{"format_version": "1.2", "resource_changes": [], "checks": [{"address": {"to_display": "check.a"}, "status": "` + status +
			`", "instances": [{"address": {"to_display": "check.a"}, "status": "` + status + `"}]}]}`
		report, err := terraform.Report(strings.NewReader(plan), terraform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := report.NeedsIndividualApproval(); got != want {
			t.Errorf("%s: %t, want %t", status, got, want)
		}
	}
}
