package observe_test

import (
	"bytes"
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/gittest"
)

// mktree writes a tree object with exactly these entries ("mode type hash\tname"), without git's
// own checks.
func mktree(t testing.TB, repo *gittest.Repo, lines ...string) string {
	t.Helper()
	var raw bytes.Buffer
	for _, line := range lines {
		head, name, _ := strings.Cut(line, "\t")
		parts := strings.Fields(head)
		hash, err := hex.DecodeString(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		raw.WriteString(strings.TrimLeft(parts[0], "0") + " " + name + "\x00")
		raw.Write(hash)
	}
	command := exec.Command("git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
	command.Dir = repo.Dir
	command.Stdin = &raw
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	return strings.TrimSpace(string(printed))
}
