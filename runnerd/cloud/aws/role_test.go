package aws

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/runnerd/cloud/session"
)

// TestEndPolicy checks that the policy of a session denies everything after the end, and allows nothing to a session
// that only reads.
func TestEndPolicy(t *testing.T) {
	until := time.Date(2026, 11, 23, 22, 30, 0, 0, time.FixedZone("", 3600))
	for readOnly, want := range map[bool]int{false: 2, true: 1} {
		var document struct{ Statement []map[string]any }
		text := (&issuer{request: session.Request{Until: until, ReadOnly: readOnly}}).endPolicy()
		if err := json.Unmarshal([]byte(text), &document); err != nil || len(document.Statement) != want ||
			document.Statement[0]["Effect"] != "Deny" || !strings.Contains(text, `"2026-11-23T21:30:00Z"`) {
			t.Errorf("%v: %s: %v", readOnly, text, err)
		}
	}
}

// TestNames checks that names of sessions and values of tags are within the limits of AWS.
func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"job_1": "job_1", "": "--", "a": "a-", "a b/c": "a-b-c", strings.Repeat("x", 100): strings.Repeat("x", 64),
	} {
		if got := sessionName(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
	if got := tagValue("web;" + strings.Repeat("é", 300)); len([]rune(got)) != 256 || !strings.HasPrefix(got, "web-é") {
		t.Errorf("got %q", got)
	}
}
