package status

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestCommandsCanBePasted checks that a shell splits the command of every action item into the same words if the names
// contain what a shell would run.
func TestCommandsCanBePasted(t *testing.T) {
	const suffix = "; touch x $(id) `id` ' \" \n\x1b[2J"
	plain, hostile := busy().actionItems(noon), busy()
	for n := range hostile.apps {
		a := &hostile.apps[n]
		a.Name += suffix
		for c := range a.Unbuilt {
			a.Unbuilt[c].Name += suffix
			a.Unbuilt[c].Build.ID += suffix
		}
	}
	for n := range hostile.installs {
		i := &hostile.installs[n]
		i.Name, i.App, i.Runner = i.Name+suffix, i.App+suffix, i.Runner+suffix
	}
	for n := range hostile.approvals {
		a := &hostile.approvals[n]
		a.App, a.Install, a.Component = a.App+suffix, a.Install+suffix, a.Component+suffix
	}
	for n := range hostile.breakGlass {
		hostile.breakGlass[n].App += suffix
		hostile.breakGlass[n].Install += suffix
	}
	for n := range hostile.runners {
		r := &hostile.runners[n]
		r.Name += suffix
		for c := range r.Claims {
			r.Claims[c].Subject.Account += suffix
		}
	}
	items := hostile.actionItems(noon)
	if len(items) != len(plain) {
		t.Fatalf("%d action items, want %d", len(items), len(plain))
	}
	for n, item := range items {
		out, err := exec.Command("sh", "-c", `printf '%s\0' `+item.Command).Output()
		if err != nil {
			t.Fatalf("%s: %v", item.Command, err)
		}
		words := strings.Split(strings.ReplaceAll(strings.TrimSuffix(string(out), "\x00"), suffix, ""), "\x00")
		if want := strings.Fields(plain[n].Command); !slices.Equal(words, want) {
			t.Errorf("%s is split into %q, want %q", item.Command, words, want)
		}
	}
}
