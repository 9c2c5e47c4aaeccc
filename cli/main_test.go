package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
)

// TestMisuse checks that an unknown command or a wrong call is refused as a
// usage error, at every level.
func TestMisuse(t *testing.T) {
	for line, want := range map[string]string{
		"nonsense":                 `unknown command "nonsense" for "nuon"`,
		"apps nonsense":            `unknown command "nonsense" for "nuon apps"`,
		"apps crate":               `unknown command "crate" for "nuon apps" (did you mean "create"?)`,
		"webhooks mend":            `unknown command "mend" for "nuon webhooks"`,
		"apps get":                 "accepts 1 arg(s), received 0",
		"installs list --nonsense": "unknown flag: --nonsense",
		"builds list":              `required flag(s) "app" not set`,
		"actions list":             "at least one of the flags in the group [app install] is required",
	} {
		t.Run(line, func(t *testing.T) {
			root := newRoot(&cmdenv.Env{Console: &console.Console{Output: "table"}})
			root.SetArgs(strings.Fields(line))
			err := root.ExecuteContext(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("got %v, want %s", err, want)
			}
			if !isUsageError(err) {
				t.Errorf("%v counts as no misuse", err)
			}
		})
	}
	var help bytes.Buffer
	root := newRoot(&cmdenv.Env{Console: &console.Console{Output: "table"}})
	root.SetOut(&help)
	root.SetArgs([]string{"apps"})
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(help.String(), "components") {
		t.Errorf("nuon apps: %v\n%s", err, help.String())
	}
}
