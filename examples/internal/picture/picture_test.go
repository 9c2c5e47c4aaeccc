package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/golden"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// shown has an example of everything that a picture can show.
const shown = "  \x1b[1;31m1 to destroy\x1b[0m, \x1b[1;7;33m1 security change\x1b[0m\r\n" +
	"\x1b[33m  ~ \x1b[0m\x1b[1mshop/web\x1b[0m  \x1b[2mleft\x1b[0m      \x1b[2m│\x1b[0m <right> & \"both\"\r\n" +
	"        \x1b[32m終わり\x1b[0m after, \x1b[38;5;160m160\x1b[0m \x1b[38;5;2mtwo\x1b[0m\r\n\r\n"

// TestGolden checks that the same screen gives the same picture, in both themes.
func TestGolden(t *testing.T) {
	for name, colors := range themes {
		file := filepath.Join("testdata", name+".svg")
		got := draw(emulate(shown, 60, 0), 60, colors)
		golden.Check(t, file, got)
	}
}

// TestRows checks that, without a number of rows, a picture ends where the command's output ends.
func TestRows(t *testing.T) {
	if n := len(emulate(shown, 60, 0)); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	if n := len(emulate(shown, 60, 24)); n != 24 {
		t.Errorf("%d rows, want 24", n)
	}
}

// TestRun runs a real command on a terminal, and checks that the picture is valid XML.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.svg")
	s := settings{columns: 80, theme: "dark", out: file, prompt: "ask", exit: 3, limit: testtime.Limit,
		steady: "#[0-9a-f]{4}"}
	command := []string{"sh", "-c", `test -t 1 && stty size && printf '\033[32m<ok>\033[0m #a1b2 #c3d4 #a1b2\n'; exit 3`}
	if err := run(t.Context(), s, command); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">ask</text>", ">50 80</text>", "&lt;ok&gt;</text>", ">#1111 #2222 #1111</text>",
		`class="c2"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the picture lacks %s:\n%s", want, got)
		}
	}
	d := xml.NewDecoder(strings.NewReader(string(got)))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefuses checks the errors for what cannot be drawn.
func TestRefuses(t *testing.T) {
	sh := []string{"sh", "-c", "echo no; exit 1"}
	for want, try := range map[string]struct {
		settings
		command []string
	}{
		"theme":          {settings{columns: 80, theme: "pink"}, sh},
		"say which":      {settings{columns: 80, theme: "dark"}, nil},
		"is no size":     {settings{columns: 0, theme: "dark"}, sh},
		"it showed\nno":  {settings{columns: 80, theme: "dark", limit: testtime.Limit}, sh},
		"not with 3":     {settings{columns: 80, theme: "dark", limit: testtime.Limit, exit: 3}, []string{"true"}},
		"-steady":        {settings{columns: 80, theme: "dark", limit: testtime.Limit, steady: "("}, []string{"true"}},
		"run /not/there": {settings{columns: 80, theme: "dark", limit: testtime.Limit}, []string{"/not/there"}},
	} {
		if err := run(t.Context(), try.settings, try.command); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
