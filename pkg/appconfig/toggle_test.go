package appconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// messages are what Load says about files, as lines.
func messages(f files) (lines []string) {
	_, found := Load(f.fs(), Options{})
	for _, one := range found {
		lines = append(lines, one.String())
	}
	return lines
}

// TestToggles: what is on needs nothing that is off, by default and on each install.
func TestToggles(t *testing.T) {
	on, off := "toggleable = true\ndefault_enabled = true\n", "toggleable = true\n"
	base := files{"components/a.toml": component("a", on), "components/b.toml": component("b", off), "components/c.toml": component("c", "")}
	install := func(toggles string) files {
		return files{"installs/east.toml": "name = 'east'\n[component_toggles]\n" + toggles}
	}
	for name, test := range map[string]struct {
		files files
		want  []string
	}{
		"nothing needs what is off":       {base, nil},
		"what is off may need what is on": {files{"components/b.toml": component("b", off+"dependencies = ['a', 'c']")}, nil},
		"what is always there needs what is off": {files{"components/c.toml": component("c", "dependencies = ['b']")}, []string{
			"components/c.toml:2:8: error: by default c is on, and b, which it needs, is off (switch b on too, or c off)"}},
		"what is on by default reads what is off": {files{"components/a.toml": component("a", on) + "[vars]\nx = \"{{.nuon.components.b.outputs.y}}\"\n"}, []string{
			"components/a.toml:2:8: error: by default a is on, and b, which it needs, is off (switch b on too, or a off)"}},
		"default_enabled alone": {files{"components/a.toml": component("a", "default_enabled = true\n")}, []string{
			"components/a.toml:4:1: warning: default_enabled has no effect on a component that cannot be switched off (write toggleable = true beside it, or remove it)"}},
		"an install that switches":        {install("a = false\nb = 'true'\n"), nil},
		"an install that switches a typo": {install("bb = true\n"), []string{`installs/east.toml:3:1: error: the app has no component "bb"`}},
		"an install that switches what is always there": {install("c = false\n"), []string{
			`installs/east.toml:3:1: error: component "c" cannot be switched off or on (write toggleable = true in its file, or remove it here)`}},
		"an install that takes what is needed": {files{"components/c.toml": component("c", "dependencies = ['a']")}.and(install("a = false\n")), []string{
			`installs/east.toml:2:2: error: install "east": c is on, and a, which it needs, is off (switch a on too, or c off)`}},
		"an install that mends the default": {files{"components/a.toml": component("a", on+"dependencies = ['b']")}.and(install("b = true\n")), []string{
			"components/a.toml:2:8: error: by default a is on, and b, which it needs, is off (switch b on too, or a off)"}},
		"an install of two accounts": {files{"installs/east.toml": "name = 'east'\naws_account = {region = 'eu'}\ngcp_account = {project_id = 'p'}\n"}, []string{
			"installs/east.toml:3:1: error: an install is for one account (keep one of them, and write an install for each account)"}},
		"a switch that is no flag": {install("a = 'maybe'\n"), []string{
			`installs/east.toml:2:2: error: "component_toggles" must be a table of true and false, not a table`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, messages(small().and(base).and(test.files))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestInstallSettings: labels, toggles and account come through; a component of a kind without effect has no switch yet.
func TestInstallSettings(t *testing.T) {
	app := mustLoad(t, small().and(files{
		"components/a.toml":  component("a", "toggleable = true\n"),
		"components/h.toml":  "type = 'helm_chart'\nname = 'h'\nchart_name = 'h'\ntoggleable = true\n[public_repo]\nrepo = 'acme/infra'\ndirectory = 'x'\nbranch = 'main'\n",
		"installs/east.toml": "name = 'east'\nazure_account = {}\n[labels]\ntier = 'gold'\nrank = 1\n[component_toggles]\na = true\nh = true\n",
		"installs/west.toml": "name = 'west'\n[gcp_account]\nproject_id = 'p'\n",
	}))
	want := []Install{
		{Name: "east", ApprovalOption: "prompt", Labels: map[string]string{"tier": "gold", "rank": "1"}, Toggles: map[string]bool{"a": true},
			Account: map[string]map[string]string{"azure_account": {}}},
		{Name: "west", ApprovalOption: "prompt", Account: map[string]map[string]string{"gcp_account": {"project_id": "p"}}},
	}
	if diff := cmp.Diff(want, app.Installs); diff != "" {
		t.Error(diff)
	}
	roundTrip(t, app)
}

// TestASwitchChangesNothingThatIsDeployed, but it is a new version of the app.
func TestASwitchChangesNothingThatIsDeployed(t *testing.T) {
	before := mustLoad(t, small().and(files{"components/a.toml": component("a", "")}))
	after := mustLoad(t, small().and(files{"components/a.toml": component("a", "toggleable = true\ndefault_enabled = true\n")}))
	was, _ := before.Component("a")
	is, _ := after.Component("a")
	if before.Digest() == after.Digest() || was.ConfigDigest() != is.ConfigDigest() {
		t.Errorf("the app: %t, the component: %t", before.Digest() == after.Digest(), was.ConfigDigest() == is.ConfigDigest())
	}
	for _, c := range []struct {
		toggles map[string]bool
		on      bool
	}{{nil, true}, {map[string]bool{"a": false}, false}, {map[string]bool{"b": false}, true}} {
		if is.On(c.toggles) != c.on || !was.On(c.toggles) {
			t.Errorf("with %v it is on: %t, and without a switch: %t", c.toggles, is.On(c.toggles), was.On(c.toggles))
		}
	}
}
