package style

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/pkg/golden"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestGolden: each pair of files is a text and its formatted form, and formatting that changes
// nothing.
func TestGolden(t *testing.T) {
	file := filepath.Join("testdata", "golden.txtar")
	archive, err := txtar.ParseFile(file)
	if err != nil || len(archive.Files)%2 != 0 || len(archive.Files) == 0 {
		t.Fatalf("%v: %d files", err, len(archive.Files))
	}
	for i := 0; i < len(archive.Files); i += 2 {
		from, to := archive.Files[i], &archive.Files[i+1]
		t.Run(from.Name, func(t *testing.T) {
			got, err := Format(from.Data)
			if err != nil {
				t.Fatal(err)
			}
			if golden.Updating() {
				to.Data = got
			}
			if d := cmp.Diff(string(to.Data), string(got)); d != "" {
				t.Error(d)
			}
			check(t, from.Data)
		})
	}
	if golden.Updating() {
		golden.Write(t, file, txtar.Format(archive))
	}
}

// TestBytes has cases that a golden file cannot show.
func TestBytes(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                       {"", ""},
		"blanks":                        {" \n\t\n", "\n"},
		"only a mark":                   {"\ufeff", ""},
		"a mark":                        {"\ufeff# text\na=1", "# text\na = 1\n"},
		"CRLF":                          {"a=1\r\n\r\n\r\n#b\r\n[c]\r\n", "a = 1\n\n# b\n[c]\n"},
		"CRLF in a string stays":        {"a=\"\"\"x\r\ny \r\n\"\"\"\r\n", "a = \"\"\"x\r\ny \r\n\"\"\"\n"},
		"blanks in a string stay":       {"a='''\n x \t\n\n\n'''  \n", "a = '''\n x \t\n\n\n'''\n"},
		"quotes at the end of a string": {"a=\"\"\"x\"\"\"\"\"\nb='''y'''''\n", "a = \"\"\"x\"\"\"\"\"\nb = '''y'''''\n"},
		"escaped quotes": {"a=\"\\\"# x\" #y\nb=\"\"\"\\\"\"\"\\\"\"\"\" #z",
			"a = \"\\\"# x\"      # y\nb = \"\"\"\\\"\"\"\\\"\"\"\" # z\n"},
		"tabs":                             {"\ta\t=\t1\t#\tb\t\n", "a = 1 #\tb\n"},
		"columns are of characters":        {"\"é\"=\"é\" #x\nbcd='y'", "\"é\" = \"é\" # x\nbcd = 'y'\n"},
		"a line end that is none":          {"a=\"\"\"x\\\n  y\"\"\"\nbcd=1", "a = \"\"\"x\\\n  y\"\"\"\nbcd = 1\n"},
		"no blank line at the end of file": {"a=1\n\n\n", "a = 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Format([]byte(c.text))
			if err != nil || string(got) != c.want {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
			check(t, []byte(c.text))
		})
	}
}

// TestRefused: invalid TOML is an error with a position.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"syntax":           {"a = 1\nb = = 2\n", "2:5: TOML syntax: unexpected character"},
		"no end":           {"a = 1\nb = \"x", "2:6: TOML syntax: "},
		"twice":            {"a = 1\n[b]\nc = 1\nc = 2\n", "4:1: TOML syntax: key c is already defined"},
		"no such date":     {"a = 1\nb = 2026-13-01\n", "2:10: TOML syntax: impossible date"},
		"not UTF-8":        {"a = 1\n# \xff\n", "2:3: TOML syntax: "},
		"CR":               {"a = 1\rb = 2\n", "1:6: TOML syntax: "},
		"a control":        {"a = \"\x1b[2J\"", "1:6: TOML syntax: "},
		"a mark elsewhere": {"a = 1\n\ufeffb = 2\n", "2:1: TOML syntax: "},
		"deep": {"a = " + strings.Repeat("[", 33) + strings.Repeat("]", 33),
			"1:37: arrays and inline tables are nested more than 32 levels deep"},
		"very deep": {"a = " + strings.Repeat("[", 1<<19), "1:10005: TOML syntax: arrays and inline tables are nested " +
			"more than the maximum of 10000"},
		"many keys":  {strings.Repeat("[[a]]\n", 5001), "1:1: there are more than 5000 keys and tables"},
		"a long key": {"a" + strings.Repeat(".a", 5001) + "=1", "1:1: there are more than 5000 keys and tables"},
		"large":      {strings.Repeat("#", 1<<20+1), "1:1: the text is larger than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Format([]byte(c.text))
			var at *Error
			if got != nil || !errors.As(err, &at) || !strings.HasPrefix(at.Error(), c.want) {
				t.Errorf("%d bytes, %v, want %s", len(got), err, c.want)
			}
		})
	}
}

// TestTime: the most costly texts of the largest size take no longer than they should.
func TestTime(t *testing.T) {
	const size = 1 << 20
	for name, text := range map[string]string{
		"elements":   "a = [" + strings.Repeat("1,", size/2-10) + "]",
		"spread":     "a = [" + strings.Repeat("1,\n", size/3-10) + "]",
		"tables":     "a = [" + strings.Repeat("{},", size/3-10) + "'''\n''']",
		"in a table": "a = {b = [[" + strings.Repeat("[],", size/3-100) + "'''\n''']]}",
		"nested":     "a = " + strings.Repeat("[", 31) + strings.Repeat("1,", size/2-200) + strings.Repeat("]", 31),
		"nested strings": "a = " + strings.Repeat("[{b=", 15) + "[" + strings.Repeat("'''\n''',", size/8-200) + "]" +
			strings.Repeat("}]", 15),
		"comments": strings.Repeat("#\n", size/2),
		"blanks":   strings.Repeat(" \n", size/2),
		"keys":     manyKeys(),
		"a string": "a = '''" + strings.Repeat("\n", size-10) + "'''",
		"quotes":   "a = '''" + strings.Repeat("''\n", size/3-10) + "'''",
	} {
		t.Run(name, func(t *testing.T) {
			var got []byte
			var err error
			testtime.CheckCPUCost(t, 10_000, func() { got, err = Format([]byte(text)) })
			if err != nil || len(got) > 20*len(text) {
				t.Errorf("%d bytes from %d, %v", len(got), len(text), err)
			}
		})
	}
}

func manyKeys() string {
	var b strings.Builder
	for i := range 4999 {
		fmt.Fprintf(&b, "k%d=%d #\n", i, i)
	}
	return b.String()
}

// TestExamples: the apps of this repository are formatted.
func TestExamples(t *testing.T) {
	found := 0
	for name, text := range tomlBelow(t, filepath.Join("..", "..", "..", "examples")) {
		found++
		got, err := Format(text)
		if err != nil {
			t.Errorf("%s:%v", name, err)
		}
		if d := cmp.Diff(string(text), string(got)); d != "" {
			t.Errorf("%s: run `nuon fmt %s`\n%s", name, name, d)
		}
	}
	if found < 10 {
		t.Errorf("found only %d files", found)
	}
}

// TestCorpus checks the guarantees of the package on every file of the apps in NUON_CORPUS.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("NUON_CORPUS")
	if dir == "" {
		t.Log("NUON_CORPUS names no directory of apps")
		return
	}
	found, changed := 0, 0
	for _, text := range tomlBelow(t, dir) {
		found++
		check(t, text)
		if got, err := Format(text); err != nil {
			t.Error(err)
		} else if string(got) != string(text) {
			changed++
		}
	}
	t.Logf("%d files, %d of which change", found, changed)
	if found == 0 {
		t.Errorf("no TOML files below %s", dir)
	}
}

func tomlBelow(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(name) != ".toml" {
			return err
		}
		all[name], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
