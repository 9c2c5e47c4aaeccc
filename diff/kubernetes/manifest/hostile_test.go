package manifest

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// TestHostileInputTakesLittleTime reads a megabyte of input that makes
// careless parsers slow. The bound is far above the usual time.
func TestHostileInputTakesLittleTime(t *testing.T) {
	const size = 1 << 20
	head := "apiVersion: v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n"
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	stairs := func(line string) string {
		var b strings.Builder
		for i := 2; b.Len() < size; i++ {
			b.WriteString(strings.Repeat(" ", i) + line)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"documents":        fill("---\n"),
		"document ends":    fill("...\n"),
		"directives":       fill("%YAML 1.1\n"),
		"errors":           fill("---\n: x\n"),
		"comments":         head + fill("#\n"),
		"blank lines":      head + fill("\n"),
		"brackets":         head + " a: " + fill("["),
		"braces":           "{" + fill("{"),
		"JSON brackets":    `{"a":` + fill("["),
		"JSON values":      fill(`{"kind":"A","apiVersion":"v1","metadata":{"name":"a"}}`),
		"dashes":           head + fill("- "),
		"question marks":   head + fill("? "),
		"quotes":           head + " a: " + fill(`"`),
		"an open quote":    head + " a: '" + fill("x\n"),
		"anchors":          head + fill(" - &a b\n"),
		"aliases":          head + " - &a b\n" + fill(" - *a\n"),
		"merges":           head + " a: &a {b: c}\n" + fill(" <<: *a\n"),
		"keys":             head + fill(" a: b\n"),
		"stairs":           head + stairs("a:\n"),
		"stairs of dashes": head + stairs("-\n"),
		"list":             "kind: List\napiVersion: v1\nitems:\n" + fill("- a\n"),
		"one line":         head + " a: " + fill("x "),
		"colons":           head + " a: " + fill(":"),
		"old words":        head + fill(" - on\n"),
		"carriage returns": head + fill("\r"),
		"tabs":             head + fill("\t"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testtime.CheckCPUCost(t, 10_000, func() {
				set, err := Read([]Source{{Name: "a", Data: []byte(text)}}, Options{})
				other, errOther := Read([]Source{{Name: "a", Data: []byte(text + "x\n")}}, Options{})
				if err == nil && errOther == nil {
					for i, o := range set.Objects {
						_, _, _ = Whole(o, other.Objects[min(i, len(other.Objects)-1)])
					}
				}
			})
		})
	}
}
