package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Verb is what an approval lets happen: deploy, DESTROY, a state that is taken back, run scripts, or loosen settings.
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

// Subject is what an approval is about: a component, scripts, or settings.
func Subject(a api.Approval) string { return cmp.Or(a.Component, string(a.Kind)) }

// SetBy is who set an approval rule, and when; empty when nobody is recorded.
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

// Verdict is how an approval ended: by whom and why, else its reason. It is not neutralised.
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

// Grave says that a yes must be said to this plan by itself, and twice: it destroys or replaces something, or takes a state back.
func Grave(a api.Approval) bool { return a.Destructive || a.Destroy || a.Restore > 0 }

// Word is what a person types to approve plans of a component: its name before a grave one, with the number where there are several,
// and the number alone before several that are not.
func Word(subject string, plans int, grave bool) string {
	switch {
	case !grave:
		return fmt.Sprint(plans)
	case plans == 1:
		return subject
	}
	return fmt.Sprintf("%s %d", subject, plans)
}

// ReportOf reads the report of an approval, with the scripts that a yes approves. An error says that it must not be approved: what a person
// would be shown does not hold.
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
		return nil, fmt.Errorf("the report of %s does not add up, do not approve it: %w", a.ID, err)
	}
	return &report, nil
}

// Scripts names the scripts that a yes to an approval approves: "scripts migrate, smoke"; empty when there are none.
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

// UnderWay says that an install goes on by itself, or would.
func UnderWay(i api.InstallSummary) bool {
	switch i.Status {
	case api.InstallSummaryStatusNew, api.InstallSummaryStatusBehind, api.InstallSummaryStatusDeploying, api.InstallSummaryStatusDeprovisioning,
		api.InstallSummaryStatusWaiting, api.InstallSummaryStatusStalled:
		return i.Reason != ""
	}
	return false
}

// ago is a stretch of time as people say it.
func ago(d time.Duration) string {
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
