package state

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSensitiveOfAnyType checks that in an attribute of dynamic type the marked part
// is learned, but neither its neighbors nor the words of its type. An object that only looks
// like one is learned completely, except for the part that looks like a type.
func TestSensitiveOfAnyType(t *testing.T) {
	const typed = `{"value":{"mode":"work","token":"planted","list":["a","hidden"]},"type":["object",{"mode":"string","token":"string"}]}`
	for path, want := range map[string][]string{
		`[{"type":"get_attr","value":"input"},{"type":"get_attr","value":"token"}]`:                                                     {"planted"},
		`[{"type":"get_attr","value":"input"},{"type":"index","value":{"value":"token","type":"string"}}]`:                              {"planted"},
		`[{"type":"get_attr","value":"input"},{"type":"get_attr","value":"list"},{"type":"index","value":{"value":1,"type":"number"}}]`: {"hidden"},
		`[{"type":"get_attr","value":"input"}]`:                                       {"a", "hidden", "planted", "work"},
		`[{"type":"get_attr","value":"input"},{"type":"get_attr","value":"nowhere"}]`: {"a", "hidden", "planted", "work"},
	} {
		var got []string
		sensitive([]byte(`{"resources":[{"instances":[{"attributes":{"input":`+typed+`},"sensitive_attributes":[`+path+
			`]}]}]}`),
			func(text []byte) { got = append(got, string(text)) })
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
