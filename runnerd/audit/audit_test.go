package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
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
	all, err := Read(dir, time.Time{})
	if err != nil || len(all) != 4 || all[1].What != "unreadable" || all[2].What != RoleRefused {
		t.Fatalf("%+v, %v", all, err)
	}
	first := all[0]
	if strings.ContainsAny(first.Component+first.Job+first.Reason, "\x1b\u009b\n") || len(first.Component) > 2*maxField ||
		!strings.HasPrefix(first.Component, "web [2J") || len(first.Reason) > 2*maxReason {
		t.Errorf("got %+v", first)
	}
}

// TestNoLinkLeadsOutOfTheLog checks that programs of a pod, which can write to the directory of the log, cannot make
// runnerd write to another file, or wait forever.
func TestNoLinkLeadsOutOfTheLog(t *testing.T) {
	dir := t.TempDir()
	private := filepath.Join(dir, "runner.toml")
	plant := func(name string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(name), os.Symlink(private, name)); err != nil {
			t.Fatal(err)
		}
	}
	event := Event{What: RoleRefused, Role: "web"}
	if err := errors.Join(Append(dir, event), os.WriteFile(private, []byte("enabled = false\n"), 0o600),
		os.Truncate(file(dir), dayBytes)); err != nil {
		t.Fatal(err)
	}
	plant(droppedFile(dir) + ".new")
	if err := Append(dir, event); err != nil {
		t.Error(err)
	}
	for _, name := range []string{droppedFile(dir), file(dir), file(dir) + ".lock"} {
		plant(name)
		if err := Append(dir, event); err == nil {
			t.Errorf("%s was written through a link", name)
		}
		if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600)); err != nil {
			t.Fatal(err)
		}
		_ = Append(dir, event) // a pipe can be a lock
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.ReadFile(private); err != nil || string(now) != "enabled = false\n" {
		t.Errorf("the runner file is %s, %v", now, err)
	}
}

// TestAFloodOfEvents: a control plane that causes any number of events on any number of days removes none that were
// there before, hides neither the first uses of a role nor what the owner did, and leaves a count of the rest.
func TestAFloodOfEvents(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	add := func(e Event) {
		t.Helper()
		e.At = now
		if err := appendEvent(dir, e, now); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file(dir), now, now); err != nil {
			t.Fatal(err)
		}
	}
	full := func() {
		t.Helper()
		line := strings.Repeat(" ", 1<<10) + "\n"
		if err := os.WriteFile(file(dir), []byte(strings.Repeat(line, dayBytes>>10)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file(dir), now, now); err != nil {
			t.Fatal(err)
		}
	}
	add(Event{What: RoleAssumed, Role: "repair", Operation: "trigger", Job: "first"})
	for range 3 {
		now = now.AddDate(0, 0, 1)
		add(Event{What: Paused, By: "ada"})
		full()
		for n := range 2*maxKinds + 10 {
			add(Event{What: RoleAssumed, Role: "maintenance", Operation: "health"})
			add(Event{What: RoleRefused, Role: "invented" + strings.Repeat("x", n), Operation: strings.Repeat("y", n)})
			add(Event{What: RoleAssumed, Role: "maintenance", Operation: strings.Repeat("y", n)})
		}
		add(Event{What: RoleAssumed, Role: "repair", Operation: "trigger", Job: "hidden?"})
		add(Event{What: Resumed, By: "ada"})
		if info, err := os.Stat(file(dir)); err != nil || info.Size() > 3*dayBytes {
			t.Errorf("the file of a day has %d bytes, %v", info.Size(), err)
		}
	}
	all, err := Read(dir, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	repairs, resumed, missing := 0, 0, 0
	for _, e := range all {
		switch {
		case e.What == RoleAssumed && e.Role == "repair":
			repairs++
		case e.What == Resumed:
			resumed++
		case e.Dropped > 0 && e.Role == "maintenance health":
			missing += e.Dropped
		}
	}
	if first := all[0]; first.Job != "first" || repairs != 4 || resumed != 3 || missing != 3*(2*maxKinds+10-perKind) {
		t.Errorf("the first is %+v; %d uses of the role, %d ends of a pause, %d counted", first, repairs, resumed, missing)
	}
	recent, err := Read(dir, now)
	if err != nil || len(recent) == 0 || recent[0].At.Before(now) && !recent[0].At.IsZero() {
		t.Errorf("since the last day: %+v, %v", recent[0], err)
	}
	// What must not be done without a line in the log is refused.
	for n := range perRequest + 1 {
		err := appendEvent(dir, Event{At: now, What: DebugStarted, Reason: "kubectl get pods"}, now)
		if (err != nil) != (n == perRequest) {
			t.Fatalf("debug command %d: %v", n+1, err)
		}
		if err := os.Chtimes(file(dir), now, now); err != nil {
			t.Fatal(err)
		}
	}
	// Age alone deletes.
	now = now.AddDate(0, 0, keepDays-1)
	add(Event{What: Paused, By: "ada"})
	all, err = Read(dir, time.Time{})
	if err != nil || all[0].Job == "first" || all[len(all)-1].What != Paused {
		t.Errorf("after %d days the first is %+v, %v", keepDays, all[0], err)
	}
}
