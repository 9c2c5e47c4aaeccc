package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRun uses an existing cluster: nothing is built and nothing else is started.
func TestRun(t *testing.T) {
	t.Setenv(envKubeconfig, "/of/the/tests")
	t.Setenv("KUBECONFIG", "/of/a/person")
	out := filepath.Join(t.TempDir(), "out")
	code, err := run(t.Context(),
		[]string{"--", "sh", "-c", `echo "$NUON_TEST_KUBECONFIG|$KUBECONFIG" > ` + out + `; exit 7`})
	if code != 7 || err != nil {
		t.Errorf("the code is %d: %v", code, err)
	}
	if said, err := os.ReadFile(out); err != nil || string(said) != "/of/the/tests|\n" {
		t.Errorf("the command sees %q: %v", said, err)
	}
	for name, test := range map[string]struct {
		args []string
		want int
	}{
		"nothing": {nil, 2}, "only the dashes": {[]string{"--"}, 2}, "no such program": {[]string{"/nowhere/program"}, 1},
	} {
		if code, err := run(t.Context(), test.args); code != test.want || err == nil {
			t.Errorf("%s: the code is %d: %v", name, code, err)
		}
	}
	if code, err := run(t.Context(), []string{"true"}); code != 0 || err != nil {
		t.Errorf("the code is %d: %v", code, err)
	}
}

// TestNoCluster checks that without a cluster the command gets the reason and runs, and that the
// result is a failure. With the variable set beforehand, the result is a success.
func TestNoCluster(t *testing.T) {
	t.Chdir(t.TempDir()) // a directory without the sources of the cluster above it
	t.Setenv(envKubeconfig, "")
	for script, want := range map[string]int{`exit 0`: 1, `exit 5`: 5, `test -n "$NUON_TEST_NO_CLUSTER" || exit 6`: 1} {
		code, err := run(t.Context(), []string{"--", "sh", "-c", script})
		if code != want || err == nil || !strings.Contains(err.Error(), "what needs a cluster did not run") {
			t.Errorf("%s: the code is %d: %v", script, code, err)
		}
	}
	t.Setenv(envNone, "on purpose")
	if code, err := run(t.Context(), []string{"--", "sh", "-c",
		`test "$NUON_TEST_NO_CLUSTER" = "on purpose"`}); code != 0 || err != nil {
		t.Errorf("on purpose: the code is %d: %v", code, err)
	}
}
