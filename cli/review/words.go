package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Verb describes the effect of an approval: deploy, DESTROY, restore a state
// version, run scripts, or loosen settings.
func Verb(a api.Approval) string {
	switch {
	case a.Destroy:
		return "DESTROY"
	case a.Restore > 0:
		return fmt.Sprintf("restore state version %d of", a.Restore)
	case a.Kind == api.ApprovalKindScripts:
		return "run"
	case a.Kind == api.ApprovalKindSettings:
		return "loosen"
	}
	return "deploy"
}

// Subject returns what an approval is about: a component, scripts, or settings.
func Subject(a api.Approval) string { return cmp.Or(a.Component, string(a.Kind)) }

// SetBy describes who set an approval rule and when; it is empty if nobody is recorded.
func SetBy(r api.ApprovalRule) string {
	if r.By == "" {
		return ""
	}
	words := "set by " + r.By
	if r.ApprovedBy != "" {
		words += ", approved by " + r.ApprovedBy
	}
	if !r.At.IsZero() {
		words += ", on " + r.At.UTC().Format("2006-01-02 at 15:04 UTC")
	}
	return words
}

// Verdict describes how an approval ended: by whom and why, else its reason.
// Callers must neutralize the text.
func Verdict(a api.Approval) string {
	if a.Response.Actor == "" {
		return a.Reason
	}
	if by := SetBy(a.Response.Rule); by != "" && a.Response.Rule.Workflow == "" {
		return fmt.Sprintf("%s (%s; %s)", a.Response.Reason, by, a.Response.Rule.Digest)
	}
	s := "by " + a.Response.Actor
	if a.Response.Reason != "" {
		s += ": " + a.Response.Reason
	}
	return s
}

// Denial describes which policies deny a plan: "policy a denies it", "policies a and b deny it". It is empty if none
// does. Callers must neutralize the text.
func Denial(a api.Approval) string {
	const most = 3
	switch n := len(a.DeniedBy); {
	case n == 0:
		return ""
	case n == 1:
		return "policy " + a.DeniedBy[0] + " denies it"
	case n <= most:
		return "policies " + diff.List(a.DeniedBy) + " deny it"
	}
	return "policies " + joinNames(a.DeniedBy, most) + " deny it"
}

// NeedsTypedConfirmation reports whether a plan must be approved on its own and with a typed
// confirmation: it destroys or replaces something, or restores an old state.
func NeedsTypedConfirmation(a api.Approval) bool { return a.Destructive || a.Destroy || a.Restore > 0 }

// ConfirmationText returns the text that a person types to approve plans of a component:
// the component's name for one grave plan, the name and the number for several
// grave ones, and only the number for several others.
func ConfirmationText(subject string, plans int, grave bool) string {
	switch {
	case !grave:
		return fmt.Sprint(plans)
	case plans == 1:
		return subject
	}
	return fmt.Sprintf("%s %d", subject, plans)
}

// ReportOf decodes and validates the report of an approval, including the scripts that the
// approval covers. After an error the plan must not be approved, because its report cannot
// be shown correctly.
func ReportOf(a api.Approval) (*diff.Report, error) {
	report, err := read(a, a.Report)
	if err != nil || len(a.ScriptReport) == 0 || string(a.ScriptReport) == "null" {
		return report, err
	}
	scripts, err := read(a, a.ScriptReport)
	if err != nil {
		return nil, err
	}
	report.Changes = append(report.Changes, scripts.Changes...)
	report.Sort()
	report.Totals = report.Count()
	return report, nil
}

func read(a api.Approval, raw json.RawMessage) (*diff.Report, error) {
	var report diff.Report
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", a.ID, err)
	}
	if err := report.Validate(); err != nil {
		return nil, fmt.Errorf("the report of %s is inconsistent, do not approve it: %w", a.ID, err)
	}
	return &report, nil
}

// Scripts names the scripts that an approval covers: "scripts migrate, smoke";
// empty if there are none.
func Scripts(a api.Approval) string {
	var names []string
	for _, s := range a.Scripts {
		names = append(names, s.Action)
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "script " + names[0]
	}
	return "scripts " + strings.Join(names, ", ")
}

// WorkInProgress reports whether an install has work in progress or pending, with a reason to show.
func WorkInProgress(i api.InstallSummary) bool {
	switch i.Status {
	case api.InstallSummaryStatusNew, api.InstallSummaryStatusBehind,
		api.InstallSummaryStatusDeploying, api.InstallSummaryStatusDeprovisioning,
		api.InstallSummaryStatusWaiting, api.InstallSummaryStatusStalled:
		return i.Reason != ""
	}
	return false
}
