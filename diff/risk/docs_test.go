package risk_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/diff/risk"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/diff-rules.md anew")

// TestRulesAreDescribed checks that docs/diff-rules.md matches the rules.
func TestRulesAreDescribed(t *testing.T) {
	const file = "../../docs/diff-rules.md"
	var want strings.Builder
	want.WriteString(`# The rules of risk

Each rule looks at changes of some kinds, in some fields, and says what happens, how much that risks, and whether it is about security.
[diff.md](diff.md#risk) says how to read them. This page is made from the rules: ` + "`go test ./diff/risk -run Described -update-docs`" + `.

`)
	if err := risk.Table(&want); err != nil {
		t.Fatal(err)
	}
	want.WriteString("\n")
	if err := app.Table(&want); err != nil {
		t.Fatal(err)
	}
	if *updateDocs {
		if err := os.WriteFile(file, []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.String(), string(got)); d != "" {
		t.Errorf("%s is not up to date (-want +got):\n%s", file, d)
	}
}
