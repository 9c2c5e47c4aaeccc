package values

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

func identity(t testing.TB) seal.Identity {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sealed(t testing.TB, key seal.Identity, path, value string) api.SealedValue {
	t.Helper()
	made := api.SealedValue{Path: strings.Split(path, ".")}
	if strings.HasPrefix(path, "components.") || strings.HasPrefix(path, "sandbox.") {
		made.Component = "ic_1"
	}
	use, err := valueContext(install, render.Canonical(made.Path), made.Component)
	if err != nil {
		t.Fatal(err)
	}
	if use.Kind == seal.KindOutput {
		made.Hash = use.Hash(key, []byte(value))
	}
	if made.Sealed, err = key.Recipient().Seal(use, []byte(value)); err != nil {
		t.Fatal(err)
	}
	return made
}

const install = "ins_1"

// web is the producer of the tests' outputs.
var web = ComponentProducer(api.DeploySpec{InstallID: install, Component: "web", InstallComponent: "ic_web"})

func noSecret(string) bool { return false }

func open(t testing.TB, plain string, pairs ...string) (*Values, *redact.Set) {
	t.Helper()
	key, known := identity(t), &redact.Set{}
	given := api.Values{Plain: json.RawMessage(plain)}
	for i := 0; i < len(pairs); i += 2 {
		given.Sealed = append(given.Sealed, sealed(t, key, pairs[i], pairs[i+1]))
	}
	opened, err := Open(install, given, key, known)
	if err != nil {
		t.Fatal(err)
	}
	return opened, known
}

func TestRender(t *testing.T) {
	opened, _ := open(t, `{"inputs":{"inputs":{"name":"x"}},"install":{"id":"ins_1"}}`,
		"install.inputs.pin", "1e5", "inputs.inputs.code", `"quoted"`, "components.db.outputs.port", "5432",
		"components.db.outputs.all", `{"a":["b"],"t":true}`, "sandbox.outputs.raw", "no JSON {")
	tests := map[string]string{
		"{{.nuon.inputs.inputs.pin}}":                            "1e5",
		"{{.nuon.install.inputs.code}}":                          `"quoted"`,
		"{{add .nuon.components.db.outputs.port 1}}":             "5433",
		"{{index .nuon.components.db.outputs.all.a 0}}":          "b",
		"{{.nuon.components.db.outputs.all | toJson}}":           `{"a":["b"],"t":true}`,
		"{{.nuon.install.sandbox.outputs.raw}}":                  "no JSON {",
		"{{ range .Values }}stays as it is, without our root{{}": "{{ range .Values }}stays as it is, without our root{{}",
	}
	for template, want := range tests {
		if got, err := opened.Render("x", template); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", template, got, err, want)
		}
	}
	if id, found := opened.Get("install", "id"); !found || id != "ins_1" {
		t.Error(id, found)
	}
	if _, err := opened.RenderAll("vars", map[string]string{"a": "{{.nuon.inputs.inputs.missing}}"}); err == nil ||
		!strings.Contains(err.Error(), "vars.a") || !strings.Contains(err.Error(), "inputs.missing") {
		t.Error(err)
	}
}

// TestWhatIsSecret checks that a text made from a secret is secret, and that the
// text next to it is not.
func TestWhatIsSecret(t *testing.T) {
	const secret = "planted-secret-1"
	encoded := base64.StdEncoding.EncodeToString([]byte(secret))
	upper := strings.ToUpper(secret)
	tests := map[string]struct {
		template      string
		secret, plain []string
	}{
		"whole":  {"{{.nuon.inputs.inputs.s}}", []string{secret, encoded}, nil},
		"inside": {"u:{{.nuon.inputs.inputs.s}}@h", []string{"u:" + secret + "@h"}, []string{"u:"}},
		"turned": {"x{{upper .nuon.inputs.inputs.s}}", []string{"x" + upper}, nil},
		"choice": {"{{if .nuon.inputs.inputs.s}}true{{else}}false{{end}}", nil, []string{"true", "false"}},
		"JSON file": {"{\n  \"a\": \"{{upper .nuon.inputs.inputs.s}}\",\n  \"b\": \"everybody-may-see\"\n}",
			[]string{upper}, []string{"everybody-may-see"}},
		"JSON in one line": {`{"a":"{{upper .nuon.inputs.inputs.s}}","b":"everybody-may-see"}`, []string{upper},
			[]string{"everybody-may-see"}},
		"file of settings": {"a = everybody-may-see\nb = {{upper .nuon.inputs.inputs.s}}\n", []string{"b = " + upper},
			[]string{"everybody-may-see"}},
		"not read":         {"{{.nuon.inputs.inputs.plain}}", nil, []string{"everybody"}},
		"object around it": {"{{toJson .nuon.inputs.inputs}}", []string{secret}, []string{"everybody"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			opened, known := open(t, `{"inputs":{"inputs":{"plain":"everybody"}}}`, "inputs.inputs.s", secret)
			if _, err := opened.Render("x", test.template); err != nil {
				t.Fatal(err)
			}
			holds := opened.Secrets.Contains()
			for _, text := range test.secret {
				if !holds(text) || !known.Contains([]byte(text)) {
					t.Errorf("%q is not known as a secret", text)
				}
			}
			for _, text := range test.plain {
				if holds(text) || known.Contains([]byte(text)) {
					t.Errorf("%q is taken for a secret", text)
				}
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	key := identity(t)
	tests := map[string]struct {
		given api.Values
		want  string
	}{
		"another key": {api.Values{Sealed: []api.SealedValue{sealed(t, identity(t), "inputs.inputs.a", "x")}},
			".nuon.inputs.inputs.a"},
		"no path":   {api.Values{Sealed: []api.SealedValue{{}}}, "no sealed value belongs there"},
		"no object": {api.Values{Plain: json.RawMessage(`[1]`)}, "not a JSON object"},
		"null":      {api.Values{Plain: json.RawMessage(`null`)}, "not a JSON object"},
	}
	for name, test := range tests {
		if _, err := Open(install, test.given, key, &redact.Set{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOutput(t *testing.T) {
	key := identity(t)
	secrets := NewSecrets(&redact.Set{}, "planted \"secret\"")
	tests := map[string]struct {
		value     string
		sensitive bool
		sealed    bool
	}{
		"plain":     {`{"a": [1, "x"]}`, false, false},
		"marked":    {`"x"`, true, true},
		"escaped":   {`["<planted \"secret\">"]`, false, true},
		"as a key":  {`{"planted \"secret\"": 1}`, false, true},
		"unicode":   {`"\u0070lanted \"secret\""`, false, true},
		"truncated": {`"planted \"secre"`, false, false},
	}
	for name, test := range tests {
		got, err := SealOutput(web, "o", []byte(test.value), test.sensitive, key, secrets.Contains())
		if err != nil || (got.Value == nil) != test.sealed || got.Sealed.IsZero() == test.sealed {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		again, _ := SealOutput(web, "o", []byte(" "+test.value+"\n"), test.sensitive, key, secrets.Contains())
		if again.Hash != got.Hash {
			t.Errorf("%s: one value, two hashes", name)
		}
	}
	if _, err := SealOutput(web, "o", []byte("{"), false, key, secrets.Contains()); err == nil {
		t.Error("broken JSON was taken")
	}
}

// TestRenderedSecretIsKnown checks that a rendered value is secret for any secret
// and any text around it.
func TestRenderedSecretIsKnown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[ -~]{8,40}`).Filter(func(s string) bool {
			return len(
				strings.TrimSpace(s)) >= 8
		}).Draw(rt, "secret")
		before := rapid.StringMatching(`[a-z"{:=, ]{0,20}`).Draw(rt, "before")
		after := rapid.StringMatching(`[a-z"}, ]{0,20}`).Draw(rt, "after")
		function := rapid.SampledFrom([]string{"", " | b64enc", " | upper", " | quote", " | toJson"}).Draw(rt, "function")
		opened, _ := open(t, `{}`, "inputs.inputs.s", secret)
		// A brace before the template would change the template.
		rendered, err := opened.Render("x",
			strings.ReplaceAll(before, "{", "(")+"{{.nuon.inputs.inputs.s"+function+"}}"+after)
		if err != nil {
			rt.Fatal(err)
		}
		if !opened.Secrets.Contains()(rendered) {
			rt.Fatalf("%q of %q is shown", rendered, secret)
		}
	})
}
