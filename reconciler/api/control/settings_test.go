package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// switchable returns an app in which api needs cache, and both may be switched off.
func switchable() appconfig.App {
	component := func(name string, needs ...string) appconfig.Component {
		return appconfig.Component{
			Name: name, Kind: "terraform_module", Terraform: &appconfig.Terraform{Version: "1.11.4"}, Toggleable: true,
			DefaultEnabled: true, Dependencies: needs,
		}
	}
	return appconfig.App{
		Components: []appconfig.Component{
			component("api", "cache"), component("cache"),
			{Name: "web", Kind: "terraform_module", Terraform: &appconfig.Terraform{Version: "1.11.4"}},
		},
		Inputs: []appconfig.Input{
			{Name: "size", Type: "string", Default: ptr("s")}, {Name: "token", Type: "string", Sensitive: true},
		},
	}
}

// shop seeds that app with an install, and returns the install's path.
func (w *world) shop() string {
	w.Helper()
	app := w.one.app("shop", switchable())
	for _, name := range []string{"api", "cache", "web"} {
		w.one.component(app, "cmp_"+name, name)
	}
	w.one.runner("pool", "install", true)
	w.ok(http.MethodPost, "/v1/installs", api.NewInstall{App: "shop", Name: "east"}, http.StatusCreated)
	return "/v1/installs/east"
}

// ok sends a request as an operator, which must succeed.
func (w *world) ok(method, path string, body any, status int) string {
	w.Helper()
	got := w.call(w.one.token["operator"], method, path, body)
	if got.Status != status {
		w.Fatalf("%s %s: %d %s", method, path, got.Status, got.Body)
	}
	return got.Body
}

func (w *world) install(path string) (i api.Install) {
	w.Helper()
	must(w, json.Unmarshal([]byte(w.ok(http.MethodGet, path, nil, http.StatusOK)), &i))
	return i
}

// TestManagedBy checks that people change only installs that are managed manually and files only
// theirs, and that an install is transferred only on request.
func TestManagedBy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	patch := func(c api.InstallChange) answer { return w.call(w.one.token["approver"], http.MethodPatch, path, c) }
	free := ptr(true)
	for _, step := range []struct {
		change    api.InstallChange
		refused   bool
		managedBy string // afterwards
	}{
		{api.InstallChange{AllowDestroy: free}, false, "manual"},
		{api.InstallChange{AllowDestroy: free, By: "config"}, true, "manual"},
		{api.InstallChange{By: "config", ManagedBy: "manual"}, true, "manual"},
		{api.InstallChange{By: "config", ManagedBy: "config"}, false, "config"},
		{api.InstallChange{AllowDestroy: free, By: "config"}, false, "config"},
		{api.InstallChange{AllowDestroy: free}, true, "config"},
		{api.InstallChange{ManagedBy: "config"}, true, "config"},
		{api.InstallChange{AllowDestroy: free, ManagedBy: "manual"}, false, "manual"},
		{api.InstallChange{ManagedBy: "config"}, false, "config"}, // a person transfers it
	} {
		got := patch(step.change)
		if step.refused {
			p := w.refusedAs(got, http.StatusConflict, "managed_elsewhere")
			if p.Detail == "" {
				t.Errorf("%+v: no remedy", step.change)
			}
			preview := w.call(w.one.token["operator"], http.MethodPost, path+"/preview", step.change)
			w.refusedAs(preview, http.StatusConflict, "managed_elsewhere")
		} else if got.Status != http.StatusOK {
			t.Errorf("%+v: %d %s", step.change, got.Status, got.Body)
		}
		if now := w.install(path).ManagedBy; string(now) != step.managedBy {
			t.Fatalf("after %+v it belongs to %s, want %s", step.change, now, step.managedBy)
		}
	}
	w.refusedAs(patch(api.InstallChange{ManagedBy: "nobody"}), http.StatusUnprocessableEntity, "bad_managed_by")
	w.refusedAs(patch(api.InstallChange{By: "nobody"}), http.StatusUnprocessableEntity, "bad_managed_by")
}

func TestLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	w.ok(http.MethodPatch, path,
		api.InstallChange{Labels: map[string]string{"tier": "gold", "eu/zone": "a"}}, http.StatusOK)
	w.ok(http.MethodPatch, path,
		api.InstallChange{Labels: map[string]string{"tier": "", "note": "two words = fine"}}, http.StatusOK)
	if diff := cmp.Diff(
		map[string]string{"eu/zone": "a", "note": "two words = fine"}, w.install(path).Labels,
	); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []map[string]string{
		{"": "x"}, {"a b": "x"}, {"a=b": "x"}, {strings.Repeat("a", 64): "x"},
		{"a": strings.Repeat("x", 257)}, {"a": "x\ny"},
	} {
		w.refusedAs(w.call(w.one.token["operator"], http.MethodPatch, path, api.InstallChange{Labels: bad}),
			http.StatusUnprocessableEntity, "bad_label")
	}
	many := map[string]string{}
	for i := range 65 {
		many["l"+itoa(i)] = "x"
	}
	w.refusedAs(w.call(w.one.token["operator"], http.MethodPatch, path, api.InstallChange{Labels: many}),
		http.StatusUnprocessableEntity, "bad_label")
}

// TestTheAccountNeverChanges checks that an account cannot change once it is set.
func TestTheAccountNeverChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	account := func(kind string, pairs ...string) map[string]map[string]string {
		values := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		return map[string]map[string]string{kind: values}
	}
	patch := func(account map[string]map[string]string) answer {
		return w.call(w.one.token["operator"], http.MethodPatch, path, api.InstallChange{Account: account})
	}
	for _, bad := range []map[string]map[string]string{account("ali_account", "region", "x"),
		account("aws_account", "project_id", "x"), account("aws_account", "region", "x\x1b"),
		{"aws_account": {}, "gcp_account": {}}} {
		w.refusedAs(patch(bad), http.StatusUnprocessableEntity, "bad_account")
	}
	home := account("aws_account", "region", "eu-central-1")
	for range 2 { // the second changes nothing
		if got := patch(home); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	w.refusedAs(patch(account("aws_account", "region", "us-east-1")), http.StatusConflict, "fixed")
	w.refusedAs(patch(account("gcp_account", "region", "eu-central-1")), http.StatusConflict, "fixed")
	if diff := cmp.Diff(home, w.install(path).Account); diff != "" {
		t.Error(diff)
	}
}

// TestTheAccountGrows checks that what an account lacks can be added, by an admin.
func TestTheAccountGrows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	want := map[string]string{}
	for key, value := range map[string]string{"project_id": "acme-1", "region": "europe-west3"} {
		want[key] = value
		got := w.call(w.one.token["admin"], http.MethodPatch, path,
			api.InstallChange{Account: map[string]map[string]string{"gcp_account": {key: value}}})
		if got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	if diff := cmp.Diff(map[string]map[string]string{"gcp_account": want}, w.install(path).Account); diff != "" {
		t.Error(diff)
	}
}

// TestOnlyAdminsNameTheAccount checks that naming the account of an existing install needs the role
// that confirms one, also from an install file, and that an operator may name the region.
func TestOnlyAdminsNameTheAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	for _, c := range []struct{ kind, key, value, place string }{
		{"aws_account", "account_id", "123456789012", "region"}, {"gcp_account", "project_id", "acme-1", "region"},
		{"azure_account", "subscription_id", "00000000-0000-0000-0000-000000000001", "location"},
		{"azure_account", "tenant_id", "00000000-0000-0000-0000-000000000002", "location"},
	} {
		w.exec("update installs set account = '{}', managed_by = 'manual'")
		name := api.InstallChange{Account: map[string]map[string]string{c.kind: {c.key: c.value, c.place: "x"}}}
		byFile := name
		byFile.By, byFile.ManagedBy = "config", "config"
		for _, role := range []string{"operator", "approver"} {
			for remedy, change := range map[string]api.InstallChange{"installs update": name, "installs sync": byFile} {
				for _, got := range []answer{w.patch(role, change),
					w.call(w.one.token[role], http.MethodPost, path+"/preview", change)} {
					p := w.refusedAs(got, http.StatusForbidden, "forbidden")
					if !strings.Contains(p.Title, "role "+role) || !strings.Contains(p.Title, c.key+") needs admin") ||
						!strings.Contains(p.Detail, "Ask an admin") || !strings.Contains(p.Detail, remedy) {
						t.Errorf("the refusal of %s as %s does not state what to do: %+v", c.key, role, p)
					}
				}
			}
		}
		place := api.InstallChange{Account: map[string]map[string]string{c.kind: {c.place: "x"}}}
		if got := w.patch("operator", place); got.Status != http.StatusOK {
			t.Errorf("an operator names the %s: %d %s", c.place, got.Status, got.Body)
		}
		if diff := cmp.Diff(place.Account, w.install(path).Account); diff != "" {
			t.Error(diff)
		}
		for _, role := range []string{"admin", "operator"} { // the second changes nothing
			if got := w.patch(role, name); got.Status != http.StatusOK {
				t.Errorf("%s names %s: %d %s", role, c.key, got.Status, got.Body)
			}
		}
		if diff := cmp.Diff(name.Account, w.install(path).Account); diff != "" {
			t.Error(diff)
		}
	}
	// A new install may name its account: nothing is sealed for it yet.
	w.ok(http.MethodPost, "/v1/installs", api.NewInstall{App: "shop", Name: "west",
		Account: map[string]map[string]string{"aws_account": {"account_id": "123456789012"}}}, http.StatusCreated)
}

// TestNoOtherAccountThanTheConfirmedOne checks that nobody names another account than the one that a
// person confirmed, because the named one wins.
func TestNoOtherAccountThanTheConfirmedOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.exec(`update installs set confirmed_account = '{"cloud":"aws","account":"123456789012"}'`)
	for role, account := range map[string]map[string]map[string]string{
		"admin":    {"aws_account": {"account_id": "999999999999"}},
		"operator": {"gcp_account": {"region": "europe-west3"}}, // the machines of another cloud could register no more
	} {
		p := w.refusedAs(w.patch(role, api.InstallChange{Account: account}), http.StatusConflict,
			"confirmed_other_account")
		if !strings.Contains(p.Title, "123456789012") || !strings.Contains(p.Detail, "nuon runners confirm") {
			t.Errorf("the refusal does not name the account and the remedy: %+v", p)
		}
	}
	for _, part := range []map[string]string{{"region": "eu-central-1"}, {"account_id": "123456789012"}} {
		account := map[string]map[string]string{"aws_account": part}
		if got := w.patch("admin", api.InstallChange{Account: account}); got.Status != http.StatusOK {
			t.Errorf("%v: %d %s", part, got.Status, got.Body)
		}
	}
	w.exec(`update installs set confirmed_account = '{"cloud":"azure","account":"a","tenant":"b"}', account = '{}'`)
	tenant := map[string]map[string]string{"azure_account": {"tenant_id": "00000000-0000-0000-0000-000000000002"}}
	w.refusedAs(w.patch("admin", api.InstallChange{Account: tenant}), http.StatusConflict, "confirmed_other_account")
}

// TestSwitching checks that a component that others need cannot be switched off, and that one that
// lacks something cannot be switched on, each with a message.
func TestSwitching(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	patch := func(toggles map[string]bool) answer {
		return w.call(w.one.token["operator"], http.MethodPatch, path, api.InstallChange{Toggles: toggles})
	}
	for _, bad := range []string{"web", "none", ""} {
		p := w.refusedAs(patch(map[string]bool{bad: false}), http.StatusUnprocessableEntity, "bad_toggle")
		if !strings.Contains(p.Detail, "api, cache") {
			t.Errorf("%q does not say which can", p.Detail)
		}
	}
	p := w.refusedAs(patch(map[string]bool{"cache": false}), http.StatusConflict, "needed_by")
	if p.Title != "api needs cache, which would be disabled" || p.Detail != "Disable api too, or enable cache." {
		t.Errorf("%+v", p)
	}
	w.refusedAs(w.call(w.one.token["operator"], http.MethodPost, path+"/preview",
		api.InstallChange{Toggles: map[string]bool{"cache": false}}), http.StatusConflict, "needed_by")
	// Its earlier rejection is removed; one of another component is not.
	w.exec(`insert into rejections (org_id, install_component_id, desired_digest, kind, actor, reason, workflow_id)
		select org_id, id, 'd', 'rejected', 'vera', 'no', 'w' from install_components where name in ('api', 'web')`)
	w.ok(http.MethodPatch, path,
		api.InstallChange{Toggles: map[string]bool{"cache": false, "api": false}}, http.StatusOK)
	if left := w.texts(
		"select ic.name from rejections r join install_components ic on ic.id = r.install_component_id",
	); !cmp.Equal(left, []string{"web"}) {
		t.Errorf("the refusals are of %v", left)
	}
	i := w.install(path)
	if diff := cmp.Diff(map[string]bool{"api": false, "cache": false}, i.Toggles); diff != "" {
		t.Error(diff)
	}
	for _, c := range i.Components {
		if off := c.Name != "web"; off != (c.Off == "toggle" && c.Status == "removed" &&
			strings.Contains(c.Reason, "is disabled")) {
			t.Errorf("%s is %s (%s): %s", c.Name, c.Status, c.Off, c.Reason)
		}
	}
	w.refusedAs(patch(map[string]bool{"api": true}), http.StatusConflict, "needed_by")
	w.exec("update install_components set torn_down = true where name = 'cache'")
	// Another app has an install of the same name: the command still names this one.
	w.one.app("other", switchable())
	w.ok(http.MethodPost, "/v1/installs", api.NewInstall{App: "other", Name: "east"}, http.StatusCreated)
	w.refusedAs(patch(map[string]bool{"api": true}), http.StatusConflict, "ambiguous")
	p = w.refusedAs(w.call(w.one.token["operator"], http.MethodPatch, "/v1/installs/shop%2Feast",
		api.InstallChange{Toggles: map[string]bool{"api": true, "cache": true}}),
		http.StatusConflict, "needed_by")
	if p.Title != "api needs cache, which is torn down" ||
		p.Detail != "Deploy that first: nuon deploy shop/east cache." {
		t.Errorf("%+v", p)
	}
	got := w.call(w.one.token["operator"], http.MethodPost, "/v1/installs", api.NewInstall{
		App: "shop", Name: "west", Toggles: map[string]bool{"cache": false},
	})
	w.refusedAs(got, http.StatusConflict, "needed_by")
	w.ok(http.MethodPost, "/v1/installs",
		api.NewInstall{App: "shop", Name: "west", ManagedBy: "config", Toggles: map[string]bool{"api": false}},
		http.StatusCreated)
	if west := w.install("/v1/installs/west"); west.ManagedBy != "config" ||
		!cmp.Equal(west.Toggles, map[string]bool{"api": false}) {
		t.Errorf("%+v", west)
	}
}

// TestPreviewInstall checks that it returns the effect of a change, and changes no row.
func TestPreviewInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	before := w.rows("")
	preview := func(c api.InstallChange) map[string]string {
		var p api.InstallPreview
		must(t, json.Unmarshal([]byte(w.ok(http.MethodPost, path+"/preview", c, http.StatusOK)), &p))
		all := map[string]string{}
		for _, c := range p.Components {
			all[c.Name] = string(c.Effect) + ": " + c.Reason
		}
		return all
	}
	want := map[string]string{
		"api":   "none: api is disabled on this install",
		"cache": "none: not because of this: it already waits: cache has no build yet",
		"web":   "none: not because of this: it already waits: web has no build yet",
	}
	if diff := cmp.Diff(
		want,
		preview(api.InstallChange{
			Toggles: map[string]bool{"api": false}, Inputs: []api.InputValue{{Name: "token", Sensitive: true}},
		}),
	); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []api.InputValue{{Name: "token", Value: "in clear"}, {Name: "none", Value: "x"}} {
		w.refusedAs(w.call(w.one.token["operator"], http.MethodPost, path+"/preview",
			api.InstallChange{Inputs: []api.InputValue{bad}}), http.StatusUnprocessableEntity, "bad_inputs")
	}
	if after := w.rows(""); !cmp.Equal(before, after) {
		t.Error("a preview changed rows:\n" + cmp.Diff(before, after))
	}
}

// TestInputsOfAPinnedInstall checks that they are those of its release, and those that it will need
// once it is unpinned.
func TestInputsOfAPinnedInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	w.exec(`insert into builds (org_id, id, component_id, input_id, number, status, repository, commit, artifact_digest, reason)
		select org_id, 'bld_' || id, id, 'inp_' || id, 1, 'succeeded', 'r', 'c', 'sha256:a', 'r' from components`)
	w.ok(http.MethodPost, path+"/pin", api.NewPin{Release: 1, Reason: "the audit"}, http.StatusOK)
	next := switchable()
	next.Inputs = []appconfig.Input{{Name: "region", Type: "string", Required: true}}
	raw, err := json.Marshal(next)
	must(t, err)
	w.exec("insert into app_versions (org_id, id, app_id, number, digest, config, reason) select org_id, 'ver_2', id, "+
		"2, 'sha256:2', $1, 'r' from apps", raw)
	w.exec("update apps set version_id = 'ver_2'")
	w.exec("insert into releases (org_id, id, app_id, number, digest, version_id, status, cause) select org_id, " +
		"'rel_2', id, 2, 'sha256:2', 'ver_2', 'complete', 'the region' from apps")
	w.exec("insert into release_components (org_id, release_id, component_id, input_id) select org_id, 'rel_2', id, " +
		"input_id from components")
	for _, name := range []string{"size", "region"} {
		w.ok(http.MethodPatch, path,
			api.InstallChange{Inputs: []api.InputValue{{Name: name, Value: "x"}}}, http.StatusOK)
	}
	w.refusedAs(w.call(w.one.token["operator"], http.MethodPatch, path,
		api.InstallChange{Inputs: []api.InputValue{{Name: "colour", Value: "x"}}}),
		http.StatusUnprocessableEntity, "bad_inputs")
	i := w.install(path)
	if i.Pinned != 1 || i.Latest != 2 || i.PinReason != "the audit" || i.PinnedBy != w.one.mark+"-operator" ||
		!strings.Contains(i.Reason, "pinned at release 1 (newest is 2): the audit") {
		t.Errorf("%+v", i)
	}
	if why := w.ok(
		http.MethodGet, "/v1/explain/install/east", nil, http.StatusOK,
	); !strings.Contains(why, `"name":"release 1 (complete)"`) || strings.Contains(why, `"name":"release 2`) {
		t.Errorf("explain tells of another release: %s", why)
	}
	w.refusedAs(w.call(w.one.token["operator"], http.MethodPost, path+"/pin", api.NewPin{Release: 3}),
		http.StatusConflict, "unknown_release")
	w.refusedAs(w.call(w.one.token["operator"], http.MethodPost, path+"/pin", `{"release": -1}`),
		http.StatusUnprocessableEntity, "bad_release")
	w.refusedAs(w.call(w.one.token["operator"], http.MethodPost, path+"/pin", api.NewPin{
		Release: 1, Reason: strings.Repeat("x", 501),
	}), http.StatusUnprocessableEntity, "bad_reason")
	for range 2 { // has no effect on an install that is not pinned
		w.ok(http.MethodDelete, path+"/pin", nil, http.StatusOK)
	}
	if i := w.install(path); i.Pinned != 0 || i.PinReason != "" {
		t.Errorf("%+v", i)
	}
	if said := w.texts(
		"select action from audit_events where action like 'install.%pin' order by id",
	); !cmp.Equal(said, []string{"install.pin", "install.unpin"}) {
		t.Errorf("the audit says %v", said)
	}
}

// TestOverriding checks which overrides of components an install may have, that a change adds to them, and that an
// empty one removes those of a component.
func TestOverriding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.shop()
	patch := func(all map[string]api.ComponentOverride) answer {
		return w.call(w.one.token["operator"], http.MethodPatch, path, api.InstallChange{Overrides: all})
	}
	for title, bad := range map[string]map[string]api.ComponentOverride{
		`the app has no component "wep"; did you mean "web"?`:        {"wep": {TFVars: "a = 1"}},
		"component web is a terraform_module and has no helm_values": {"web": {HelmValues: "a: 1"}},
		"component web: tf_vars:1: Missing expression: Expected the start of an expression, but found the end of the file": {
			"web": {TFVars: "a = ["}},
	} {
		if p := w.refusedAs(patch(bad), http.StatusUnprocessableEntity, "bad_override"); p.Title != title {
			t.Errorf("%q, want %q", p.Title, title)
		}
	}
	p := w.refusedAs(patch(map[string]api.ComponentOverride{
		"cache": {TFVars: `a = "{{.nuon.components.api.outputs.x}}"`},
	}), http.StatusUnprocessableEntity, "bad_override")
	if !strings.Contains(p.Title, "in a circle") {
		t.Errorf("%q", p.Title)
	}
	want := map[string]api.ComponentOverride{"web": {TFVars: "a = 1"}, "cache": {TFVars: "b = 1"}}
	for name, o := range want {
		if got := patch(map[string]api.ComponentOverride{name: o}); got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
	}
	if diff := cmp.Diff(want, w.install(path).Overrides); diff != "" {
		t.Error(diff)
	}
	w.ok(http.MethodPatch, path, api.InstallChange{Overrides: map[string]api.ComponentOverride{"cache": {}}},
		http.StatusOK)
	delete(want, "cache")
	if diff := cmp.Diff(want, w.install(path).Overrides); diff != "" {
		t.Error(diff)
	}
	w.ok(http.MethodPost, "/v1/installs", api.NewInstall{App: "shop", Name: "south", Overrides: want},
		http.StatusCreated)
	if diff := cmp.Diff(want, w.install("/v1/installs/south").Overrides); diff != "" {
		t.Error(diff)
	}
	if detail := w.texts("select detail->>'overrides' from audit_events where action = 'install.change' " +
		"order by id desc limit 1"); !cmp.Equal(detail, []string{`["cache"]`}) {
		t.Errorf("the audit log has %v", detail)
	}
}
