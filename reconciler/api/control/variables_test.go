package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// variableBench is an app whose component reads two variables, of which none is set.
type variableBench struct {
	*world
	app, path string
}

func newVariableBench(t *testing.T) *variableBench {
	t.Helper()
	w := newWorld(t)
	config := hello("web")
	config.Components[0].Terraform.Vars = map[string]string{
		"a": "{{.nuon.app.variables.sender}}", "b": "{{.nuon.app.variables.mail_key}}",
	}
	config.Actions[0].Steps = []appconfig.ActionStep{{Name: "a", Command: "true",
		EnvVars: map[string]string{"SENDER": "{{.nuon.app.variables.sender}}"}}}
	return &variableBench{world: w, app: w.one.app("shop", config), path: "/v1/apps/shop/variables"}
}

func (b *variableBench) change(body map[string]any) (list api.AppVariableList) {
	b.Helper()
	got := b.call(b.one.token["operator"], http.MethodPatch, b.path, body)
	if got.Status != http.StatusOK {
		b.Fatalf("%d %s", got.Status, got.Body)
	}
	must(b, json.Unmarshal([]byte(got.Body), &list))
	return list
}

// secret returns a value as the CLI sends it: sealed to a key, for an app and name.
func (b *variableBench) secret(name, app, sealedName, value string) map[string]any {
	return map[string]any{"name": name, "sensitive": true,
		"sealed": b.sealed(seal.AppVariableContext(b.one.org.ID, app, sealedName), b.key.Recipient(), value)}
}

func shownVariables(l api.AppVariableList) string {
	var all []string
	for _, v := range l.Items {
		line := v.Name + "=" + v.Value
		if v.Sensitive {
			line += "(sensitive)"
		}
		all = append(all, line+" for "+strings.Join(v.Readers, ","))
	}
	for _, m := range l.Missing {
		all = append(all, m.Name+" missing for "+strings.Join(m.Readers, ","))
	}
	return strings.Join(all, "; ")
}

// TestAppVariables follows the variables of an app from none to some and back.
func TestAppVariables(t *testing.T) {
	t.Parallel()
	b := newVariableBench(t)
	fans := func() string { return b.text("select count(*)::text from river.river_job where kind = 'fan_out'") }
	var before api.AppVariableList
	must(t, json.Unmarshal([]byte(b.call(b.one.token["viewer"], http.MethodGet, b.path, nil).Body), &before))
	if got := shownVariables(before); got != "mail_key missing for web; sender missing for web,action smoke" {
		t.Errorf("before: %s", got)
	}
	dry := b.change(map[string]any{"dry_run": true, "set": []any{map[string]any{"name": "sender", "value": "a@b"}}})
	if got := shownVariables(dry); got != "sender=a@b for web,action smoke; mail_key missing for web" || !dry.DryRun ||
		strings.Join(dry.Changed, ",") != "sender" || fans() != "0" {
		t.Errorf("a dry run gives %s, changed %q, and %s requests", got, dry.Changed, fans())
	}
	now := b.change(map[string]any{"set": []any{map[string]any{"name": "sender", "value": "noreply@shop.example"},
		b.secret("mail_key", b.app, "mail_key", "planted-4711"), map[string]any{"name": "unread", "value": ""}}})
	if got := shownVariables(now); got !=
		"mail_key=(sensitive) for web; sender=noreply@shop.example for web,action smoke; "+
			"unread= for " || strings.Join(now.Changed, ",") != "mail_key,sender,unread" {
		t.Errorf("set: %s, changed %q", got, now.Changed)
	}
	if fans() != "1" {
		t.Errorf("%s requests to look at the installs", fans())
	}
	b.exec("delete from river.river_job")
	if same := b.change(map[string]any{"set": []any{map[string]any{"name": "sender",
		"value": "noreply@shop.example"}}}); len(same.Changed) != 0 || fans() != "0" {
		t.Errorf("the same again changed %q", same.Changed)
	}
	now = b.change(map[string]any{"delete": []string{"mail_key", "unread"}})
	if got := shownVariables(now); got !=
		"sender=noreply@shop.example for web,action smoke; mail_key missing for web" ||
		fans() != "1" {
		t.Errorf("deleted: %s", got)
	}
	b.exec(`insert into runners (org_id, id, name, kind) values ($1, 'run_east', 'east', 'install')`, b.one.org.ID)
	b.exec(`insert into installs (org_id, id, app_id, name, runner_id) values ($1, 'ins_east', $2, 'east', 'run_east')`,
		b.one.org.ID, b.app)
	dry = b.change(map[string]any{"dry_run": true, "delete": []string{"sender"}})
	if len(dry.Installs) != 1 || dry.Installs[0].Name != "east" || dry.Installs[0].Reason == "" {
		t.Errorf("the installs of a dry run are %+v", dry.Installs)
	}
	events := b.texts("select detail::text from audit_events where action = 'app.variables' order by id")
	if diff := cmp.Diff([]string{`{"changed": ["mail_key", "sender", "unread"], "deleted": []}`,
		`{"changed": ["mail_key", "unread"], "deleted": ["mail_key", "unread"]}`}, events); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(b.rows("where org_id = $1", b.one.org.ID), "planted") {
		t.Error("a sensitive value is in a row")
	}
}

// TestBadAppVariables checks that a change with a mistake stores nothing, and says what to do.
func TestBadAppVariables(t *testing.T) {
	t.Parallel()
	b := newVariableBench(t)
	b.change(map[string]any{"set": []any{b.secret("mail_key", b.app, "mail_key", "planted-1")}})
	other, err := seal.NewIdentity()
	must(t, err)
	plain := func(name, value string) map[string]any { return map[string]any{"name": name, "value": value} }
	for name, c := range map[string]struct {
		set    []any
		delete []string
		want   string
	}{
		"nothing":    {want: "no variable is named"},
		"a bad name": {set: []any{plain("a.b", "x")}, want: `cannot be named \"a.b\"`},
		"twice":      {set: []any{plain("a", "x"), plain("a", "y")}, want: "is set twice"},
		"set and deleted": {set: []any{b.secret("mail_key", b.app, "mail_key", "x")},
			delete: []string{"mail_key"}, want: "set or deleted twice"},
		"not there": {delete: []string{"sender"}, want: `app shop has no variable \"sender\"`},
		"a secret in clear": {set: []any{plain("smtp_password", "planted-88f1")},
			want: "set it with --sensitive smtp_password"},
		"marked, in clear": {set: []any{map[string]any{"name": "a", "value": "planted", "sensitive": true}},
			want: "its value is not sealed"},
		"sensitive by now": {set: []any{plain("mail_key", "x")}, want: "variable mail_key is sensitive"},
		"too long":         {set: []any{plain("a", strings.Repeat("x", 64<<10+1))}, want: "at most 65536 are stored"},
		"sealed for another name": {set: []any{b.secret("a", b.app, "b", "planted")},
			want: "a is not sealed to this control plane's key, for this app and name"},
		"sealed for another app": {set: []any{b.secret("a", "app_other", "a", "planted")}, want: "a is not sealed to"},
		"sealed to another key": {set: []any{map[string]any{"name": "a", "sealed": b.sealed(
			seal.AppVariableContext(b.one.org.ID, b.app, "a"), other.Recipient(), "planted")}}, want: "a is not sealed to"},
	} {
		set := append([]any{plain("good", "x")}, c.set...)
		if name == "nothing" {
			set = nil
		}
		got := b.call(b.one.token["operator"], http.MethodPatch, b.path, map[string]any{"set": set, "delete": c.delete})
		b.refusedAs(got, http.StatusUnprocessableEntity, "bad_variables")
		if !strings.Contains(got.Body, c.want) || strings.Contains(got.Body, "planted") {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	if all := b.texts("select name from app_variables"); len(all) != 1 {
		t.Errorf("stored %q", all)
	}
	var many []any
	for i := range 201 {
		many = append(many, plain("v"+strings.Repeat("x", i%100)+itoa(i), "x"))
	}
	got := b.call(b.one.token["operator"], http.MethodPatch, b.path, map[string]any{"set": many})
	if b.refusedAs(got, http.StatusUnprocessableEntity, "bad_variables"); !strings.Contains(got.Body, "at most 200") {
		t.Errorf("%.300s", got.Body)
	}
}
