package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// mistakes returns an app with one example of each kind of diagnostic that is hard to display.
func mistakes(t *testing.T) string {
	t.Helper()
	return app(t, map[string]string{
		"metadata.toml": "version = \"v2\"\ndisplayname = \"Hello\"\n",
		"inputs.toml": "[[group]]\nname = \"app\"\ndescription = \"Ünïcödé 日本\"\n\n[[input]]\nname = \"token\"\n" +
			"display_name = \"Token\"\ndescription = \"d\"\ngroup = \"app\"\n" +
			"sensitive = true\ndefault = \"planted-secret\"\n\n[[input]]\nname = \"größe\"\ndisplay_name = \"Größe\"\n" +
			"description = \"d\"\ngroup = \"日本\"\n",
		"components/web.toml": "type = \"terraform_module\"\nname = \"web\"\n" + terraform + "\n[vars]\n\t\tgreeting = \"" +
			strings.Repeat("Good morning, ", 8) + "{{.nuon.inputs.inputs.greting}}" + strings.Repeat(" and good evening", 8) +
			"\"\n",
		"components/two.toml": "type = \"pulumi\"\nname = \"two\"\nruntime = \"go\"\n[public_repo]\nrepo = " +
			"\"https://me:planted-secret@git.example.com/x\"\ndirectory = \".\"\nbranch = \"main\"\n",
		"components/six.toml": "type = \"terraform_module\"\n\"na\\u001b[2Jme\" = 1\nname = \"si\x1b[2Jx\"\n" + terraform,
		"installs/acme.toml":  "name = \"acme\"\n\n[inputs]\ntoken = \"planted-secret\"\n",
	})
}

// TestTerminal checks the output of mistakes on terminals of two widths against
// testdata/*.golden, without colors. No line may be too wide, contain control
// characters, or show a secret.
func TestTerminal(t *testing.T) {
	for name, width := range map[string]int{"80": 80, "140": 140} {
		dir := mistakes(t)
		out, _, err := runOn(t, &console.Console{OutIsTerminal: true, Width: width}, dir)
		if exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("ended with %v", err)
		}
		golden.Check(t, filepath.Join("testdata", name+".golden"), out)
		if strings.Contains(out, "planted-secret") || strings.Contains(out, "\x1b") {
			t.Errorf("shows what nobody should see:\n%q", out)
		}
		for line := range strings.Lines(out) {
			if wide := lipgloss.Width(strings.TrimSuffix(line, "\n")); wide > width &&
				!strings.Contains(line, "https://") {
				t.Errorf("%d columns for %d: %s", wide, width, line)
			}
		}
		if colored, _, _ := runOn(t, &console.Console{OutIsTerminal: true, Width: width, Color: true},
			dir); uncolored(colored) != uncolored(out) || !strings.Contains(colored, "\x1b[1;31merror:\x1b[0m") {
			t.Errorf("in colour it says something else:\n%s", colored)
		}
	}
}

// uncolored removes colors, and the line breaks that were inserted before the colors were.
func uncolored(s string) string {
	var plain strings.Builder
	for i, part := range strings.Split(s, "\x1b[") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "m")
		}
		plain.WriteString(part)
	}
	return strings.Join(strings.Fields(plain.String()), " ")
}

// TestLinksAreNotShown checks that source lines are shown only of files within the
// directory. A config from an untrusted source can contain symbolic links to any file.
func TestLinksAreNotShown(t *testing.T) {
	dir := app(t, nil)
	outside := filepath.Join(t.TempDir(), "private")
	if err := os.WriteFile(outside, []byte("planted-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "runner.toml")); err != nil {
		t.Fatal(err)
	}
	out, _, err := runOn(t, &console.Console{OutIsTerminal: true, Width: 80}, dir)
	if exitcode.CodeOf(err) != exitcode.Usage || !strings.Contains(out, "runner.toml:1:1: error:") ||
		strings.Contains(out, "planted-secret") {
		t.Errorf("printed %s, %v", out, err)
	}
	s := newSource(dir)
	defer s.close()
	for _, name := range []string{"runner.toml", "../private", outside, ".", "components", "none.toml",
		"https://example.invalid/x"} {
		if line, ok := s.line(name, 1); ok {
			t.Errorf("%s has the line %q", name, line)
		}
	}
	if line, ok := s.line("metadata.toml", 1); !ok || line != `version = "v2"` {
		t.Errorf("metadata.toml begins with %q, %v", line, ok)
	}
	if _, ok := s.line("metadata.toml", 99); ok {
		t.Error("there is a line behind the end")
	}
}

// TestIdle checks that a setting without effect is printed on one line, with a few of
// its files, before the errors.
func TestIdle(t *testing.T) {
	idle := func(file, what string) diagnostic.Diagnostic {
		return diagnostic.Diagnostic{File: file, Line: 1, Column: 1, Severity: diagnostic.Warning,
			Rule: "no-effect-yet", Message: what}
	}
	one := config{dir: t.TempDir(), found: diagnostic.Diagnostics{
		idle("a.toml", "no effect: x"), idle("b.toml", "no effect: y"),
		{File: "b.toml", Line: 2, Column: 1, Severity: diagnostic.Error, Rule: "cron", Message: "is wrong"},
		idle("c.toml", "no effect: x"), idle("d.toml", "no effect: x"), idle("e.toml", "no effect: x"),
		idle("f.toml", "no effect: x"),
	}}
	var out strings.Builder
	v := &view{console: &console.Console{OutIsTerminal: true, Width: 80}, configs: []config{one}}
	if err := v.print(&out); err != nil {
		t.Fatal(err)
	}
	want := `warning: no effect: x (a.toml, c.toml, d.toml, and 2 more)
warning: no effect: y (b.toml)

b.toml:2:1: error: is wrong

1 error, 6 warnings in 6 files
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSummary(t *testing.T) {
	for n, want := range map[int]string{0: "0 policies", 1: "1 policy", 2: "2 policies"} {
		if got := count(n, "policy"); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	if got := summaryOf(nil); got != "" {
		t.Errorf("nothing is summed up as %q", got)
	}
}
