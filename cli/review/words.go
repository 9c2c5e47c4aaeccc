package review

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// Verb is what an approval is about: deploy, DESTROY, or a state that is taken back.
func Verb(a api.Approval) string {
	switch {
	case a.Destroy:
		return "DESTROY"
	case a.Restore > 0:
		return fmt.Sprintf("restore state version %d of", a.Restore)
	}
	return "deploy"
}

// Verdict is how an approval ended: by whom and why, else its reason. It is not neutralised.
func Verdict(a api.Approval) string {
	if a.Response.Actor == "" {
		return a.Reason
	}
	s := "by " + a.Response.Actor
	if a.Response.Reason != "" {
		s += ": " + a.Response.Reason
	}
	return s
}

// Grave says that a yes must be said to this plan by itself, and twice: it destroys or replaces something, or takes a state back.
func Grave(a api.Approval) bool { return a.Destructive || a.Destroy || a.Restore > 0 }

// ReportOf reads the report of an approval. An error says that it must not be approved: what a person would be shown does not hold.
func ReportOf(a api.Approval) (*diff.Report, error) {
	var report diff.Report
	if err := json.Unmarshal(a.Report, &report); err != nil {
		return nil, fmt.Errorf("read the report of %s: %w", a.ID, err)
	}
	if err := report.Validate(); err != nil {
		return nil, fmt.Errorf("the report of %s does not add up, do not approve it: %w", a.ID, err)
	}
	return &report, nil
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
