package review

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// scriptReport returns the report of a changed script.
func scriptReport(t *testing.T) json.RawMessage {
	t.Helper()
	action := func(text string) []appconfig.Action {
		return []appconfig.Action{{Name: "migrate", Steps: []appconfig.ActionStep{{Name: "run", InlineContents: text}}}}
	}
	r, err := app.Scripts(action("#!/bin/sh\nset -eu\n./migrate up\n"),
		action("#!/bin/sh\nset -eu\n./migrate up --force\n"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestScriptsOnTheScreen checks that scripts can be read and answered on a screen of
// 80×24, alone and together with a plan.
func TestScriptsOnTheScreen(t *testing.T) {
	t.Parallel()
	alone := api.Approval{
		ID: "apr_1", Kind: api.ApprovalKindScripts, App: "hello", Install: "acme", InstallID: "ins_acme",
		Workflow: "wfl_1", ContentDigest: "sha256:scripts",
		Status: api.ApprovalStatusWaiting, Report: scriptReport(t),
		Scripts: []api.ApprovalScript{{Action: "migrate", Digest: "sha256:1"}}, Reason: "no approver has seen it",
		CreatedAt: began,
	}
	with := approvalOf("apr_2", "hello", "acme", "web", mildReport(1))
	with.Kind, with.ScriptReport, with.Scripts = api.ApprovalKindPlan, alone.Report, alone.Scripts
	for name, a := range map[string]api.Approval{"alone": alone, "with a plan": with} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(plainTheme, 80, 24, a)
			seen := s.frames()
			for _, shown := range []string{"action/migrate", "- ./migrate up", "+ ./migrate up --force", "acme"} {
				if !strings.Contains(seen, shown) {
					t.Errorf("%q is not on the screen:\n%s", shown, seen)
				}
			}
			s.press("a")
			if want := "approve " + a.ID + " " + a.ContentDigest + " "; !slices.Contains(s.notes.asked, want) {
				t.Errorf("a asked for %q, want %q", s.notes.asked, want)
			}
		})
	}
}

// frames returns everything on the screen, from the top of the diff to its end.
func (s *stage) frames() string {
	var all strings.Builder
	for range 4 {
		all.WriteString(s.screen())
		s.press(" ")
	}
	return all.String()
}
