package audit

import (
	"os"
	"strings"
	"testing"
)

// TestEventsOfAHostileControlPlane checks that names that a control plane chose neither fill the log nor reach a
// terminal as they are, and that a line that is no event does not hide the others.
func TestEventsOfAHostileControlPlane(t *testing.T) {
	dir := t.TempDir()
	hostile := Event{What: RoleRefused, Component: "web\x1b[2J\n" + strings.Repeat("x", 1<<20), Job: "job\u009b1",
		Reason: strings.Repeat("é", 1000)}
	for range 2 {
		if err := Append(dir, hostile); err != nil {
			t.Fatal(err)
		}
		full, err := os.OpenFile(file(dir), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := full.WriteString("{\"at\":\n"); err != nil {
			t.Fatal(err)
		}
		if err := full.Close(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Read(dir)
	if err != nil || len(all) != 4 || all[1].What != "unreadable" || all[2].What != RoleRefused {
		t.Fatalf("%+v, %v", all, err)
	}
	first := all[0]
	if strings.ContainsAny(first.Component+first.Job+first.Reason, "\x1b\u009b\n") || len(first.Component) > 2*maxField ||
		!strings.HasPrefix(first.Component, "web [2J") || len(first.Reason) > 2*maxReason {
		t.Errorf("got %+v", first)
	}
}
