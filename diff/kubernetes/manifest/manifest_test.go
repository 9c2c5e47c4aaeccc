package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

func TestSameLooksAtBytesButNotAtBlankEnds(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"a: b\n", "a: b\n", true},
		{"a: b\n", "a: b\n\n\n", true},
		{"a: b\n", "a: c\n", false},
		{"a: |\n  b\n", "a: |\n  b\n\n", true},
		{"a: |+\n  b\n", "a: |+\n  b\n\n", false},
		{"a: >2+\n  b\n", "a: >2+\n  b\n\n", false},
		{"a: |\n  b", "a: |\n  b\n", false}, // without the last newline, the value has none either
		{"", "", true},
	} {
		if got := object([]byte(c.a)).Same(object([]byte(c.b))); got != c.same {
			t.Errorf("%q and %q: same is %v", c.a, c.b, got)
		}
	}
	a, b := object([]byte("{}")), object([]byte("{}"))
	b.text.form = jsonForm
	if a.Same(b) {
		t.Error("YAML and JSON are the same")
	}
}

func TestReadBoundsItsInput(t *testing.T) {
	one := Source{Name: "a", Data: []byte("apiVersion: v1\nkind: Thing\nmetadata: {name: a}\n")}
	two := Source{Name: "b", Data: []byte("apiVersion: v1\nkind: Thing\nmetadata: {name: b}\n")}
	if _, err := Read([]Source{one, two}, Options{MaxBytes: int64(len(one.Data) + len(two.Data))}); err != nil {
		t.Error(err)
	}
	_, err := Read([]Source{one, two}, Options{MaxBytes: int64(len(one.Data)+len(two.Data)) - 1})
	if want := "b:1:1: the manifests are larger than may be read; raise the limit or compare fewer at once"; fmt.Sprint(
		err) != want {
		t.Error(err)
	}
}

func TestReadCollectsTwentyErrors(t *testing.T) {
	_, err := Read([]Source{{Name: "a", Data: []byte(strings.Repeat("---\nx: 1\n", 50))}}, Options{})
	if n := strings.Count(fmt.Sprint(err), "\n") + 1; n != maxErrors {
		t.Errorf("%d errors: %v", n, err)
	}
}

func TestReadCountsNotesBeyondFifty(t *testing.T) {
	set, err := Read(
		[]Source{{Name: "a", Data: []byte(strings.Repeat("---\napiVersion: v1\nkind: Thing\nmetadata: {name: a}\n", 61))}},
		Options{})
	if err != nil || len(set.Objects) != 1 || len(set.Notes) != maxNotes+1 ||
		set.Notes[maxNotes] != "10 more notes like these are left out" {
		t.Errorf("%d notes, the last is %q, %v", len(set.Notes), set.Notes[len(set.Notes)-1], err)
	}
}

func TestErrorsNeverQuoteAValue(t *testing.T) {
	for _, bad := range []string{
		"%s: *%s", "x: {a: %s", "x: !!int %s", "x: \"\\%s\"", "%s\n%s: x", "x: @%s", "? [%s]\n: x", "x: %s: y", "<<: %s",
		"x: &%s [*%s]", "{\"%s\": \"%s\", 5}", "{\"%s\": 1, \"%s\": 2}", "x: !!binary \"%%%s\"", "x: '%s", "x: !<%s",
		"x: !%s!%s a", "\t%s: y", "- %s\n%s: x", "x: |%s\n y",
	} {
		data := []byte(strings.ReplaceAll("apiVersion: v1\nkind: Thing\nmetadata: {name: a}\n"+bad+"\n", "%s", "hunter2"))
		if bad[0] == '{' {
			data = []byte(strings.ReplaceAll(bad, "%s", "hunter2"))
		}
		set, err := Read([]Source{{Name: "a", Data: data}}, Options{})
		if err == nil {
			_, err = set.Objects[0].Value()
		}
		switch {
		case err == nil:
			t.Errorf("%q is read", bad)
		case strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%q is quoted: %v", bad, err)
		case !strings.HasPrefix(err.Error(), "a:") || !strings.Contains(err.Error(), "; "):
			t.Errorf("%q: no place or no remedy: %v", bad, err)
		}
	}
}

func TestObjectsAreReadByManyGoroutinesAtOnce(t *testing.T) {
	data := "kind: List\napiVersion: v1\nitems:\n- {kind: A, apiVersion: v1, metadata: {name: a}}\n---\n" +
		"kind: BList\napiVersion: v1\nitems:\n- metadata:\n    name: b\n"
	set, err := Read([]Source{{Name: "a", Data: []byte(data)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, o := range set.Objects {
				if _, _, _, err := Pair(o, o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestPairParsesTheWholeWhereItMust(t *testing.T) {
	long := "spec:\n  text: |\n" + strings.Repeat("    some line of text\n", 3000)
	for _, c := range []struct {
		name, before, after string
		partial             bool
	}{
		{"a large document", "kind: Thing\n" + long + "x: 1\n", "kind: Thing\n" + long + "x: 2\n", true},
		{"a Secret", "kind: Secret\n" + long + "x: 1\n", "kind: Secret\n" + long + "x: 2\n", false},
		{"an anchor", "kind: Thing\n" + long + "x: &a 1\n", "kind: Thing\n" + long + "x: &a 2\n", false},
		{"a small document", "kind: Thing\nx: 1\n", "kind: Thing\nx: 2\n", false},
		{"nothing in common", "kind: Thing\n" + long, "kind: Thing\n" + strings.Replace(long, "some", "other", 1), false},
		{"a key twice", "kind: Thing\n" + long + "x: 1\n", "kind: Thing\n" + long + "x: 2\nx: 3\n", false},
	} {
		sides := make([]*Object, 2)
		for i, text := range []string{c.before, c.after} {
			set, err := Read([]Source{{Name: "in", Data: []byte("apiVersion: v1\nmetadata:\n  name: a\n" + text)}}, Options{})
			if err != nil {
				t.Fatal(c.name, err)
			}
			sides[i] = set.Objects[0]
		}
		b, a, partial, err := Pair(sides[0], sides[1])
		if c.name == "a key twice" {
			if note := sides[1].Note(); !strings.HasPrefix(note,
				"in:3008:1: this key is in the mapping already, and the last one counts") {
				t.Errorf("%s: the note is %q", c.name, note)
			}
			if x, _ := a.Get("x"); !x.Equal(raw.Of(json.Number("3"))) || sides[0].Note() != "" {
				t.Errorf("%s: the last one does not count, or the other side has a note", c.name)
			}
		}
		if err != nil || partial != c.partial || Elided(b) != partial || Elided(a) != partial {
			t.Errorf("%s: partial %v, Elided %v and %v, %v", c.name, partial, Elided(b), Elided(a), err)
		}
		if paths, unsure := differences(b, a, true); len(paths) == 0 || unsure {
			t.Errorf("%s: differences %q, unsure %v", c.name, paths, unsure)
		}
	}
}
