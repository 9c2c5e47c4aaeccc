package values

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// TestSealedValuesStayInTheirPlace checks that a control plane, which holds ciphertexts sealed
// to the right key, cannot move them: none opens at another path, component or install than it
// was sealed for, and the error names the path.
func TestSealedValuesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	key := identity(t)
	output := func(from Producer, name string) api.Output {
		made, err := SealOutput(from, name, []byte(`"planted"`), true, key, noSecret)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	component := func(install, name, id string) Producer {
		return ComponentProducer(api.DeploySpec{InstallID: install, Component: name, InstallComponent: id})
	}
	type held struct {
		path      string
		component string
		hash      string
		sealed    seal.Sealed
		install   string
	}
	var all []held
	for _, ins := range []string{"ins_1", "ins_2"} {
		for _, name := range []string{"token", "password"} {
			v := sealed(t, key, "inputs.inputs."+name, "planted")
			v.Sealed, _ = key.Recipient().Seal(seal.InputContext(ins, name), []byte("planted"))
			all = append(all, held{"inputs.inputs." + name, "", "", v.Sealed, ins})
			variable, err := key.Recipient().Seal(seal.InstallVariableContext(ins, name), []byte("planted"))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, held{"app.variables." + name, "", "", variable, ins})
		}
		for _, c := range []struct{ name, id, path string }{
			{"web", "ic_web", "components.web.outputs."}, {"db", "ic_db", "components.db.outputs."},
			{"web", "ic_later", "components.web.outputs."}, {"sandbox", "ic_sandbox", "sandbox.outputs."},
		} {
			for _, name := range []string{"url", "token"} {
				o := output(component(ins, c.name, c.id), name)
				all = append(all, held{c.path + name, c.id, o.Hash, o.Sealed, ins})
			}
		}
		o := output(ActionProducer(api.ActionSpec{InstallID: ins, Action: "web"}), "token")
		all = append(all, held{"actions.workflows.web.outputs.token", "", o.Hash, o.Sealed, ins})
	}
	for _, place := range all {
		for _, what := range all {
			given := api.Values{Sealed: []api.SealedValue{{Path: strings.Split(place.path, "."), Component: place.component,
				Hash: what.hash, Sealed: what.sealed}}}
			_, err := Open(place.install, given, key, &redact.Set{})
			same := place.path == what.path && place.install == what.install && place.component == what.component
			switch {
			case same && err != nil:
				t.Errorf("%s of %s does not open in its own place: %v", what.path, what.install, err)
			case !same && err == nil:
				t.Errorf("%s (%s) of %s opens as %s (%s) of %s", what.path, what.component, what.install, place.path,
					place.component, place.install)
			case !same && (!strings.Contains(err.Error(), ".nuon."+place.path) || strings.Contains(err.Error(), "planted")):
				t.Errorf("%v", err)
			}
		}
	}
}

// TestNothingElseIsSealed checks that a path that is neither an input's, an app variable's nor an
// output's accepts no sealed value of any kind.
func TestNothingElseIsSealed(t *testing.T) {
	t.Parallel()
	key := identity(t)
	for _, path := range []string{
		"install.id", "install.name", "app.id", "app.variables", "app.variables.a.b", "inputs",
		"inputs.inputs", "inputs.inputs.a.b",
		"components.web.status", "components.web.outputs",
		"components.web.outputs.a.b", "components.sandbox.outputs.a", "sandbox.outputs", "sandbox.outputs.a.b",
		"actions.workflows.a.outputs", "secrets.a", "",
	} {
		for _, kind := range []string{
			seal.KindInput, seal.KindVariable, seal.KindOutput, seal.KindState, seal.KindRegistration,
		} {
			closed, err := key.Recipient().Seal(seal.Context{Install: install, Kind: kind, Path: path}, []byte("x"))
			if err != nil {
				t.Fatal(err)
			}
			given := api.Values{Sealed: []api.SealedValue{{Path: strings.Split(path, "."), Sealed: closed}}}
			if _, err := Open(install, given, key, &redact.Set{}); err == nil ||
				!strings.Contains(err.Error(), "no sealed value belongs there") {
				t.Errorf("%s at %q: %v", kind, path, err)
			}
		}
	}
	ours, err := key.Recipient().Seal(seal.AppVariableContext("org_1", "app_1", "a"), []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	stored := api.Values{Sealed: []api.SealedValue{{Path: []string{"app", "variables", "a"}, Sealed: ours}}}
	if _, err := Open(install, stored, key, &redact.Set{}); err == nil {
		t.Error("a variable as the control plane stores it opened in a job")
	}
	good := api.Values{Sealed: []api.SealedValue{sealed(t, key, "inputs.inputs.a", "x")}}
	if _, err := Open("", good, key, &redact.Set{}); err == nil {
		t.Error("a job that names no install opened a value")
	}
}

// TestSealedOutputsNeedTheirHash checks that a ciphertext alone does not prove an output,
// because anyone can seal to a public key.
func TestSealedOutputsNeedTheirHash(t *testing.T) {
	t.Parallel()
	key, other := identity(t), identity(t)
	use := web.context("url")
	forged, err := key.Recipient().Seal(use, []byte(`"https://attacker"`))
	if err != nil {
		t.Fatal(err)
	}
	genuine, err := SealOutput(web, "url", []byte(`"https://genuine"`), true, key, noSecret)
	if err != nil {
		t.Fatal(err)
	}
	for name, hash := range map[string]string{
		"none": "", "another value's": genuine.Hash, "a stranger's": use.Hash(other, []byte(`"https://attacker"`)),
		"another place's": web.context("x").Hash(key, []byte(`"https://attacker"`)),
	} {
		given := api.Values{Sealed: []api.SealedValue{{Path: []string{"components", "web", "outputs", "url"},
			Component: "ic_web", Hash: hash, Sealed: forged}}}
		if _, err := Open(install, given, key, &redact.Set{}); err == nil ||
			!strings.Contains(err.Error(), ".nuon.components.web.outputs.url: no runner of this install reported") {
			t.Errorf("%s: %v", name, err)
		}
	}
	input := sealed(t, key, "inputs.inputs.a", "x")
	input.Hash = seal.InputContext(install, "a").Hash(key, []byte("x"))
	if _, err := Open(install, api.Values{Sealed: []api.SealedValue{input}}, key, &redact.Set{}); err == nil {
		t.Error("an input with the hash of an output was opened")
	}
}

// at splits a path at its dots.
func at(path string) []string { return strings.Split(path, ".") }

// reported returns values as a control plane sends them back after a runner reported them.
func reported(t *testing.T, key seal.Identity) api.Values {
	t.Helper()
	given := api.Values{Plain: json.RawMessage(`{"inputs":{"inputs":{"plain":"x"}},"install":{"id":"ins_1"},
		"components":{"web":{"status":"active","outputs":{"cluster":{"endpoint":"https://genuine","ports":[443,1.50]},"name":"n"}},"db":{"outputs":{}}}}`)}
	for name, value := range map[string]string{"cluster": `{"ports":[443, 15e-1],"endpoint":"https://genuine"}`,
		"name": `"n"`} {
		made, err := SealOutput(web, name, []byte(value), false, key, noSecret)
		if err != nil {
			t.Fatal(err)
		}
		given.Proofs = append(given.Proofs,
			api.ValueProof{Path: []string{"components", "web", "outputs", name}, Component: "ic_web", Hash: made.Hash})
	}
	token, err := SealOutput(web, "token", []byte(`{"deep":"secret"}`), true, key, noSecret)
	if err != nil {
		t.Fatal(err)
	}
	given.Sealed = []api.SealedValue{
		{Path: at("components.web.outputs.token"), Component: "ic_web", Hash: token.Hash, Sealed: token.Sealed},
		sealed(t, key, "inputs.inputs.token", "secret"),
	}
	return given
}

func TestAuthentic(t *testing.T) {
	t.Parallel()
	key := identity(t)
	opened, err := Open(install, reported(t, key), key, &redact.Set{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"components.web.outputs":                  true,
		"components.web.outputs.cluster":          true,
		"components.web.outputs.cluster.endpoint": true,
		"components.web.outputs.token":            true,
		"components.web.outputs.token.deep":       true,
		"components.web.outputs.missing":          false,
		"components.web.outputs.cluster.missing":  false,
		"components.web":                          false, // its status comes from the control plane
		"components.db.outputs":                   false,
		"inputs.inputs.token":                     false,
		"inputs.inputs.plain":                     false,
		"install.inputs.plain":                    false,
		"install.id":                              false,
	} {
		if got := opened.IsAuthentic(at(path)); got != want {
			t.Errorf("%s: authentic is %v", path, got)
		}
	}
	if opened.IsAuthentic(nil) {
		t.Error("all values are authentic")
	}
}

// TestMadeUpValuesAreNotAuthentic tries each way in which a control plane can change
// what a runner reported.
func TestMadeUpValuesAreNotAuthentic(t *testing.T) {
	t.Parallel()
	key := identity(t)
	const evil = "https://attacker"
	swap := func(from, to string) func(*api.Values) {
		return func(v *api.Values) { v.Plain = json.RawMessage(strings.Replace(string(v.Plain), from, to, 1)) }
	}
	cluster := at("components.web.outputs.cluster")
	for name, change := range map[string]func(*api.Values){
		"another value":      swap("https://genuine", evil),
		"another number":     swap("443", "444"),
		"one key more":       swap(`"endpoint"`, `"token":"t","endpoint"`),
		"one key less":       swap(`"endpoint":"https://genuine",`, ""),
		"another order":      swap("[443,1.50]", "[1.50,443]"),
		"a text, no number":  swap("443", `"443"`),
		"no proof":           func(v *api.Values) { v.Proofs = nil },
		"another's proof":    func(v *api.Values) { v.Proofs[0].Hash, v.Proofs[1].Hash = v.Proofs[1].Hash, v.Proofs[0].Hash },
		"another component":  func(v *api.Values) { v.Proofs[0].Component, v.Proofs[1].Component = "ic_db", "ic_db" },
		"proof of all above": func(v *api.Values) { v.Proofs[0].Path, v.Proofs[1].Path = cluster[:3], cluster[:3] },
	} {
		given := reported(t, key)
		change(&given)
		opened, err := Open(install, given, key, &redact.Set{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if opened.IsAuthentic(cluster) {
			t.Errorf("%s: the cluster is authentic", name)
		}
	}
	given := reported(t, key)
	if opened, err := Open("ins_2", api.Values{Plain: given.Plain, Proofs: given.Proofs}, key,
		&redact.Set{}); err != nil || opened.IsAuthentic(cluster) {
		t.Errorf("another install's values are authentic: %v", err)
	}
	if opened, err := Open(install, api.Values{Plain: given.Plain, Proofs: given.Proofs}, seal.Identity{},
		&redact.Set{}); err != nil || opened.IsAuthentic(cluster) {
		t.Errorf("a runner without a key takes values for authentic: %v", err)
	}
}

// TestAuthenticIsWhatGetReads checks that an alias and its canonical path name the same value,
// so that no caller checks one value and reads another.
func TestAuthenticIsWhatGetReads(t *testing.T) {
	t.Parallel()
	key := identity(t)
	from := ComponentProducer(api.DeploySpec{InstallID: install, Component: "sandbox", InstallComponent: "ic_s"})
	made, err := SealOutput(from, "endpoint", []byte(`"https://genuine"`), false, key, noSecret)
	if err != nil {
		t.Fatal(err)
	}
	given := api.Values{
		Plain:  json.RawMessage(`{"sandbox":{"outputs":{"endpoint":"https://genuine"}},"install":{"sandbox":{"outputs":{"endpoint":"https://attacker"}}}}`),
		Proofs: []api.ValueProof{{Path: at("sandbox.outputs.endpoint"), Component: "ic_s", Hash: made.Hash}},
	}
	opened, err := Open(install, given, key, &redact.Set{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"sandbox.outputs.endpoint", "install.sandbox.outputs.endpoint"} {
		if got, _ := opened.Get(at(path)...); !opened.IsAuthentic(at(path)) || got != "https://genuine" {
			t.Errorf("%s: authentic is %v, and it reads %q", path, opened.IsAuthentic(at(path)), got)
		}
	}
}

// TestProofsSurviveJSONB checks that hashes survive the way in which Postgres spells numbers,
// whitespace and the order of keys.
func TestProofsSurviveJSONB(t *testing.T) {
	t.Parallel()
	key := identity(t)
	for _, same := range [][]string{
		{`1e2`, `100`, `100.0`, `1.00E+2`}, {`0.1`, `1e-1`, `0.10`}, {`12345678901234567890`, `12345678901234567890.0`},
		{`-0`, `0`, `0.00`},
		{`{"b":1,"a":[1,2]}`, `{ "a" : [1, 2.0], "b" : 1e0 }`}, {`"\u00e9<"`, `"é\u003c"`}, {`[]`, `[ ]`}, {`{}`}, {`null`},
		{`[[]]`}, {`[{}]`}, {`""`},
		{`12345678901234567891`}, {`"1"`}, {`1`}, {`[1,[2]]`}, {`[[1],2]`}, {`{"a":{"b":1}}`}, {`{"a.b":1}`}, {`{"a":"b:1"}`},
		{`true`}, {`false`},
	} {
		first := plainOutputHash(web.context("o"), []byte(same[0]), key)
		for _, text := range same {
			if first == "" || plainOutputHash(web.context("o"), []byte(text), key) != first {
				t.Errorf("%s and %s have two hashes", same[0], text)
			}
		}
		for _, other := range []string{`2`, `"2"`, `[1,2]`, `{"a":1}`, `[true]`} {
			if plainOutputHash(web.context("o"), []byte(other), key) == first {
				t.Errorf("%s and %s have one hash", same[0], other)
			}
		}
	}
	for _, huge := range []string{`1e999999999`, `1e-999999999`, `1` + strings.Repeat("0", 400)} {
		if hash := plainOutputHash(web.context("o"), []byte(huge), key); hash != "" {
			t.Errorf("%.20s has a hash", huge)
		}
	}
}

// TestPathsAreWrittenApart checks that outputs of different components or names never
// have the same context.
func TestPathsAreWrittenApart(t *testing.T) {
	key := rapid.SampledFrom([]string{"a", "b", "a.b", `a"`, "a.outputs.b", `"a.b"`, "outputs", "sandbox", "workflows",
		""})
	rapid.Check(t, func(t *rapid.T) {
		make := func(label string) (string, seal.Context) {
			name, output, kind := key.Draw(t, label+" name"), key.Draw(t, label+" output"), rapid.Bool().Draw(t,
				label+" is an action")
			from := ComponentProducer(api.DeploySpec{InstallID: install, Component: name})
			if kind {
				from = ActionProducer(api.ActionSpec{InstallID: install, Action: name})
			}
			return fmt.Sprintf("%q %q %v", name, output, kind), from.context(output)
		}
		one, first := make("one")
		two, second := make("two")
		if (one == two) != (first == second) {
			t.Fatalf("%s and %s: %v and %v", one, two, first, second)
		}
	})
}

// FuzzCanonical checks that each JSON value has exactly one canonical text.
// That text itself is not JSON.
func FuzzCanonical(f *testing.F) {
	f.Add(`{"a":[1,2.5e3,null,true,"x"]}`)
	f.Add(`1e400`)
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := decodePlain(json.RawMessage(`{"v":` + text + `}`))
		if err != nil {
			return
		}
		value, _ := tree.Get(render.Path{"v"})
		first, err := canonicalJSON(value)
		if err != nil {
			return
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodePlain(json.RawMessage(`{"v":` + string(encoded) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		value, _ = again.Get(render.Path{"v"})
		if second, err := canonicalJSON(value); err != nil || string(second) != string(first) {
			t.Fatalf("%s, then %s: %v", first, second, err)
		}
	})
}

// TestManifestOutput checks that a manifest is sealed, and left out where the control plane would refuse it.
func TestManifestOutput(t *testing.T) {
	key := identity(t)
	web := ComponentProducer(api.DeploySpec{InstallID: "in1", Component: "web", InstallComponent: "ic1"})
	small := strings.Repeat("x", MaxOutputBytes/2)
	warnings := 0
	warn := func(string, ...any) { warnings++ }
	made, err := ManifestOutput(web, small, key, warn)
	if err != nil || len(made) != 1 || made[0].Value != nil {
		t.Fatalf("%d outputs, %v", len(made), err)
	}
	text, err := key.Open(made[0].Sealed, web.context("manifest"))
	if err != nil || string(text.Reveal()) != `"`+small+`"` {
		t.Errorf("%d bytes, %v", len(text.Reveal()), err)
	}
	for _, size := range []int{MaxOutputBytes - 2, 4 * MaxOutputBytes} {
		if made, err := ManifestOutput(web, strings.Repeat("x", size), key, warn); err != nil || len(made) != 0 {
			t.Errorf("%d bytes: %d outputs, %v", size, len(made), err)
		}
	}
	if warnings != 2 {
		t.Errorf("%d warnings", warnings)
	}
}
