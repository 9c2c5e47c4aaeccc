package format

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
)

// nuonFmt runs the command in the current directory.
func nuonFmt(t *testing.T, in, output string, args ...string) (out, remarks string, code int) {
	t.Helper()
	var o, r strings.Builder
	c := New(&cmdenv.Env{Console: &console.Console{In: strings.NewReader(in), Out: &o, Err: &r, Output: output}})
	c.SetArgs(append([]string{}, args...))
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	if err != nil && err.Error() != "" {
		r.WriteString(err.Error() + "\n")
	}
	return o.String(), r.String(), exitcode.CodeOf(err)
}

// inDirectory creates a directory with files and makes it the current one.
func inDirectory(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// texts returns all files below the current directory.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const ugly, pretty = "a=1\nbb=2\n", "a  = 1\nbb = 2\n"

func app() map[string]string {
	return map[string]string{
		"metadata.toml": ugly, "sandbox.toml": pretty, "components/deep/web.toml": ugly, "installs/acme.toml": ugly,
		"nuon.shop.toml": ugly,
		"Cargo.toml":     ugly, "src/pyproject.toml": ugly, "components/web.yaml": ugly, ".nuon/ignore.toml": ugly,
	}
}

var changed = []string{"components/deep/web.toml", "installs/acme.toml", "metadata.toml", "nuon.shop.toml"}

// TestOfADirectory checks that all files of the app are formatted, that no others are,
// and that formatting again changes nothing.
func TestOfADirectory(t *testing.T) {
	inDirectory(t, app())
	if err := os.Chmod("metadata.toml", 0o640); err != nil {
		t.Fatal(err)
	}
	out, remarks, code := nuonFmt(t, "", "table")
	if d := cmp.Diff(strings.Join(changed, "\n")+"\n", out); d != "" || remarks != "" || code != exitcode.Done {
		t.Errorf("%s%s, code %d", d, remarks, code)
	}
	want := app()
	for _, name := range changed {
		want[name] = pretty
	}
	if d := cmp.Diff(want, texts(t)); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat("metadata.toml"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if out, _, code = nuonFmt(t, "", "table", "--check"); out != "" || code != exitcode.Done {
		t.Errorf("again: %q, code %d", out, code)
	}
}

// TestWithoutWriting checks that --check and --diff write nothing, and that only
// --check has its own exit code.
func TestWithoutWriting(t *testing.T) {
	inDirectory(t, app())
	out, _, code := nuonFmt(t, "", "table", "--check", ".")
	if out != strings.Join(changed, "\n")+"\n" || code != exitcode.Failed {
		t.Errorf("--check: %q, code %d", out, code)
	}
	const difference = "--- metadata.toml\n+++ metadata.toml\n@@ -1,2 +1,2 @@\n-a=1\n-bb=2\n+a  = 1\n+bb = 2\n"
	if out, _, code = nuonFmt(t, "", "table", "--diff", "metadata.toml"); out != difference || code != exitcode.Done {
		t.Errorf("--diff: %q, code %d", out, code)
	}
	if out, _, code = nuonFmt(t, "", "table", "--diff", "--check", "metadata.toml"); out != difference ||
		code != exitcode.Failed {
		t.Errorf("both: %q, code %d", out, code)
	}
	if d := cmp.Diff(app(), texts(t)); d != "" {
		t.Error(d)
	}
}

// TestNamed checks that files and directories that a person names are found, in any directory.
func TestNamed(t *testing.T) {
	files := map[string]string{}
	for name, text := range app() {
		files["apps/shop/"+name], files["apps/vendor/x/"+name] = text, text
	}
	files["other.toml"], files["more/other.toml"] = ugly, ugly
	inDirectory(t, files)
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"apps below": {[]string{"."}, []string{"apps/shop/components/deep/web.toml", "apps/shop/installs/acme.toml",
			"apps/shop/metadata.toml", "apps/shop/nuon.shop.toml"}},
		"a part of an app": {[]string{"apps/shop/components"}, []string{"apps/shop/components/deep/web.toml"}},
		"deeper in a part": {[]string{"apps/shop/components/deep"}, []string{"apps/shop/components/deep/web.toml"}},
		"a file":           {[]string{"other.toml"}, []string{"other.toml"}},
		"twice, in that order": {[]string{"other.toml", "apps/shop/metadata.toml", "./other.toml"},
			[]string{"other.toml", "apps/shop/metadata.toml"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, remarks, code := nuonFmt(t, "", "table", append(c.args, "--check")...)
			if d := cmp.Diff(strings.Join(c.want, "\n")+"\n", out); d != "" || code != exitcode.Failed {
				t.Errorf("%s%s, code %d", d, remarks, code)
			}
		})
	}
	for name, says := range map[string]string{"more": "no app in more or below it",
		"nowhere": "no such file or directory", "-": "must be the only argument"} {
		if _, remarks, code := nuonFmt(t, "", "table", name, "other.toml"); code != exitcode.Usage ||
			!strings.Contains(remarks, says) {
			t.Errorf("%s: %q, code %d", name, remarks, code)
		}
	}
}

// TestMistakes checks that a file with an error is reported and not changed, that
// links are not changed, and that the other files are formatted.
func TestMistakes(t *testing.T) {
	const broken = "a=1\nb=\x1b[31m\n"
	inDirectory(t, map[string]string{"metadata.toml": broken, "sandbox.toml": ugly, "elsewhere": ugly,
		"actions/y.toml": pretty})
	for link, to := range map[string]string{"runner.toml": "elsewhere", "components": ".",
		"actions/x.toml": "../elsewhere"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	out, remarks, code := nuonFmt(t, "", "table")
	if out != "sandbox.toml\n" || code != exitcode.Usage ||
		!strings.HasPrefix(remarks, "metadata.toml:2:3: error: TOML syntax: ") || strings.ContainsRune(remarks, 0x1b) {
		t.Errorf("%q, %q, code %d", out, remarks, code)
	}
	if _, remarks, code := nuonFmt(t, "", "table", "runner.toml"); code != exitcode.Usage ||
		remarks != "runner.toml:1:1: error: symbolic link; name the file that it points to\n" {
		t.Errorf("%q, code %d", remarks, code)
	}
	if got := texts(t); got["metadata.toml"] != broken || got["elsewhere"] != ugly || len(got) != 4 {
		t.Errorf("left %q", got)
	}
}

// TestData checks that the output as data has the same content as the output for people.
func TestData(t *testing.T) {
	inDirectory(t, map[string]string{"metadata.toml": "a==1", "sandbox.toml": ugly, "stack.toml": pretty})
	out, remarks, code := nuonFmt(t, "", "json", "--check")
	var got Formatted
	if err := json.Unmarshal([]byte(out), &got); err != nil || remarks != "" || code != exitcode.Usage {
		t.Fatalf("%v, %s, code %d", err, remarks, code)
	}
	if len(got.Changed) != 1 || got.Changed[0] != "sandbox.toml" || got.Unchanged != 1 || got.Written ||
		len(got.Diagnostics) != 1 || got.Diagnostics[0].File != "metadata.toml" {
		t.Errorf("%+v", got)
	}
	if out, _, _ = nuonFmt(t, "", "json", "stack.toml"); !strings.Contains(out, `"changed": []`) ||
		!strings.Contains(out, `"diagnostics": []`) {
		t.Error(out)
	}
}

// TestStream checks that - formats standard input.
func TestStream(t *testing.T) {
	for name, c := range map[string]struct {
		in, flag, out string
		code          int
	}{
		"formats": {ugly, "--check=false", pretty, exitcode.Done},
		"checks":  {ugly, "--check", "-\n", exitcode.Failed},
		"shows": {"a=1", "--diff", "--- -\n+++ -\n@@ -1,1 +1,1 @@\n-a=1\n\\ No newline at end of file\n+a = 1\n",
			exitcode.Done},
		"agrees":  {pretty, "--check", "", exitcode.Done},
		"refuses": {"a=", "--check=false", "", exitcode.Usage},
		"is long": {strings.Repeat("#", 1<<20+1), "--check=false", "", exitcode.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			out, remarks, code := nuonFmt(t, c.in, "table", "-", c.flag)
			if out != c.out || code != c.code || (remarks != "") != (code == exitcode.Usage) {
				t.Errorf("%q, %q, code %d", out, remarks, code)
			}
		})
	}
}

// TestUnified checks that nearby changes are in one hunk.
func TestUnified(t *testing.T) {
	before := "1\n2\n3\n4\nx\n6\n7\n8\n9\n10\n11\nx\n13\n14\n15\n16\n17\n18\n19\n20\nx\n"
	after := strings.ReplaceAll(before, "x\n", "\ty\x1b\n")
	want := "--- f\n+++ f\n@@ -2,14 +2,14 @@\n 2\n 3\n 4\n-x\n+    y \n 6\n 7\n 8\n 9\n 10\n 11\n-x\n+    y \n 13\n 14\n" +
		" 15\n@@ -18,4 +18,4 @@\n 18\n 19\n 20\n-x\n+    y \n"
	if d := cmp.Diff(want, Unified("f", before, after)); d != "" {
		t.Error(d)
	}
	if got := Unified("f", "", "a\n"); got != "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n" {
		t.Errorf("%q", got)
	}
}
