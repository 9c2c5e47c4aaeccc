package main

import (
	"io"
	"strings"
	"testing"
)

// TestAMistakeInTheCommandLine checks that the error points to the help.
func TestAMistakeInTheCommandLine(t *testing.T) {
	for line, want := range map[string]string{
		"version":       "unknown command \"version\" for \"reconciler\"\nRun `reconciler --help` for",
		"serve --no":    "unknown flag: --no\nRun `reconciler serve --help` for",
		"serve x":       "\nRun `reconciler serve --help` for",
		"--log-level x": "",
	} {
		root := newRoot()
		root.SetOut(io.Discard)
		root.SetArgs(strings.Fields(line))
		if err := execute(t.Context(), root); want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestHelpShowsNoPassword checks the database address from the environment.
func TestHelpShowsNoPassword(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://nuon:planted@db/nuon")
	for _, command := range newRoot().Commands() {
		if strings.Contains(command.UsageString(), "planted") {
			t.Errorf("the help of %s has it", command.Name())
		}
		if flag := command.Flags().Lookup("database-url"); flag != nil &&
			!strings.Contains(flag.Value.String(), "planted") {
			t.Errorf("%s does not take it", command.Name())
		}
	}
}

// TestAGitMirrorThatCannotBeUsed ends serve before it opens anything.
func TestAGitMirrorThatCannotBeUsed(t *testing.T) {
	root := newRoot()
	root.SetErr(io.Discard)
	root.SetArgs([]string{"serve", "--data-dir", t.TempDir(), "--key-file", "none",
		"--git-mirror", "https://forge.invalid"})
	err := execute(t.Context(), root)
	if err == nil || !strings.Contains(err.Error(), `--git-mirror: "https://forge.invalid" has no =`) {
		t.Errorf("serve: %v", err)
	}
}
