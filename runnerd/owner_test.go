package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/runner"
)

// ownerSays runs a command of the runner's owner.
func ownerSays(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := execute(root)
	return out.String(), err
}

// TestOwnerCommands pauses and resumes a runner and grants a role, as its owner does, and reads the audit log.
func TestOwnerCommands(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []struct{ command, out, wrong string }{
		{"pause --reason maintenance", "takes no more jobs", ""},
		{"status", "nothing: its owner paused it", ""},
		{"resume", "resumed", ""},
		{"resume", "was not paused", ""},
		{"status", "jobs          all kinds", ""},
		{"grants list", "ROLE  UNTIL  STATUS", ""},
		{"grants add ins_1-repair --for 2h --reason INC-7", "granted ins_1-repair until 20", ""},
		{"grants list", "ends in 1h59m0s", ""},
		{"status", "granted       ins_1-repair until 20", ""},
		{"status -o json", `"role": "ins_1-repair"`, ""},
		{"grants add ins_1-repair", "", "[for until]"},
		{"grants add ins_1-repair --for 200h", "", "at most 7 days"},
		{"grants add ins_1-repair --until 2020-01-01T00:00:00Z", "", "would have ended already"},
		{"grants add ins_1-repair --until tomorrow", "", "write a time such as"},
		{"grants remove ins_1-other", "", "there is no grant"},
		{"grants remove ins_1-repair", "removed the grant", ""},
		{"audit", "grant removed  ins_1-repair", ""},
		{"audit -o json", `"what":"grant added"`, ""},
		{"audit -o xml", "", "use table or json"},
	} {
		said, err := ownerSays(t, append(strings.Fields(step.command), "--dir", dir)...)
		if (err == nil) != (step.wrong == "") || err != nil && !strings.Contains(err.Error(), step.wrong) {
			t.Errorf("runnerd %s: %v", step.command, err)
		}
		if !strings.Contains(said, step.out) {
			t.Errorf("runnerd %s: %s", step.command, said)
		}
	}
	if said, err := ownerSays(t, "pause", "--dir", filepath.Join(dir, "nowhere")); err == nil ||
		!strings.Contains(err.Error(), "name the directory") {
		t.Errorf("pause of nothing: %q, %v", said, err)
	}
	for _, name := range []string{"audit/audit.log", "grants/grants.json"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	status, err := runner.ReadStatus(runner.StatusOptions{Dir: dir})
	if err != nil || status.Policy.Off {
		t.Errorf("%+v, %v", status.Policy, err)
	}
}
