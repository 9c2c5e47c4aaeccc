package appconfig

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestToggles: an enabled component needs no disabled one, by default and on each install.
func TestToggles(t *testing.T) {
	on, off := "toggleable = true\ndefault_enabled = true\n", "toggleable = true\n"
	base := files{"components/a.toml": moduleFile("a", on), "components/b.toml": moduleFile("b", off),
		"components/c.toml": moduleFile("c", "")}
	install := func(toggles string) files {
		return files{"installs/east.toml": "name = 'east'\n[component_toggles]\n" + toggles}
	}
	told := goldensOf(t, "testdata/toggles.txtar")
	for name, added := range map[string]files{
		"nothing needs what is off": base,
		"what is off may need what is on": {"components/b.toml": moduleFile("b", off+
			"dependencies = ['a', 'c']")},
		"what is always there needs what is off": {"components/c.toml": moduleFile("c", "dependencies = ['b']")},
		"what is on by default reads what is off": {"components/a.toml": moduleFile("a", on) +
			"[vars]\nx = \"{{.nuon.components.b.outputs.y}}\"\n"},
		"default_enabled alone":                         {"components/a.toml": moduleFile("a", "default_enabled = true\n")},
		"an install that switches":                      install("a = false\nb = 'true'\n"),
		"an install that switches a typo":               install("bb = true\n"),
		"an install that switches what is always there": install("c = false\n"),
		"an install that takes what is needed": files{"components/c.toml": moduleFile("c",
			"dependencies = ['a']")}.and(install("a = false\n")),
		"an install that mends the default": files{"components/a.toml": moduleFile("a", on+"dependencies = ['b']")}.and(
			install("b = true\n")),
		"an install of two accounts": {"installs/east.toml": "name = 'east'\naws_account = {region = 'eu'}\ngcp_account = " +
			"{project_id = 'p'}\n"},
		"a switch that is no flag": install("a = 'maybe'\n"),
	} {
		t.Run(name, func(t *testing.T) {
			_, found := Load(small().and(base).and(added).fs(), Options{})
			told.check(t, name, found)
		})
	}
}

// TestInstallSettings: an App has labels, toggles and account of an install; a component of a kind
// without effect has no toggle yet.
func TestInstallSettings(t *testing.T) {
	app := mustLoad(t, small().and(files{
		"components/a.toml": moduleFile("a", "toggleable = true\n"),
		"components/h.toml": "type = 'helm_chart'\nname = 'h'\nchart_name = 'hello'\ntoggleable = true\n[public_repo]\n" +
			"repo = 'acme/infra'\ndirectory = 'x'\nbranch = 'main'\n",
		"components/i.toml": "type = 'pulumi'\nname = 'i'\ntoggleable = true\n" +
			"runtime = 'go'\n[public_repo]\n" +
			"repo = 'acme/infra'\ndirectory = 'x'\nbranch = 'main'\n",
		"installs/east.toml": "name = 'east'\nazure_account = {}\n[labels]\ntier = 'gold'\nrank = 1\n[component_toggles]\n" +
			"a = true\nh = true\ni = true\n",
		"installs/west.toml": "name = 'west'\n[gcp_account]\nproject_id = 'p'\n",
	}))
	want := []Install{
		{Name: "east", ApprovalOption: "prompt", Labels: map[string]string{"tier": "gold", "rank": "1"},
			Toggles: map[string]bool{"a": true, "h": true},
			Account: map[string]map[string]string{"azure_account": {}}},
		{Name: "west", ApprovalOption: "prompt", Account: map[string]map[string]string{"gcp_account": {"project_id": "p"}}},
	}
	if diff := cmp.Diff(want, app.Installs); diff != "" {
		t.Error(diff)
	}
	roundTrip(t, app)
}

// TestASwitchChangesNothingThatIsDeployed: toggleable changes the app version, not the config
// digest.
func TestASwitchChangesNothingThatIsDeployed(t *testing.T) {
	before := mustLoad(t, small().and(files{"components/a.toml": moduleFile("a", "")}))
	after := mustLoad(t, small().and(files{"components/a.toml": moduleFile("a",
		"toggleable = true\ndefault_enabled = true\n")}))
	was, _ := before.Component("a")
	is, _ := after.Component("a")
	if before.Digest() == after.Digest() || was.ConfigDigest() != is.ConfigDigest() {
		t.Errorf("the app: %t, the component: %t", before.Digest() == after.Digest(),
			was.ConfigDigest() == is.ConfigDigest())
	}
	for _, c := range []struct {
		toggles map[string]bool
		on      bool
	}{{nil, true}, {map[string]bool{"a": false}, false}, {map[string]bool{"b": false}, true}} {
		if is.Enabled(c.toggles) != c.on || !was.Enabled(c.toggles) {
			t.Errorf("with %v it is on: %t, and without a switch: %t", c.toggles, is.Enabled(c.toggles), was.Enabled(c.toggles))
		}
	}
}
