package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/seal"
)

func version(t *testing.T, plain string) Version {
	t.Helper()
	made, err := parse([]byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestParse checks that a state that Terraform saved without a response may be its first,
// and then has neither a serial nor a lineage.
func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		plain, first, lineage string
		serial                int64
	}{
		"whole": {plain: `{"version":4,"serial":7,"lineage":"l"}`, lineage: "l", serial: 7},
		"whole, where none was": {plain: `{"version":4,"serial":7,"lineage":"l"}`, first: "mine",
			lineage: "l", serial: 7},
		"first": {plain: `{"version":4,"serial":0,"lineage":"","n":1.50}`, first: "mine",
			lineage: "mine", serial: 1},
		"first, where another was":  {plain: `{"version":4,"serial":0,"lineage":""}`},
		"of another format":         {plain: `{"version":3,"serial":0,"lineage":""}`, first: "mine"},
		"torn":                      {plain: `{"version":4,"serial":0,"lineage":""`, first: "mine"},
		"with a lineage, no serial": {plain: `{"version":4,"lineage":"l"}`, first: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := ParseStateFile([]byte(test.plain), test.first)
			if made.Serial != test.serial || made.Lineage != test.lineage || (err == nil) != (test.lineage != "") {
				t.Fatalf("%d of %q, %v", made.Serial, made.Lineage, err)
			}
			if name == "first" && string(made.Plain.Reveal()) != `{"lineage":"mine","n":1.50,"serial":1,"version":4}` {
				t.Fatalf("%s", made.Plain.Reveal())
			}
		})
	}
}

func TestDifference(t *testing.T) {
	const head = `{"version":4,"serial":3,"lineage":"l","terraform_version":"1.11.4"`
	instance := func(address, rest string) string {
		return `{"mode":"managed","type":"x","name":"` + address + `","instances":[` + rest + `]}`
	}
	before := version(t, head+`,"outputs":{"gone":{"value":1},"same":{"value":{"b":1,"a":2}},"other":{"value":1}},"resources":[`+
		instance("same", `{"attributes":{"a":1,"b":2}}`)+","+
		instance("gone", `{"index_key":0,"attributes":{"p":"planted"}},{"index_key":"k","attributes":{}},{"deposed":"d1","attributes":{}}`)+","+
		instance("other", `{"attributes":{"a":1.0}}`)+
		`,{"mode":"data","type":"x","name":"looked_at","instances":[{"attributes":{}}]}]}`)
	after := version(t, head+`,"outputs":{"new":{"value":1},"same":{"value":{"a":2,"b":1}},"other":{"value":1,"sensitive":true}},"resources":[`+
		instance("same", `{"attributes":{"b":2,"a":1}}`)+
		`,{"module":"module.m","mode":"managed","type":"x","name":"new","instances":[{"attributes":{}}]},`+
		instance("other", `{"attributes":{"a":1.0},"status":"tainted"}`)+`]}`)
	report, err := DiffVersions(before, after)
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Validate(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, change := range append(report.Changes, report.Outputs...) {
		said = append(said, string(change.Action)+" "+change.Title())
	}
	want := []string{
		"import module.m.x.new", "forget x.gone (deposed object d1)", `forget x.gone["k"]`, "forget x.gone[0]",
		"update x.other",
		"destroy output.gone", "create output.new", "update output.other",
	}
	if difference := cmp.Diff(want, said); difference != "" || report.Destructive() || !report.Applyable ||
		report.Totals.Unchanged != 1 {
		t.Fatalf("%s\n%+v", difference, report)
	}
	shown, err := json.Marshal(report)
	if err != nil || bytes.Contains(shown, []byte("planted")) {
		t.Fatal(err, string(shown))
	}
	for name, test := range map[string]struct {
		now, to   Version
		applyable bool
	}{
		"the same under another number": {version(t, head+`}`), version(t, strings.Replace(head, "3", "9", 1)+`}`), false},
		"notes alone":                   {version(t, head+`}`), version(t, head+`,"check_results":[1]}`), true},
		"nothing before":                {Version{}, after, true},
	} {
		if report, err := DiffVersions(test.now, test.to); err != nil || report.Applyable != test.applyable ||
			report.Validate() != nil {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// FuzzState checks that parsing any state ends with an error or with a consistent version,
// which stays the same under another serial.
func FuzzState(f *testing.F) {
	f.Add([]byte(written(3)))
	f.Add([]byte(`{"version":4,"serial":0,"lineage":""}`))
	f.Add([]byte(`{"version":4,"Serial":1,"lineage":"l","resources":[{"mode":"managed","instances":[{"index_key":{},"sensitive_attributes":[[{"type":"index","value":{"value":-1}}]]}]}]}`))
	f.Add([]byte(`{"version":4,"serial":1e3,"lineage":"l","outputs":{"a":null}}`))
	key, err := seal.NewIdentity()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		made, err := ParseStateFile(plain, "first")
		if err != nil {
			return
		}
		if made.Lineage == "" {
			t.Fatal("a version without a lineage")
		}
		made.Sensitive(func([]byte) {})
		if _, err := made.Outputs(); err != nil {
			return
		}
		moved, err := made.WithSerial(made.Serial/2, "another")
		if err != nil || moved.Serial != made.Serial/2 || moved.Lineage != "another" {
			t.Fatalf("%d of %q, %v", moved.Serial, moved.Lineage, err)
		}
		report, err := DiffVersions(made, moved)
		if err != nil {
			return // the resources cannot be read
		}
		if report.Applyable || len(report.Changes)+len(report.Outputs) > 0 {
			t.Fatalf("another number is another state: %+v", report)
		}
		if report, err = DiffVersions(Version{}, made); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(report); err != nil {
			t.Fatal(err)
		}
		if made.digest(key, component) == made.digest(key,
			seal.Context{Install: component.Install, Kind: component.Kind, Component: "other"}) {
			t.Fatal("two components' states have one digest")
		}
	})
}

// TestStatesStayWithTheirComponent checks that a state from another component, another install
// or another kind of value is rejected, and that the error names both contexts.
func TestStatesStayWithTheirComponent(t *testing.T) {
	key := identity(t)
	version, err := parse([]byte(written(7)))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := SealVersion(version, key, component)
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := OpenVersion(kept, key, component); err != nil || opened.Serial != 7 {
		t.Fatal(err)
	}
	for name, place := range map[string]seal.Context{
		"another component": {Install: "ins_1", Kind: seal.KindState, Component: "ic_other"},
		"another install":   {Install: "ins_2", Kind: seal.KindState, Component: "ic"},
		"another kind":      {Install: "ins_1", Kind: seal.KindBundle, Component: "ic"},
	} {
		if _, err := OpenVersion(kept, key, place); !errors.Is(err, seal.ErrContext) ||
			!strings.Contains(err.Error(), component.String()) || !strings.Contains(err.Error(), place.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A control plane needs only the public key to seal a forged state, but the hash
	// needs the private key.
	forged, err := key.Recipient().Seal(component, []byte(written(7)))
	if err != nil {
		t.Fatal(err)
	}
	kept.Sealed, kept.Digest = forged, "hmac:"+strings.Repeat("0", 64)
	if _, err := OpenVersion(kept, key, component); err == nil ||
		!strings.Contains(err.Error(), "not written by a runner of this install") {
		t.Error(err)
	}
}
