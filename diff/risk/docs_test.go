package risk_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/diff/risk"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestRulesAreDescribed checks that docs/diff-rules.md matches the rules.
func TestRulesAreDescribed(t *testing.T) {
	const file = "../../docs/diff-rules.md"
	var want strings.Builder
	want.WriteString(`# The rules of risk

Each rule looks at changes of some kinds, in some fields, and says what happens, how much that risks, and whether it is about security.
[diff.md](diff.md#risk) says how to read them. This page is made from the rules: ` + "`go test ./diff/risk -args -update`" + `.

`)
	if err := risk.Table(&want); err != nil {
		t.Fatal(err)
	}
	want.WriteString("\n")
	if err := app.Table(&want); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, file, want.String())
}
