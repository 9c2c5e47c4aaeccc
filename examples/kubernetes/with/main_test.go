package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRun is with a cluster that somebody else has started: nothing is built and nothing else is started.
func TestRun(t *testing.T) {
	t.Setenv(envKubeconfig, "/of/the/tests")
	t.Setenv("KUBECONFIG", "/of/a/person")
	out := filepath.Join(t.TempDir(), "out")
	code, err := run(t.Context(), []string{"--", "sh", "-c", `echo "$NUON_TEST_KUBECONFIG|$KUBECONFIG" > ` + out + `; exit 7`})
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
