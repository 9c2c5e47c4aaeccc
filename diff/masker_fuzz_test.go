package diff_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// FuzzMaskerField puts a secret into a value, a key, a path or a name, in
// several spellings, and searches for it in all that is shown.
func FuzzMaskerField(f *testing.F) {
	f.Add("tail", "before ", " after\n", uint16(0))
	f.Add("\"quoted\" & <more>", "{\"k\":\"", "\"}", uint16(0x0fff))
	f.Add("two\nlines of it", "", "", uint16(0x1234))
	f.Add("ü\xff", strings.Repeat("x", 3000), strings.Repeat("\n", 300), uint16(0x4321))
	f.Fuzz(func(t *testing.T, tail, before, after string, how uint16) {
		if len(tail)+len(before)+len(after) > 8000 {
			t.Skip("small inputs find the same things sooner")
		}
		// The prefix makes the secret long enough to be found inside other
		// texts, and unlike any text of the report.
		secret := "S3cr3t-x" + strings.TrimSpace(strings.ToValidUTF8(tail, "?"))
		before, after = strings.ToValidUTF8(before, "?"), strings.ToValidUTF8(after, "?")
		text := before + spelled(secret, how) + after
		o := diff.MaskOptions{Limit: int(how>>8) * 10, Lines: int(how >> 12), Context: int(how%5) - 1, TagKey: []byte("key")}
		if how&1 == 0 {
			o.Secrets = diff.NewSecrets([]byte(secret)).Contains
		}
		m := diff.NewMasker(o)
		if how&1 == 1 {
			m.Learn(jsonRaw(t, map[string]any{"password": []any{secret}}))
		}
		by := []string{"name"} // a name is shown even if it equals a learned secret
		if how&1 == 1 {
			by = nil
		}
		path := tree.Path{}.Field("spec").Field(text).Selected(text, by).Into("json").At(3)
		for _, shown := range []diff.FieldChange{
			m.Field(path, side(t, text), side(t, "harmless")),
			m.Field(path, side(t, map[string]any{text: true}), diff.UnmaskedSide{Absent: true}),
			m.Field(path, diff.UnmaskedSide{Absent: true}, side(t, []any{"a", map[string]any{"b": text}})),
			m.Field(path, side(t, text), diff.UnmaskedSide{Unknown: true}),
			m.Field(nil, side(t, "before\n"+text), side(t, "after\n"+text)),
			{Path: m.Text(text)},
		} {
			checkShown(t, shown, secret)
		}
	})
}

func spelled(secret string, how uint16) string {
	switch how >> 2 & 3 {
	case 1:
		return base64.StdEncoding.EncodeToString([]byte(secret))
	case 2:
		return hex.EncodeToString([]byte(secret))
	case 3:
		quoted, _ := json.Marshal(secret)
		return string(quoted)
	}
	return secret
}

func jsonRaw(t *testing.T, v any) diff.Raw {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw(t, string(data))
}

func side(t *testing.T, v any) diff.UnmaskedSide { return diff.UnmaskedSide{Value: jsonRaw(t, v)} }

// checkShown checks every text of a field.
func checkShown(t *testing.T, f diff.FieldChange, secret string) {
	t.Helper()
	known := diff.NewSecrets([]byte(secret))
	each(reflect.ValueOf(&f).Elem(), "field", func(name string, leaf reflect.Value) {
		if leaf.Kind() == reflect.String && known.Contains(leaf.String()) {
			t.Errorf("%s shows the secret: %q", name, leaf.String())
		}
	})
	r := &diff.Report{Kind: "test",
		Changes: []diff.Change{{Address: "a", Action: diff.Update, Risk: diff.RiskInPlace, Fields: []diff.FieldChange{f}}}}
	r.Totals = r.Count()
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
}

// TestLineBounds checks how many lines a line diff has, and how many of them
// are around each change.
func TestLineBounds(t *testing.T) {
	var before, after []string
	for i := range 100 {
		before, after = append(before, "line"), append(after, "line")
		if i%10 == 5 {
			before[i], after[i] = "old", "new"
		}
	}
	texts := func(lines []string) diff.UnmaskedSide {
		return diff.UnmaskedSide{Value: jsonRaw(t, strings.Join(lines, "\n")+"\n")}
	}
	for _, c := range []struct {
		o                              diff.MaskOptions
		changed, same, skipped, notAll int
	}{
		{diff.MaskOptions{}, 20, 60, 40, 0},
		{diff.MaskOptions{Context: 1}, 20, 20, 80, 0},
		{diff.MaskOptions{Context: -1}, 20, 0, 100, 0},
		{diff.MaskOptions{Context: 100}, 20, 90, 0, 0},
		{diff.MaskOptions{Context: -1, Lines: 10}, 6, 0, 50, 14},
		{diff.MaskOptions{Lines: 1}, 0, 0, 0, 0},
	} {
		f := diff.NewMasker(c.o).Field(nil, texts(before), texts(after))
		count := map[diff.LineOp]int{}
		for _, l := range f.Lines {
			switch l.Op {
			case diff.LineSkipped, diff.LineMore:
				count[l.Op] += l.Count
			default:
				count[l.Op]++
			}
		}
		changed := count[diff.LineRemoved] + count[diff.LineAdded]
		if c.o.Lines == 1 {
			// The first line is an unchanged one; then no more fits.
			if changed+count[diff.LineMore] != 20 || len(f.Lines) > 1+diff.DefaultContext+2 {
				t.Errorf("one line: %+v", f.Lines)
			}
			continue
		}
		if changed != c.changed || count[diff.LineSame] != c.same || count[diff.LineMore] != c.notAll || c.notAll == 0 &&
			count[diff.LineSkipped] != 90-c.same {
			t.Errorf("%+v: %d changed, %v", c.o, changed, count)
		}
	}
}

// TestLongLines checks that a long line is cut and that the total size of all lines is bounded.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 5000)
	f := diff.NewMasker(diff.MaskOptions{Limit: 8 << 10, Lines: 200}).Field(nil, side(t, strings.Repeat(long+"\n", 100)),
		side(t, strings.Repeat(long+"y\n", 100)))
	total, all := 0, 0
	for _, l := range f.Lines {
		total += len(l.Text)
		all += max(l.Count, 1)
		if len(l.Text) > 600 {
			t.Fatalf("a line of %d bytes", len(l.Text))
		}
	}
	if last := f.Lines[len(f.Lines)-1]; total > 20_000 || last.Op != diff.LineMore || all != 200 {
		t.Errorf("%d bytes in all, and at the end %+v", total, last)
	}
}
