package appconfig

import (
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

// TestOneMistakeIsToldOnce: a declaration that cannot be read, or has no name, causes no errors
// where other files refer to it.
func TestOneMistakeIsToldOnce(t *testing.T) {
	base := brokenBase(t)
	for name, c := range map[string]struct{ file, old, new, want string }{
		"a component without quotes": {"components/api.toml", `name       = "api"`, `name       = api`,
			`components/api.toml:2:14: error: TOML syntax: a text stands in quotes (write "api")`},
		"a mistake below the name": {"components/api_image.toml", `"2.3.1"`, `2.3.1`,
			`components/api_image.toml:6:13: error: TOML syntax: this is no number (write "2.3.1")`},
		"a component of no type": {"components/api.toml", `"helm_chart"`, `"helm"`,
			`components/api.toml:1:14: error: there is no component type "helm" (`},
		"a job": {"components/api.toml", `"helm_chart"`, `"job"`,
			`components/api.toml:1:14: error: components of type job are not supported (`},
		"an input without quotes": {"inputs.toml", `name         = "domain"`, `name         = domain`,
			`inputs.toml:14:16: error: TOML syntax: a text stands in quotes (write "domain")`},
		"a role in a file with no close": {"permissions/maintenance.toml", `"maintenance"`, `"maintenance`,
			`permissions/maintenance.toml:1:15: error: TOML syntax: a text is not closed`},
		"a context without a name": {"kubernetes_contexts.toml", "", "[[kubernetes_context]]\ncomponent = \"network\"\n",
			`kubernetes_contexts.toml:1:3: error: "kubernetes_context[0].name" is missing`},
		"an operation that is none": {"operation_roles.toml", "", "[[rules]]\nprincipal = \"nuon::component:*\"\noperation " +
			"= \"tear_down\"\nrole = \"{{.nuon.install.id}}-maintenance\"\n",
			`operation_roles.toml:3:13: error: "rules[0].operation" cannot be "tear_down"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := maps.Clone(base)
			text := c.new
			if c.old != "" {
				before := string(dir[c.file].Data)
				if text = strings.Replace(before, c.old, c.new, 1); text == before {
					t.Fatal("nothing was changed")
				}
			}
			dir[c.file] = &fstest.MapFile{Data: []byte(text)}
			_, found := Load(dir, Options{})
			got := strings.Split(strings.TrimSpace(told(found, false)), "\n")
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("says:\n%s\nwant one line:\n%s", strings.Join(got, "\n"), c.want)
			}
		})
	}
}

// TestNamesThatAreNowhereAreTold: an unreadable file does not hide unrelated errors.
func TestNamesThatAreNowhereAreTold(t *testing.T) {
	dir := brokenBase(t)
	dir["components/api_image.toml"] = &fstest.MapFile{Data: []byte("name = api_image\n")}
	dir["components/quota.toml"] = &fstest.MapFile{Data: []byte("type = \"kubernetes_manifest\"\nname = \"quota\"\n" +
		"namespace = \"n\"\ndependencies = [\"apu\"]\nmanifest = \"./manifests/quota.yaml\"\n")}
	_, found := Load(dir, Options{})
	if got := told(found, false); !strings.Contains(got, `the dependency "apu" does not exist`) {
		t.Errorf("says:\n%s", got)
	}
}

// TestBlankFileIsNoForm: an empty file does not conflict with the directory of the same section,
// because authors leave such files behind.
func TestBlankFileIsNoForm(t *testing.T) {
	for _, text := range []string{"", "\n", "# they are in secrets/\n"} {
		dir := brokenBase(t)
		dir["secrets/mail.toml"] = &fstest.MapFile{Data: []byte("name = \"mail\"\ndescription = \"to send mail\"\n")}
		dir["secrets.toml"] = &fstest.MapFile{Data: []byte(text)}
		if app, found := Load(dir, Options{}); app == nil || len(app.Secrets) != 1 {
			t.Errorf("%q: says:\n%s", text, told(found, false))
		}
	}
	dir := brokenBase(t)
	dir["secrets/mail.toml"] = &fstest.MapFile{Data: []byte("name = \"mail\"\ndescription = \"to send mail\"\n")}
	if _, found := Load(dir, Options{}); !strings.Contains(told(found, false),
		"both secrets.toml and secrets/ are there") {
		t.Errorf("says:\n%s", told(found, false))
	}
}

// TestNamespacesOfCopiesAreRendered: every text of a secret is rendered (section 3.3 of the
// format).
func TestNamespacesOfCopiesAreRendered(t *testing.T) {
	dir := brokenBase(t)
	dir["secrets.toml"] = &fstest.MapFile{Data: []byte("[[secret]]\nname = \"mail\"\ndescription = \"d\"\n" +
		"kubernetes_sync = true\n" +
		"kubernetes_sync_targets = [{ namespaces = [\"{{.nuon.install.id}}\"], name = \"{{.nuon.install.id}}-mail\", key = " +
		"\"{{.nuon.install.nme}}\" }]\n")}
	_, found := Load(dir, Options{})
	if got := told(found, false); strings.Contains(got, "not rendered") || !strings.Contains(got, "nme") {
		t.Errorf("says:\n%s", got)
	}
}

// TestFilesOfOthers: the file of another program is a warning; a misspelled file name is an error.
func TestFilesOfOthers(t *testing.T) {
	dir := brokenBase(t)
	dir["Cargo.toml"] = &fstest.MapFile{Data: []byte("[package]\n")}
	app, found := Load(dir, Options{})
	if got := told(found, false); app == nil ||
		!strings.Contains(got, "Cargo.toml:1:1: warning: Cargo.toml is not a file of the format and is not read") {
		t.Errorf("says:\n%s", got)
	}
	dir["actions.toml"], dir["metdata.toml"] = dir["Cargo.toml"], dir["Cargo.toml"]
	_, found = Load(dir, Options{})
	if got := told(found, false); !strings.Contains(got, "metdata.toml:1:1: error: ") ||
		!strings.Contains(got, "actions.toml:1:1: error: ") {
		t.Errorf("says:\n%s", told(found, false))
	}
}

// TestNamesWithSlashes: the name of a branch may contain slashes, as in git.
func TestNamesWithSlashes(t *testing.T) {
	dir := brokenBase(t)
	dir["branches/a.toml"] = &fstest.MapFile{Data: []byte("name = \"release/1.x\"\n[connected_repo]\nrepo = " +
		"\"acme/app\"\ndirectory = \".\"\nbranch = \"release/1.x\"\n")}
	if app, found := Load(dir, Options{}); app == nil {
		t.Errorf("says:\n%s", told(found, false))
	}
}

// TestSpellingsOfNothing: a boundary without restrictions, and a var_name equal to the name, do not
// change the digest.
func TestSpellingsOfNothing(t *testing.T) {
	digestOf := func(role, component string) string {
		dir := brokenBase(t)
		dir["permissions/provision.toml"] = &fstest.MapFile{Data: []byte(role +
			string(dir["permissions/provision.toml"].Data))}
		dir["components/network.toml"] = &fstest.MapFile{Data: []byte(component +
			string(dir["components/network.toml"].Data))}
		app, found := Load(dir, Options{})
		if app == nil {
			t.Fatal(found)
		}
		return app.Digest()
	}
	want := digestOf("", "")
	for _, role := range []string{"permissions_boundary = ''\n", "permissions_boundary = '{}'\n",
		"permissions_boundary = ' { } '\n"} {
		if digestOf(role, "") != want {
			t.Errorf("%s makes another version", role)
		}
	}
	if digestOf("", "var_name = 'network'\n") != want {
		t.Error("var_name makes another version")
	}
	if digestOf("", "var_name = 'net'\n") == want ||
		digestOf("permissions_boundary = '{\"Version\": \"2012-10-17\", \"Statement\": []}'\n", "") == want {
		t.Error("the digest is blind")
	}
}

// TestWordsTurnNoTerminal: names of files and declarations are untrusted, and may contain
// characters that move or reverse a terminal's text.
func TestWordsTurnNoTerminal(t *testing.T) {
	dir := brokenBase(t)
	dir["components/\u202egpj.toml"] = &fstest.MapFile{Data: []byte("type = \"terraform_module\"\nname = \"a\u202e\"\n" +
		"dependencies = [\"b\u2066\"]\n")}
	dir["metadata.toml"] = &fstest.MapFile{Data: []byte("version = \"v2\"\nreadme = \"./no\u202efile\u2028.md\"\n")}
	_, found := Load(dir, Options{})
	for _, d := range found {
		if strings.ContainsAny(d.Message+d.Hint, "\u202e\u2066\u2028\x1b") {
			t.Errorf("%q", d)
		}
	}
}

// TestOlderPolicyTypes: policies of the older types apply to all components.
func TestOlderPolicyTypes(t *testing.T) {
	dir := brokenBase(t)
	dir["policies.toml"] = &fstest.MapFile{Data: []byte("[[policy]]\nname = 'p'\ntype = 'runner_job_terraform_deploy'\n" +
		"engine = 'opa'\ncontents = \"\"\"\npackage nuon\n\n" +
		"import rego.v1\n\ndeny contains \"x\" if input.plan.errored\n\"\"\"\n")}
	app, found := Load(dir, Options{})
	if app == nil {
		t.Fatalf("says:\n%s", told(found, false))
	}
	if got := app.Policies[0]; got.Type != "terraform_module" || len(got.Components) != 1 || got.Components[0] != "*" {
		t.Errorf("is %+v", got)
	}
	dir["policies.toml"] = &fstest.MapFile{Data: []byte(strings.Replace(string(dir["policies.toml"].Data),
		"runner_job_terraform_deploy", "terraform_module", 1))}
	if app, _ = Load(dir, Options{}); app != nil {
		t.Error("a newer type needs no components")
	}
}
