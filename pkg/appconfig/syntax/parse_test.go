package syntax

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

// tree returns a table as toml.Unmarshal would.
func tree(t *Table) map[string]any {
	all := map[string]any{}
	for name, n := range t.Each {
		all[name] = treeOf(n)
	}
	return all
}

func treeOf(n *Node) any {
	switch value := n.Value.(type) {
	case *Table:
		return tree(value)
	case []*Node:
		list := []any{}
		for _, item := range value {
			list = append(list, treeOf(item))
		}
		return list
	}
	return n.Value
}

var documents = []string{
	"", "# nothing\n", "a = 1", "a = 'x'\nb.c = 2\nb.d = [1, 2.5, 'x', true]\n",
	"[a]\nx = 1\n[a.b]\ny = 2\n[[c]]\n[[c]]\nz = 1\n[c.d]\nw = 1\n",
	"[a.b.c]\n[a]\nx=1\n", "[a]\n[a]\n", "a = 1\na = 2\n", "[a]\nb.c = 1\n[a.b]\n", "[[a]]\n[a]\n", "a = []\n[[a]]\n",
	"a = {b = 1, c.d = 2}\n[a.e]\n",
	"a = {b = 1, b = 2}", "a = {b.c = 1, b.d = 2}", "a.b = 1\na.b.c = 2", "a = 0x1F\nb = 0o17\nc = 0b11\nd = 1_000\ne = " +
		"+5\nf = -0\n", "a = 1e5\nb = inf\nc = -inf\nd = 6.6_2\n",
	"a = 1979-05-27T07:32:00Z\nb = 1979-05-27\nc = 07:32:00\nd = 1979-05-27T07:32:00\n", "a = 01",
	"a = 99999999999999999999", "a = 1979-13-40",
	"a = \"\"\"\nx\\\n   y\n\"\"\"\nb = '''\nz'''\n", "a = \"\\u00e9\\n\\t\\\"\"\n", "\"a b\".'c.d' = 1",
	"a = [[1], [2, [3]]]", "a = [{x = 1}, {y = 2}]", "a = [\n1, # one\n2,\n]",
	"[ a . \"b\" ]\nc = true", "a = \"x", "a = ", "= 1", "[a", "[]", "a = {", "a = [", "a b = 1", "a = 1 b = 2", "\xff",
	"a = \"\xff\"", "# \xff\n", "a\r\n", "a = 1\r\nb = 2\r\n", "\ufeffa = 1",
	"a.b = 1\n[a]\n", "[a]\nb = 1\n[a.b]\n", "[[a.b]]\n[a]\nc = 1\n[[a.b]]\nd = 1", "[a]\n[a.b]\nc = 1\n[[a.b]]",
	"a = \"\\x41\"", "a = \"\\e\"", "''' = 1", "a = 00:00:00.999999999999",
}

// Parse accepts what go-toml's decoder accepts, with the same values, and returns the position of
// errors.
func TestParseIsTOML(t *testing.T) {
	for _, text := range documents {
		t.Run(text, func(t *testing.T) { compare(t, []byte(text)) })
	}
}

// compare checks that Parse and the decoder agree, except for the limits of Parse.
func compare(t *testing.T, data []byte) {
	t.Helper()
	table, problem := Parse("f", data)
	if (table == nil) == (problem == nil) {
		t.Fatalf("table %v with %v", table, problem)
	}
	var want map[string]any
	err := toml.Unmarshal([]byte(strings.TrimPrefix(string(data), byteOrderMark)), &want)
	if problem != nil {
		if problem.Line < 1 || problem.Column < 1 || problem.File != "f" || problem.Message == "" ||
			problem.Rule == "" {
			t.Fatalf("incomplete: %+v", problem)
		}
		beyond := strings.Contains(problem.Message, "NUL") || strings.Contains(problem.Message, "UTF-8") ||
			strings.Contains(problem.Message, "more than")
		if err == nil && !beyond {
			t.Fatalf("refused what go-toml takes: %s", problem)
		}
		return
	}
	if err != nil {
		t.Fatalf("took what go-toml refuses: %v", err)
	}
	if want == nil {
		want = map[string]any{}
	}
	if got := tree(table); !same(got, want) {
		t.Fatal(cmp.Diff(want, got, cmp.Comparer(same)))
	}
}

// same is reflect.DeepEqual, except that NaN equals itself.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key := range a {
			if other, there := b[key]; !there || !same(a[key], other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.IsNaN(a) && math.IsNaN(b))
	}
	return reflect.DeepEqual(a, b)
}

func FuzzParse(f *testing.F) {
	for _, text := range documents {
		f.Add([]byte(text))
	}
	examples, err := filepath.Glob("../../../examples/*/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	deeper, _ := filepath.Glob("../../../examples/*/*/*.toml") // the pattern is valid
	for _, name := range append(examples, deeper...) {
		data, err := os.ReadFile(name) //nolint:gosec // a file of the repository
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		compare(t, data)
		table, problem := Parse("f", data)
		if problem != nil {
			return
		}
		lines := strings.Split(strings.TrimPrefix(string(data), byteOrderMark), "\n")
		checkPlaces(t, lines, table)
	})
}

// checkPlaces checks that all positions are in the document.
func checkPlaces(t *testing.T, lines []string, table *Table) {
	t.Helper()
	for name, n := range table.Each {
		for _, at := range []Position{n.Key, n.At} {
			if at.Line < 1 || at.Line > len(lines) || at.Column < 1 || at.Column+at.Width > len(lines[at.Line-1])+1 {
				t.Fatalf("%s is at %+v", name, at)
			}
		}
		if below := n.Table(); below != nil {
			checkPlaces(t, lines, below)
		}
	}
}

func TestPlaces(t *testing.T) {
	table, problem := Parse("f.toml",
		[]byte("\ufeffa = 'x'\r\n[b.\"c d\"]\nlist = [ 1,\n  {e = 'f'} ]\nyes = true\n[[g]]\nh = \"\"\"\nx\"\"\"\n[[g]]\n"+
			"i.j = [[1]]\n"))
	if problem != nil {
		t.Fatal(problem)
	}
	for path, want := range map[string]string{
		"a": "1:1+1 1:5+3", "b": "2:2+1 2:2+1", `b."c d"`: "2:4+5 2:4+5", `b."c d".list`: "3:1+4 3:8+0",
		`b."c d".list[0]`:   "3:10+1 3:10+1",
		`b."c d".list[1].e`: "4:4+1 4:8+3", `b."c d".yes`: "5:1+3 5:7+4", "g": "6:3+1 6:3+1", "g[0]": "6:3+1 6:3+1",
		"g[0].h": "7:1+1 7:5+3", "g[1]": "9:3+1 9:3+1",
		"g[1].i.j": "10:3+1 10:7+0", "g[1].i": "10:1+1 10:1+1",
	} {
		n := table.Find(path)
		if n == nil {
			t.Errorf("%s is not there", path)
			continue
		}
		got := fmt.Sprintf("%d:%d+%d %d:%d+%d", n.Key.Line, n.Key.Column, n.Key.Width, n.At.Line, n.At.Column,
			n.At.Width)
		if got != want || n.At.File != "f.toml" {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]int{"g[1].nothing": 9, "nothing": 1, "g[7]": 6, `b."c d".list[1].x`: 4, "a.b": 1,
		"": 1, "[": 1, `b."`: 2} {
		if table.Find(path) != nil && path != "" {
			t.Errorf("%s is there", path)
		}
		if at := table.Position(path); at.Line != want {
			t.Errorf("the place of %s is %+v", path, at)
		}
		if at := table.KeyPosition(path); at.Line != want {
			t.Errorf("the key of %s is %+v", path, at)
		}
	}
}

func TestLimits(t *testing.T) {
	var keys strings.Builder
	for i := range maxKeys {
		fmt.Fprintf(&keys, "k%d = 1\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"keys":        {keys.String() + "one = 1", "f:501:1: error: a table has more than 500 keys"},
		"just enough": {keys.String(), ""},
		"tables":      {"[" + strings.Repeat("a.", 40) + "b]", "f:1:66: error: tables are nested more than 32 levels deep"},
		"lists": {"a = " + strings.Repeat("[", 40) + strings.Repeat("]", 40),
			"f:1:5: error: tables are nested more than 32 levels deep"},
		"NUL":          {`a = "\u0000"`, "f:1:5: error: the text contains a NUL character"},
		"NUL in a key": {`"\u0000" = 1`, "f:1:1: error: a key contains a NUL character"},
		"not UTF-8":    {"a = 1\nb = '\xff'", "f:2:6: error: the file is not UTF-8 text (save it as UTF-8)"},
		"twice":        {"[a]\nb = 1\nb = 2", "f:3:1: error: TOML syntax: key b is already defined"},
		"a number": {"a = 99999999999999999999", "f:1:5: error: TOML syntax: decimal number is too large to fit in a " +
			"64-bit signed integer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, problem := Parse("f", []byte(c.text))
			got := ""
			if problem != nil {
				got = problem.String()
			}
			if got != c.want {
				t.Errorf("says %q, want %q", got, c.want)
			}
		})
	}
}
