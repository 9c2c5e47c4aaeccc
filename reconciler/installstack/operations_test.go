package installstack_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

// TestRoleOfAnOperation checks the precedence of roles, that an operation without one fails, and what an approver of an
// action has to see of its role in addition to its own keys.
func TestRoleOfAnOperation(t *testing.T) {
	const id = "{{.nuon.install.id}}-"
	app := &appconfig.App{
		Runner:  &format.Runner{Type: "aws"},
		Sandbox: &appconfig.Component{Name: "sandbox", Kind: "sandbox"},
		Components: []appconfig.Component{
			{Name: "api", OperationRoles: []format.OperationRole{{Operation: "deploy", Role: id + "api-own"}}},
			{Name: "web"}, {Name: "db"},
		},
		Actions: []appconfig.Action{{Name: "backup", Role: id + "backup"}, {Name: "repair", BreakGlassRole: id + "emergency"},
			{Name: "check"}, {Name: "restart"}, {Name: "lost", Role: id + "undeclared"},
			{Name: "late", Role: "{{.nuon.install_stack.outputs.x}}"}, {Name: "own", Role: id + "p"},
			{Name: "fire", Role: id + "emergency"}},
		OperationRoles: []format.OperationRule{
			{Principal: "nuon::component:*", Operation: "deploy", Role: id + "any-deploy"},
			{Principal: "nuon::component:web", Operation: "deploy", Role: "{{ .nuon.install.id }}-web"},
			{Principal: "nuon::component:api", Operation: "deploy", Role: id + "any-deploy"},
			{Principal: "nuon::sandbox", Operation: "reprovision", Role: id + "again"},
			{Principal: "nuon::action:restart", Operation: "trigger", Role: id + "restart"},
			{Principal: "nuon::action:backup", Operation: "trigger", Role: id + "restart"},
		},
		BreakGlass: []format.Role{{Name: id + "emergency"}},
	}
	standing := func(kind, name string) format.StandingRole {
		return format.StandingRole{Type: kind, Role: format.Role{Name: id + name}}
	}
	app.Permissions = []format.StandingRole{standing("provision", "p"), standing("maintenance", "m"),
		standing("deprovision", "d")}
	for _, name := range []string{"api-own", "any-deploy", "web", "again", "restart", "backup"} {
		app.Permissions = append(app.Permissions, standing("custom", name))
	}
	table := []struct {
		op   installstack.Operation
		want string // after the id of the install, or in the error after "!"
	}{
		{installstack.Operation{Component: "sandbox", Verb: "provision"}, "p"},
		{installstack.Operation{Component: "sandbox", Verb: "reprovision"}, "again"},
		{installstack.Operation{Component: "sandbox", Verb: "deprovision"}, "d"},
		{installstack.Operation{Component: "api", Verb: "deploy"}, "api-own"},
		{installstack.Operation{Component: "api", Verb: "teardown"}, "m"},
		{installstack.Operation{Component: "web", Verb: "deploy"}, "web"},
		{installstack.Operation{Component: "db", Verb: "deploy"}, "any-deploy"},
		{installstack.Operation{Component: "gone", Verb: "teardown"}, "m"},
		{installstack.Operation{Action: "backup", Verb: "trigger"}, "backup"},
		{installstack.Operation{Action: "repair", Verb: "trigger"}, "emergency"},
		{installstack.Operation{Action: "restart", Verb: "trigger"}, "restart"},
		{installstack.Operation{Action: "check", Verb: "trigger"}, "m"},
		{installstack.Operation{Action: "repair", Verb: "trigger", Role: stacktest.InstallID + "-web"}, "web"},
		{installstack.Operation{Action: "lost", Verb: "trigger", Role: stacktest.InstallID + "-d"}, "d"},
		{installstack.Operation{Action: "backup", Verb: "trigger", Role: "Admin"}, "!does not declare"},
		{installstack.Operation{Action: "lost", Verb: "trigger"}, "!-undeclared"},
		{installstack.Operation{Action: "late", Verb: "trigger"}, "!cannot be rendered"},
		{installstack.Operation{Verb: "health"}, "m"},
	}
	roles := installstack.ReadRoles(app, stacktest.Facts())
	for _, test := range table {
		role, err := roles.For(test.op)
		wrong, failed := strings.CutPrefix(test.want, "!")
		switch {
		case failed && (err == nil || !strings.Contains(err.Error(), wrong)):
			t.Errorf("%s: got %q, %v", test.op, role.Key, err)
		case !failed && (err != nil || role.Key != stacktest.InstallID+"-"+test.want):
			t.Errorf("%s: got %q, %v; want %s", test.op, role.Key, err, test.want)
		}
	}
	for _, test := range []struct{ action, chosen, name, kind string }{
		{"backup", "", "", ""}, {"repair", "", "", ""}, {"check", "", "", ""}, {"lost", "", "", ""}, {"late", "", "", ""},
		{"restart", "", id + "restart", "custom"},
		{"own", "", "", "provision"},
		{"fire", "", "", "break_glass"},
		{"check", "m", "", ""}, {"backup", "backup", "", ""}, {"restart", "restart", id + "restart", "custom"},
		{"check", "p", "p", "provision"}, {"backup", "web", "web", "custom"}, {"lost", "d", "d", "deprovision"},
		{"check", "gone", "gone", ""},
	} {
		op, want := installstack.Operation{Action: test.action, Verb: "trigger"}, test.name
		if test.chosen != "" {
			op.Role = stacktest.InstallID + "-" + test.chosen
			if want == test.chosen {
				want = op.Role
			}
		}
		if name, kind := roles.Unstated(op); name != want || string(kind) != test.kind {
			t.Errorf("%s under %q: unstated are %q, %q; want %q, %q", op, op.Role, name, kind, want, test.kind)
		}
	}
	app.Permissions = app.Permissions[:1]
	roles = installstack.ReadRoles(app, stacktest.Facts())
	if role, err := roles.For(installstack.Operation{Action: "check", Verb: "trigger"}); err == nil ||
		!strings.Contains(err.Error(), "no role matches the action check: the app has no maintenance role") {
		t.Errorf("without a match: %q, %v", role.Key, err)
	}
}

// TestCorpusRoles checks that each operation of every real app that declares roles has one of them. NUON_CORPUS is a
// directory with one app per subdirectory.
func TestCorpusRoles(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(os.Getenv("NUON_CORPUS"), "*", "metadata.toml"))
	if os.Getenv("NUON_CORPUS") == "" || len(dirs) == 0 {
		t.Skip("NUON_CORPUS names no directory of apps")
	}
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			app, found := appconfig.Load(os.DirFS(dir), appconfig.Options{})
			if app == nil {
				t.Fatal(found.Err())
			}
			roles := installstack.ReadRoles(app, stacktest.Facts())
			if len(app.Permissions)+len(app.BreakGlass) == 0 {
				t.Logf("%s declares no roles", filepath.Base(dir))
				return
			}
			var all []installstack.Operation
			for _, verb := range []installstack.Verb{"provision", "reprovision", "deprovision"} {
				all = append(all, installstack.Operation{Component: "sandbox", Verb: verb})
			}
			for i := range app.Components {
				for _, verb := range []installstack.Verb{"deploy", "teardown"} {
					all = append(all, installstack.Operation{Component: app.Components[i].Name, Verb: verb})
				}
			}
			for i := range app.Actions {
				all = append(all, installstack.Operation{Action: app.Actions[i].Name, Verb: "trigger"})
			}
			for _, op := range all {
				if role, err := roles.For(op); err != nil || !strings.Contains(role.Key, stacktest.InstallID) {
					t.Errorf("%s: got %q, %v", op, role.Key, err)
				}
			}
		})
	}
}
