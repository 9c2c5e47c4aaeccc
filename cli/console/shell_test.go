package console

import (
	"os/exec"
	"testing"
)

// TestCommandLine checks that a shell splits a command line into the words that it was made of.
func TestCommandLine(t *testing.T) {
	words := []string{"plain", "", "two words", `it's`, "$HOME", "a*b", "~", "tab\there", "ä", "--label=a=b,c", "#x", "a\nb"}
	out, err := exec.Command("sh", "-c", "printf '%s|' "+CommandLine(words...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, w := range words {
		want += w + "|"
	}
	if string(out) != want {
		t.Errorf("%q is split into %q", CommandLine(words...), out)
	}
	if got := CommandLine("nuon", "deploy", "hello/acme", "--to=4"); got != "nuon deploy hello/acme --to=4" {
		t.Errorf("it quotes too much: %s", got)
	}
}
