package render

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withMethod is a type whose method no template may call.
type withMethod struct{ Field string }

func (withMethod) Leak() string { return marker }

// TestNormalize checks that a value of any Go type becomes one of the JSON types, without methods, or is
// refused.
func TestNormalize(t *testing.T) {
	type name string
	type names []name
	for _, test := range []struct {
		from any
		want any
		err  error
	}{
		{nil, nil, nil}, {true, true, nil}, {"a", "a", nil}, {name("a"), "a", nil},
		{int8(-1), int64(-1), nil}, {uint16(7), int64(7), nil}, {uint64(math.MaxInt64), int64(math.MaxInt64), nil},
		{uint64(math.MaxUint64), float64(math.MaxUint64), nil}, {float32(0.5), 0.5, nil}, {3.0, int64(3), nil},
		{float64(1 << 53), int64(1 << 53), nil}, {float64(1 << 54), float64(1 << 54), nil},
		{float64(-1 << 53), int64(-1 << 53), nil},
		{math.NaN(), nil, errNotJSON}, {math.Inf(-1), nil, errNotJSON},
		{json.Number("7"), int64(7), nil}, {json.Number("7.0"), int64(7), nil}, {json.Number("0.5"), 0.5, nil},
		{json.Number("9223372036854775808"), 9223372036854775808.0, nil},
		{json.Number("1e999"), nil, errNotJSON}, {json.Number(marker), nil, errNotJSON},
		{names{"a"}, []any{"a"}, nil}, {[2]bool{true}, []any{true, false}, nil}, {[]string(nil), []any{}, nil},
		{map[name]int{"a": 1}, map[string]any{"a": int64(1)}, nil}, {map[int]string{1: "a"}, nil, errNotJSON},
		{Tree{"a": Tree{"b": 1}}, map[string]any{"a": map[string]any{"b": int64(1)}}, nil},
		{withMethod{}, nil, errNotJSON}, {[]any{withMethod{}}, nil, errNotJSON}, {map[string]any{"a": withMethod{}}, nil,
			errNotJSON},
		{func() {}, nil, errNotJSON}, {&test{}, nil, errNotJSON}, {complex(1, 1), nil, errNotJSON},
	} {
		got, err := normalize(test.from, 0)
		if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%T %v: %v\n%s", test.from, test.from, err, diff)
		}
	}
	for levels, want := range map[int]error{maxDepth: nil, maxDepth + 1: errTooDeep} {
		var list, object any = "a", "a"
		for range levels {
			list, object = []any{list}, map[string]any{"a": object}
		}
		for _, v := range []any{list, object} {
			if _, err := normalize(v, 0); !errors.Is(err, want) {
				t.Errorf("%d levels of %T: %v, want %v", levels, v, err, want)
			}
		}
	}
}

type test struct{}

// TestGetAndSet checks paths that do not exist, aliases, and what is replaced.
func TestGetAndSet(t *testing.T) {
	tree := Tree{}
	tree.Set(Path{"install", "id"}, "in1")
	tree.Set(Path{"install", "inputs", "size"}, "3") // an alias
	tree.Set(Path{"sandbox"}, Tree{"outputs": Tree{"region": nil}})
	tree.Set(Path{}, "root")
	tree.Set(Path{"text"}, "a")
	tree.Set(Path{"text", "below"}, "b") // replaces the text
	tree.Set(Path{"none"}, map[string]any(nil))
	tree.Set(Path{"none", "below"}, "c")
	for path, want := range map[string]any{
		"install.id": "in1", "id": "in1", "inputs.inputs.size": "3", "install.inputs.size": "3",
		"sandbox.outputs.region": nil, "install.sandbox.outputs.region": nil, "text.below": "b", "none.below": "c",
	} {
		if got, ok := tree.Get(strings.Split(path, ".")); !ok || got != want {
			t.Errorf("%s is %v, %t, want %v", path, got, ok, want)
		}
	}
	for _, path := range []string{"x", "install.name", "install.id.x", "sandbox.outputs.region.x", "text.other", "root"} {
		if got, ok := tree.Get(strings.Split(path, ".")); ok {
			t.Errorf("%s is %v", path, got)
		}
	}
	if got, ok := tree.Get(nil); !ok || got.(map[string]any)["install"] == nil {
		t.Errorf("the root is %v, %t", got, ok)
	}
}

// TestOnlyRefsAreVisible checks that a template sees the values that it names, the objects above a missing one
// as empty, and nothing beside them.
func TestOnlyRefsAreVisible(t *testing.T) {
	tree := Tree{}
	tree.Set(Path{"install"}, Tree{"id": "in1", "name": "acme"})
	tree.Set(Path{"components", "web", "outputs"}, map[string]any{"url": "u", "password": marker})
	tree.Set(Path{"components", "db"}, map[string]any{"outputs": map[string]any{"dsn": marker}})
	tree.Set(Path{"sandbox", "outputs"}, map[string]any{"none": nil})
	for text, want := range map[string]string{
		`{{.nuon.components.web.outputs.url}}`:                                              "u",
		`{{with .nuon.install}}{{toJson .}}{{end}}`:                                         `{"id":"in1","name":"acme","sandbox":{"outputs":{"none":null}}}`,
		`{{.nuon.id}} {{$.nuon.name}} {{.nuon.install.name}}`:                               "in1 acme acme",
		`{{dig "gone" "outputs" "url" "default" .nuon.components}}`:                         "default",
		`{{hasKey .nuon.components.web.outputs "url"}}`:                                     "true",
		`{{if hasKey .nuon.install "inputs"}}yes{{else}}no{{end}}`:                          "no",
		`{{dig "outputs" "none" "d" .nuon.sandbox}}|{{dig "x" "d" .nuon.sandbox}}`:          "|d",
		`{{range $k, $v := .nuon.components.web.outputs}}{{$k}} {{end}}`:                    "password url ",
		`{{.nuon.sandbox.outputs.none}}|{{default "d" .nuon.install.sandbox.outputs.none}}`: "|d",
	} {
		tmpl, err := Parse("t", text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := tmpl.Execute(tree); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestValuesThatAreNoJSON checks the error for a tree with a value that no template can have.
func TestValuesThatAreNoJSON(t *testing.T) {
	tmpl, err := Parse("vars.x", "{{.nuon.components.web.outputs.bad}}")
	if err != nil {
		t.Fatal(err)
	}
	for want, bad := range map[string]any{
		"vars.x: .nuon.components.web.outputs.bad: a value is not a JSON value":                 []any{math.NaN()},
		"vars.x: .nuon.components.web.outputs.bad: a value is nested more than 100 levels deep": nested(200),
	} {
		tree := Tree{}
		tree.Set(Path{"components", "web", "outputs", "bad"}, bad)
		if _, err := tmpl.Execute(tree); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

func nested(levels int) (v any) {
	for range levels {
		v = []any{v}
	}
	return v
}

// TestNearestNames checks which names an error may suggest: those that an app config or a module declares. The
// keys inside of a value are as secret as the value.
func TestNearestNames(t *testing.T) {
	tree := Tree{}
	for path, v := range map[string]any{
		"inputs.inputs.greeting": map[string]any{"secretkey": "x"}, "install.name": "acme", "sandbox.outputs.region": "eu",
		"sandbox.outputs.tags": map[string]any{"secretkey": "x"}, "components.network.outputs.cidr": "c",
		"components.network.outputs.tags":                  map[string]any{"secretkey": "x"},
		"components.network.status":                        map[string]any{"secretkey": "x"},
		"install_stack.outputs.account_id":                 "1",
		"actions.workflows.check.outputs.steps.probe.left": "x",
		"actions.workflows.check.outputs.total":            map[string]any{"secretkey": "x"},
		"actions.workflows.check.status":                   map[string]any{"secretkey": "x"},
	} {
		tree.Set(strings.Split(path, "."), v)
	}
	for path, want := range map[string]string{
		"inputs.inputs.greting": "inputs.inputs.greeting", "input.inputs.greeting": "inputs", "install.nme": "install.name",
		"sandbox.outputs.regio": "sandbox.outputs.region", "sandbox.output.region": "sandbox.outputs",
		"components.netwrk.outputs.cidr":                  "components.network",
		"components.network.output.cidr":                  "components.network.outputs",
		"components.network.outputs.cdir":                 "components.network.outputs.cidr",
		"install_stack.outputs.acount_id":                 "install_stack.outputs.account_id",
		"actions.workflow.check":                          "actions.workflows",
		"actions.workflows.chek":                          "actions.workflows.check",
		"actions.workflows.check.output":                  "actions.workflows.check.outputs",
		"actions.workflows.check.outputs.totl":            "actions.workflows.check.outputs.total",
		"actions.workflows.check.outputs.steps.prob.left": "actions.workflows.check.outputs.steps.probe",
		"actions.workflows.check.outputs.steps.probe.lef": "actions.workflows.check.outputs.steps.probe.left",
		"install.inputs.greting":                          "inputs.inputs.greeting",
		// Keys inside of a value.
		"inputs.inputs.greeting.secretke": "", "sandbox.outputs.tags.secretke": "",
		"components.network.outputs.tags.secretke": "", "components.network.status.secretke": "",
		"actions.workflows.check.outputs.total.secretke": "", "actions.workflows.check.status.secretke": "",
		"components.network.outputs.cidr.deeper": "", "sandbox.outputs.region": "", "install.entirelydifferent": "",
	} {
		got, ok := tree.nearest(strings.Split(path, "."))
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s: %s, %t, want %q", path, got, ok, want)
		}
	}
}

// TestTemplateLimits checks that a template at each limit parses, and one beyond it does not.
func TestTemplateLimits(t *testing.T) {
	repeat := strings.Repeat
	for name, test := range map[string]struct {
		text func(n int) string
		most int
		want string
	}{
		"variables": {func(n int) string { return repeat("{{$x := .nuon.a}}\n", n) }, maxVariables,
			"k:101:3: more than 100 variables are declared"},
		"blocks": {func(n int) string { return repeat("{{if .nuon.a}}", n) + repeat("{{end}}", n) }, maxNesting,
			"nested more than 100 levels"},
		"actions": {func(n int) string { return repeat("{{.nuon.a}}", n) }, maxActions, "more than 20000 actions"},
		"bytes": {func(n int) string { return "{{.nuon.a}}" + repeat("x", n-11) }, MaxText,
			"the template is larger than 4194304 bytes"},
	} {
		if _, err := Parse("k", test.text(test.most)); err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
		if _, err := Parse("k", test.text(test.most+1)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s beyond the limit: %v", name, err)
		}
	}
}

// TestOutputLimit checks that a text of exactly the maximum is written, regardless of its parts.
func TestOutputLimit(t *testing.T) {
	for text, fits := range map[string]bool{
		"{{.nuon.a}}": true, "{{.nuon.a}}y": false, "{{.nuon.b}}y": true, "y{{.nuon.b}}": true, "y{{.nuon.b}}y": false,
	} {
		tmpl, err := Parse("k", text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tmpl.Execute(Tree{"a": strings.Repeat("x", MaxOutput), "b": strings.Repeat("x", MaxOutput-1)})
		if fits != (err == nil) || fits && len(got) != MaxOutput || !fits && !strings.Contains(err.Error(),
			"k: its output is larger") {
			t.Errorf("%s: %d bytes, %v", text, len(got), err)
		}
	}
}

// TestErrorPlaces checks which parts of a place an error shows.
func TestErrorPlaces(t *testing.T) {
	for want, e := range map[string]Error{
		"k: m": {Name: "k", Message: "m"}, "k:2: m (h)": {Name: "k", Line: 2, Message: "m", Hint: "h"},
		"k:2:3: m": {Name: "k", Line: 2, Column: 3, Message: "m"}, "k: m ": {Name: "k", Column: 3, Message: "m "},
	} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
}

// TestPrintable checks that the text of a template cannot control a terminal, and is repeated in part only.
func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[31m\u202e\n"); got != "a\uFFFD[31m\uFFFD\uFFFD" {
		t.Errorf("got %q", got)
	}
	if got := printable(strings.Repeat("a", maxMessage)); len(got) != maxMessage {
		t.Errorf("a text of the maximum has %d bytes", len(got))
	}
	if got := printable("a" + strings.Repeat("é", maxMessage)); got != "a"+strings.Repeat("é", maxMessage/2-1)+"…" {
		t.Errorf("a long text is cut to %d bytes: %q", len(got), got[len(got)-8:])
	}
}

// TestMissingFunctions checks what an error suggests for functions that other tools have.
func TestMissingFunctions(t *testing.T) {
	for call, want := range map[string]string{
		"date \"x\" .nuon.a": "take it out: a template gives the same text every time", "env \"HOME\"": "take it out",
		"randAlphaNum 5": "take it out", "genCA \"x\" 1": "take it out", "uuidv4": "take it out",
		"toYaml .nuon.a": "write toPrettyJson: YAML reads JSON", "mustToYaml .nuon.a": "write toPrettyJson",
		"include \"x\" .": "put it into a template of the chart", "tpl .nuon.a .": "put it into a template of the chart",
		"required \"x\" .nuon.a": "put it into a template of the chart",
		"untilStep 0 3 1":        "range over a list or an object instead", "seq 3": "range over a list or an object instead",
		"set .nuon.a \"k\" 1": "make a new object with merge, dict or omit",
		"unset .nuon.a \"k\"": "a template changes no value",
		"tojson .nuon.a":      "write toJson", "UPPER .nuon.a": "write upper", "joim \",\" .nuon.a": "write join",
		"somethingElse .nuon.a": "allowed are add, add1, all,",
	} {
		_, err := Parse("k", "{{.nuon.a}}\n {{ "+call+" }}")
		var refused *Error
		name, _, _ := strings.Cut(call, " ")
		if !errors.As(err, &refused) || refused.Message != `there is no function "`+name+`"` ||
			!strings.Contains(refused.Hint, want) || refused.Line != 2 || refused.Column != 5 || refused.Width != len(name) {
			t.Errorf("%s: %+v", call, refused)
		}
	}
}
