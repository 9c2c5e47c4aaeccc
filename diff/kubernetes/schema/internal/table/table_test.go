package table

import (
	"bytes"
	"compress/flate"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func write(t interface{ Fatal(...any) }, tab *Table) []byte {
	var b bytes.Buffer
	if err := Write(&b, tab); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func draw(t *rapid.T) *Table {
	word := rapid.StringMatching(`[A-Za-z$][A-Za-z0-9.-]{0,8}`)
	count := rapid.IntRange(1, 8).Draw(t, "types")
	number := rapid.IntRange(0, count-1)
	tab := &Table{Kubernetes: "v1.2.3", Types: make([]Type, count), Kinds: []Kind{}}
	for i := range tab.Types {
		typ := Type{Shape: rapid.SampledFrom([]byte("opmlsifbar")).Draw(t, "shape"),
			Name: rapid.OneOf(rapid.Just(""), word).Draw(t, "name")}
		switch typ.Shape {
		case 'o', 'p':
			for _, name := range slices.Sorted(
				slices.Values(rapid.SliceOfNDistinct(word, 0, 4, rapid.ID[string]).Draw(t, "fields"))) {
				typ.Fields = append(typ.Fields, Field{name, number.Draw(t, "field")})
			}
		case 'm', 'r':
			typ.Elem = number.Draw(t, "elem")
		case 'l':
			typ.Elem, typ.List = number.Draw(t, "elem"), rapid.SampledFrom([]byte("asm-")).Draw(t, "list")
			for range rapid.IntRange(0, 3).Draw(t, "keys") {
				typ.Keys = append(typ.Keys, word.Draw(t, "key"))
			}
		default:
			typ.Format = rapid.OneOf(rapid.Just(""), word).Draw(t, "format")
		}
		typ.Default = rapid.SampledFrom([]string{"", `{}`, `"a b"`, `[1, 2]`}).Draw(t, "default")
		tab.Types[i] = typ
	}
	for range rapid.IntRange(0, 3).Draw(t, "kinds") {
		tab.Kinds = append(tab.Kinds, Kind{
			Group: rapid.OneOf(rapid.Just(""), word).Draw(t, "group"), Version: "v1", Kind: word.Draw(t, "kind"),
			Namespaced: rapid.Bool().Draw(t, "namespaced"), Type: number.Draw(t, "type"),
		})
	}
	return tab
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t)
		data := write(t, want)
		got, err := readAll(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if !bytes.Equal(data, write(t, want)) {
			t.Fatal("equal tables give different bytes")
		}
	})
}

// collector collects the types of a table.
type collector struct{ types []Type }

func (c *collector) Start(types int) { c.types = make([]Type, types) }

func (c *collector) Type(number int, t *Type) error {
	c.types[number] = *t
	c.types[number].Fields = slices.Clone(t.Fields)
	return nil
}

func readAll(data []byte) (*Table, error) {
	var c collector
	t, err := Read(data, &c)
	if err == nil {
		t.Types = c.types
	}
	return t, err
}

func deflate(t testing.TB, text string) []byte {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write([]byte(text))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const good = magic + "\nkubernetes v1\ntypes 3\ns\nl m 0 a b\no:x.v1.Y a:0 b:1\t{}\nkinds 1\n- v1 Y n 2\n"

func TestDamagedTables(t *testing.T) {
	if _, err := readAll(deflate(t, good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{magic, "else", "line 1: this is no schema table"},
		{"kubernetes v1", "v1", "line 2: no version"},
		{"types 3", "types -3", "line 3: a number below 100000 was expected"},
		{"types 3", "types 300000", "line 3: a number below 100000 was expected"},
		{"types 3", "kinds 3", "line 3: no types"},
		{"types 3", "types 4", "line 7: a shape of one letter was expected"},
		{"\ns\n", "\nz\n", "line 4: no shape that is known"},
		{"l m 0 a b", "l m", "line 5: too few words"},
		{"l m 0 a b", "l m 3", "line 5: a number below 3 was expected"},
		{"a:0 b:1", "a:0 b", "line 6: a number below 3"},
		{"a:0 b:1", "b:0 a:1", "line 6: fields out of order"},
		{"a:0 b:1", "a:0 a:1", "line 6: fields out of order"},
		{"a:0 b:1", "a:00 b:1", "line 6: a number below 3"},
		{"n 2", "n 3", "line 8: a number below 3"},
		{"- v1 Y n 2", "- v1 Y 2", "line 8: too few words"},
		{"n 2\n", "n 2\nmore", "more than the table"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if text == good {
			t.Fatalf("%q is not in the table", c.from)
		}
		if _, err := readAll(deflate(t, text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %q", c.to, c.from, err, c.want)
		}
	}
	if _, err := readAll([]byte("no deflated text")); err == nil {
		t.Error("nonsense was inflated")
	}
	if _, err := readAll(deflate(t, good+strings.Repeat(" ", maxBytes))); err == nil ||
		!strings.Contains(err.Error(), "larger") {
		t.Errorf("a bomb: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(good)
	f.Add(strings.Replace(good, "3", "99999", 1))
	f.Fuzz(func(t *testing.T, text string) {
		tab, err := readAll(deflate(t, text))
		if err != nil {
			return
		}
		for _, typ := range tab.Types {
			for _, n := range append([]int{typ.Elem}, numbers(typ.Fields)...) {
				if n < 0 || n >= len(tab.Types) {
					t.Fatalf("type %d of %d", n, len(tab.Types))
				}
			}
		}
		_ = fmt.Sprint(tab.Kinds)
	})
}

func numbers(fields []Field) (n []int) {
	for _, f := range fields {
		n = append(n, f.Type)
	}
	return n
}
