package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/golden"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// folder contains the pictures of the docs, their inputs, and the list of them.
const folder = "../../../docs/pictures"

// TestPicturesOfTheDocs checks that every picture matches the current output of its command, and
// that the docs show every picture; -update draws them again.
func TestPicturesOfTheDocs(t *testing.T) {
	nuon := program(t)
	var pages string
	for _, name := range []string{"diff.md", "terminal.md"} {
		page, err := os.ReadFile(folder + "/../" + name)
		if err != nil {
			t.Fatal(err)
		}
		pages += string(page)
	}
	list, err := os.ReadFile(folder + "/list.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var name string
		s := settings{dir: folder, steady: "#[0-9a-f]{6}", limit: testtime.Limit}
		if _, err := fmt.Sscan(line, &name, &s.columns); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		words := strings.Fields(line)[2:]
		if s.prompt = strings.Join(words, " "); words[0] == "cat" {
			s.prompt = "nuon"
		}
		for s.theme = range themes {
			file := name + "." + s.theme + ".svg"
			if !strings.Contains(pages, "pictures/"+file) {
				t.Errorf("no page shows %s", file)
			}
			s.out = filepath.Join(t.TempDir(), file)
			if golden.Updating() {
				s.out = filepath.Join(folder, file)
			}
			if err := run(t.Context(), s, commandOf(nuon, words, s.theme)); err != nil {
				t.Fatal(err)
			}
			same(t, s.out, filepath.Join(folder, file))
		}
	}
}

// commandOf returns the command of a line of the list. A frame of a screen, which waits for keys, is
// printed from the file that the test of the screen compares with it.
func commandOf(nuon string, words []string, theme string) []string {
	if words[0] == "cat" {
		return []string{"cat", strings.ReplaceAll(words[1], "THEME", theme)}
	}
	return append([]string{nuon, words[1], words[2]}, append(words[3:], "--pager", "never")...)
}

func same(t *testing.T, drawn, kept string) {
	t.Helper()
	got, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what is shown now; draw it anew with `make pictures`, and look at it", kept)
	}
}

// program returns the nuon that was built for the tests (NUON_BIN), or one that it builds.
func program(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("NUON_BIN"); bin != "" {
		return filepath.Join(bin, "nuon")
	}
	nuon := filepath.Join(t.TempDir(), "nuon")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", nuon, "../../../cli")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build nuon: %v\n%s", err, out)
	}
	return nuon
}
