package installs

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// shop returns an app with one input of each kind, a component with a toggle, and the
// given install files.
func shop(installs map[string]string) fs.FS {
	module := "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\ndirectory = \"modules/x\"\n"
	files := fstest.MapFS{}
	put := func(file, text string) { files[file] = &fstest.MapFile{Data: []byte(text), Mode: 0o644} }
	put("metadata.toml", "version = \"v2\"\ndisplay_name = \"Shop\"\n")
	put("sandbox.toml", module)
	put("components/web.toml", "type = \"terraform_module\"\nname = \"web\"\n"+module)
	put("components/metrics.toml", "type = \"terraform_module\"\nname = \"metrics\"\ntoggleable = true\n"+
		"default_enabled = true\n"+module)
	inputs := "[[group]]\nname = \"app\"\ndisplay_name = \"App\"\ndescription = \"All\"\n"
	for _, in := range []string{"name = \"greeting\"\ndefault = \"hi\"", "name = \"note\"",
		"name = \"replicas\"\ntype = \"number\"\ndefault = \"2\"",
		"name = \"token\"\nsensitive = true\nrequired = true", "name = \"domain\"\nuser_configurable = true\n" +
			"default = \"\""} {
		inputs += "[[input]]\n" + in + "\ndisplay_name = \"X\"\ndescription = \"It\"\ngroup = \"app\"\n"
	}
	put("inputs.toml", inputs)
	for name, text := range installs {
		put("installs/"+name+".toml", text)
	}
	return files
}

func loaded(t interface{ Fatal(...any) }, files fs.FS) *appconfig.App {
	app, found := appconfig.Load(files, appconfig.Options{})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return app
}

// TestCompare checks every outcome of a sync, with the reason where a sync leaves an install alone.
func TestCompare(t *testing.T) {
	account := map[string]map[string]string{"aws_account": {"region": "eu-west-1"}}
	acme := api.Install{ID: "ins_1", Name: "acme", Approval: "prompt", ManagedBy: "config"}
	with := func(change func(*api.Install)) api.Install {
		i := acme
		change(&i)
		return i
	}
	yes := true
	ignore := cmp.Options{cmpopts.EquateEmpty(), cmp.AllowUnexported(Difference{}),
		cmpopts.IgnoreFields(Difference{}, "Reason", "Changes", "Install", "id"),
		cmpopts.IgnoreFields(api.InstallChange{}, "By"),
		cmpopts.IgnoreFields(api.NewInstall{}, "App", "Name", "ManagedBy", "Approval")}
	for name, c := range map[string]struct {
		file    string
		install []api.Install
		take    bool
		want    Difference
		moves   []string
	}{
		"a new one": {"[inputs]\nnote = \"n\"\n[labels]\ntier = \"gold\"\n[component_toggles]\nmetrics = false\n" +
			"[aws_account]\nregion = \"eu-west-1\"\n", nil, false,
			Difference{Outcome: OutcomeCreate, create: api.NewInstall{Inputs: []api.InputValue{{Name: "note", Value: "n"}},
				Labels:  map[string]string{"tier": "gold"},
				Toggles: map[string]bool{"metrics": false}, Account: account}},
			[]string{"approval prompt", "aws_account region=eu-west-1", `input note "n"`, `label tier "gold"`,
				"component metrics off"}},
		"as it says": {"[inputs]\nnote = \"n\"\n", []api.Install{with(
			func(i *api.Install) { i.Inputs = []api.InputValue{{Name: "note", Value: "n"}} })}, false,
			Difference{Outcome: OutcomeNone}, nil},
		"by default": {"[inputs]\ngreeting = \"hi\"\n", []api.Install{acme}, false,
			Difference{Outcome: OutcomeNone}, nil},
		"a default again": {"", []api.Install{with(
			func(i *api.Install) { i.Inputs = []api.InputValue{{Name: "greeting", Value: "hey"}} })}, false,
			Difference{Outcome: OutcomeChange, change: api.InstallChange{Inputs: []api.InputValue{{Name: "greeting",
				Value: "hi"}}}}, []string{`input greeting "hey" "hi"`}},
		"no default to go to": {"", []api.Install{with(
			func(i *api.Install) { i.Inputs = []api.InputValue{{Name: "note", Value: "n"}} })}, false,
			Difference{Outcome: OutcomeNone}, nil},
		"what the customer set": {"", []api.Install{with(
			func(i *api.Install) { i.Inputs = []api.InputValue{{Name: "domain", Value: "acme.example"}} })}, false,
			Difference{Outcome: OutcomeNone}, nil},
		"what the file says of it": {"[inputs]\ndomain = \"x.example\"\n", []api.Install{acme}, false,
			Difference{Outcome: OutcomeChange, change: api.InstallChange{Inputs: []api.InputValue{{Name: "domain",
				Value: "x.example"}}}}, []string{`input domain (not set) "x.example"`}},
		"a secret is not touched": {"", []api.Install{with(
			func(i *api.Install) { i.Inputs = []api.InputValue{{Name: "token", Sensitive: true}} })}, false,
			Difference{Outcome: OutcomeNone}, nil},
		"the rule": {"approval_option = \"approve-all\"\nallow_destroy = true\n",
			[]api.Install{acme}, false, Difference{Outcome: OutcomeChange, change: api.InstallChange{Approval: "approve-all",
				AllowDestroy: &yes}}, []string{"approval prompt approve-all", "allow_destroy false true"}},
		"labels come and go": {"[labels]\na = \"1\"\n", []api.Install{with(
			func(i *api.Install) { i.Labels = map[string]string{"b": "2"} })}, false,
			Difference{Outcome: OutcomeChange, change: api.InstallChange{Labels: map[string]string{"a": "1", "b": ""}}},
			[]string{`label a (none) "1"`, `label b "2" (none)`}},
		"a switch": {"[component_toggles]\nmetrics = false\n", []api.Install{acme}, false,
			Difference{Outcome: OutcomeChange, change: api.InstallChange{Toggles: map[string]bool{"metrics": false}}},
			[]string{"component metrics app default off"}},
		"a switch back": {"", []api.Install{with(
			func(i *api.Install) { i.Toggles = map[string]bool{"metrics": false} })}, false,
			Difference{Outcome: OutcomeChange, change: api.InstallChange{Toggles: map[string]bool{"metrics": true}}},
			[]string{"component metrics off on"}},
		"overrides of a new one": {"[components.web]\ntf_vars = \"a = 1\"\n", nil, false,
			Difference{Outcome: OutcomeCreate, create: api.NewInstall{
				Overrides: map[string]api.ComponentOverride{"web": {TFVars: "a = 1"}}}},
			[]string{"approval prompt", `tf_vars of web "a = 1"`}},
		"overrides": {"[components.web]\ntf_vars = \"a = 1\"\n", []api.Install{with(func(i *api.Install) {
			i.Overrides = map[string]api.ComponentOverride{"web": {TFVars: "a = 2"}, "metrics": {TFVars: "b = 1"}}
		})}, false, Difference{Outcome: OutcomeChange, change: api.InstallChange{
			Overrides: map[string]api.ComponentOverride{"web": {TFVars: "a = 1"}, "metrics": {}}}},
			[]string{`tf_vars of metrics "b = 1" (none)`, `tf_vars of web "a = 2" "a = 1"`}},
		"the same overrides": {"[components.web]\ntf_vars = \"a = 1\"\n", []api.Install{with(func(i *api.Install) {
			i.Overrides = map[string]api.ComponentOverride{"web": {TFVars: "a = 1"}}
		})}, false, Difference{Outcome: OutcomeNone}, nil},
		"people's": {"[inputs]\nnote = \"n\"\n", []api.Install{with(
			func(i *api.Install) { i.ManagedBy = "manual" })}, false, Difference{Outcome: OutcomeRefused,
			change: api.InstallChange{Inputs: []api.InputValue{{Name: "note", Value: "n"}}}},
			[]string{`input note (not set) "n"`}},
		"people's, and taken": {"", []api.Install{with(func(i *api.Install) { i.ManagedBy = "manual" })}, true,
			Difference{Outcome: OutcomeChange, change: api.InstallChange{ManagedBy: "config"}},
			[]string{"managed_by manual config"}},
		"an account that it has": {"[aws_account]\nregion = \"eu-west-1\"\n",
			[]api.Install{with(func(i *api.Install) { i.Account = account })}, false, Difference{Outcome: OutcomeNone}, nil},
		"an account that it does not": {"[aws_account]\nregion = \"eu-west-2\"\n",
			[]api.Install{with(func(i *api.Install) { i.Account = account })}, false, Difference{Outcome: OutcomeRefused}, nil},
		"an account that the file leaves to": {"", []api.Install{with(func(i *api.Install) { i.Account = account })}, false,
			Difference{Outcome: OutcomeNone}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			app := loaded(t, shop(map[string]string{"acme": "name = \"acme\"\n" + c.file}))
			got := compare(app, "shop", c.install, c.take)
			if len(got) != 1 {
				t.Fatalf("%d differences", len(got))
			}
			if d := cmp.Diff(c.want, got[0], ignore); d != "" {
				t.Error(d)
			}
			var moved []string
			for _, m := range got[0].Changes {
				moved = append(moved, strings.Join(strings.Fields(m.Field+" "+m.From+" "+m.To), " "))
			}
			if d := cmp.Diff(c.moves, moved); d != "" {
				t.Error(d)
			}
			if (got[0].Outcome == OutcomeRefused) != (got[0].Reason != "") {
				t.Errorf("is %s because %q", got[0].Outcome, got[0].Reason)
			}
		})
	}
}

// TestCompareWithoutAFile checks that an install that belongs to a missing file is
// reported, and that installs that people manage are not.
func TestCompareWithoutAFile(t *testing.T) {
	got := compare(loaded(t, shop(nil)), "shop",
		[]api.Install{{App: "shop", Name: "left", ManagedBy: "config"}, {Name: "ours", ManagedBy: "manual"}}, true)
	if len(got) != 1 || got[0].Install != "left" || got[0].Outcome != OutcomeNoFile ||
		!strings.Contains(got[0].Reason, "nuon installs generate-config shop/left") {
		t.Errorf("%+v", got)
	}
}

// TestAGeneratedFileChangesNothing checks that the file generated for any install is
// valid, and that syncing it changes nothing.
func TestAGeneratedFileChangesNothing(t *testing.T) {
	base := loaded(t, shop(nil))
	var config api.AppConfig
	for _, in := range base.Inputs {
		config.Inputs = append(config.Inputs, api.DeclaredInput{Name: in.Name, Sensitive: in.Sensitive})
	}
	for _, c := range base.Components {
		config.Components = append(config.Components, api.DeclaredComponent{Name: c.Name, Toggleable: c.Toggleable})
	}
	older := map[string]api.ComponentOverride{"of_an_older_version": {HelmValues: "a: 1"}}
	if got := fileOf(api.Install{Overrides: older}, config).Overrides; len(got) != 0 {
		t.Errorf("the file overrides values of a component that the app does not have: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		i := api.Install{
			ID:           "ins_1",
			Name:         "acme",
			ManagedBy:    "config",
			Approval:     rapid.SampledFrom([]api.InstallApproval{"prompt", "approve-all"}).Draw(t, "approval"),
			AllowDestroy: rapid.Bool().Draw(t, "destroy"), Labels: map[string]string{}, Toggles: map[string]bool{},
			Inputs: []api.InputValue{{Name: "token", Sensitive: true}, {Name: "of an older version", Value: "x"}},
		}
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[\x00-\x1f"'\\#\[\]=ü日🚀\n\r\t ]{0,8}`),
			rapid.SampledFrom([]string{"", "true", "007", "\"\"\"", "'''"}))
		for _, name := range []string{"greeting", "note", "domain"} {
			if rapid.Bool().Draw(t, name) {
				i.Inputs = append(i.Inputs, api.InputValue{Name: name, Value: storable(value.Draw(t, "value"))})
			}
		}
		if rapid.Bool().Draw(t, "label") {
			i.Labels["tier"] = rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "label's value")
		}
		if rapid.Bool().Draw(t, "toggled") {
			i.Toggles["metrics"] = rapid.Bool().Draw(t, "on")
			i.Toggles["of_an_older_version"] = true
		}
		if rapid.Bool().Draw(t, "account") {
			i.Account = map[string]map[string]string{"gcp_account": {"project_id": "p", "region": "r"}}
		}
		if rapid.Bool().Draw(t, "overridden") {
			text := rapid.SampledFrom([]string{"a = 1", "a = \"ü\"\nb = 2\n", "\na = 1", "a = \"'''\"\n", "a = 1 # '\n#'",
				"a = 1\r\nb = \"\"\n"}).Draw(t, "tf_vars")
			i.Overrides = map[string]api.ComponentOverride{"web": {TFVars: text}}
		}
		text := fileOf(i, config).encode(i.App, sensitive(config))
		app, found := appconfig.Load(shop(map[string]string{"acme": text}), appconfig.Options{})
		if err := found.Err(); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for _, d := range compare(app, "shop", []api.Install{i}, false) {
			if d.Outcome != OutcomeNone {
				t.Fatalf("a sync would %s: %+v\n%s", d.Outcome, d.Changes, text)
			}
		}
	})
}

// storable returns a text that the control plane can store: valid UTF-8 without NUL bytes.
func storable(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "") }

// TestShowDifferences checks the printed outcomes, each with its changes indented below it.
func TestShowDifferences(t *testing.T) {
	var out strings.Builder
	err := showDifferences(&out, "shop", []Difference{
		{Install: "a", Outcome: OutcomeCreate, Changes: []FieldChange{{Field: "approval", To: "prompt"},
			{Field: "input x", To: `"1"`}}},
		{Install: "b", Outcome: OutcomeChange, Changes: []FieldChange{{Field: "label tier", From: "(none)", To: `"gold"`}}},
		{Install: "c", Outcome: OutcomeNone}, {Install: "d", Outcome: OutcomeRefused, Reason: "it\x1b[2J belongs to people"},
		{Install: "e", Outcome: OutcomeNoFile, Reason: "it stays"},
	})
	want := `+ a  create
    approval  prompt
    input x   "1"
~ b  change
    label tier  (none) → "gold"
= c  no changes
! d  blocked: it [2J belongs to people
? e  it stays
`
	if d := cmp.Diff(want, out.String()); d != "" || err != nil {
		t.Error(d, err)
	}
	out.Reset()
	if err := showDifferences(&out, "shop", nil); err != nil || !strings.Contains(out.String(), "no install files") {
		t.Error(out.String(), err)
	}
	for want, all := range map[string][]Difference{
		"creates 1 install": {{Outcome: OutcomeCreate}}, "changes 2 installs": {{Outcome: OutcomeChange},
			{Outcome: OutcomeChange}, {Outcome: OutcomeNone}},
		"creates 1 and changes 1 install": {{Outcome: OutcomeCreate}, {Outcome: OutcomeChange}},
	} {
		if got := summarize(all); got != want {
			t.Error(fmt.Sprintf("%q, want %q", got, want))
		}
	}
}
