package control_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// stackBench is an install whose component reads two outputs of its stack, before any is set.
type stackBench struct {
	*world
	path string
}

func newStackBench(t *testing.T) *stackBench {
	t.Helper()
	w := newWorld(t)
	config := hello("web")
	config.Inputs = nil
	config.Components[0].Terraform.Vars = map[string]string{
		"vpc": "{{.nuon.install_stack.outputs.vpc_id}}", "zone": "{{.nuon.install_stack.outputs.zone}}",
	}
	config.Actions[0].Steps = []appconfig.ActionStep{{Name: "a", Command: "true",
		EnvVars: map[string]string{"ZONE": "{{.nuon.install_stack.outputs.zone}}"}}}
	app := w.one.app("shop", config)
	w.one.component(app, "cmp_web", "web")
	w.one.component(app, "cmp_sandbox", "sandbox")
	runner, _ := w.one.runner("acme", "install", false)
	w.one.add("installs", "id", "ins_acme", "app_id", app, "name", "acme", "runner_id", runner.ID)
	return &stackBench{world: w, path: "/v1/installs/acme/stack-outputs"}
}

// set sends a change and returns the answer of a success.
func (b *stackBench) set(body map[string]any) (changed api.ChangedStackOutputs) {
	b.Helper()
	got := b.call(b.one.token["operator"], http.MethodPost, b.path, body)
	if got.Status != http.StatusOK {
		b.Fatalf("%d %s", got.Status, got.Body)
	}
	must(b, json.Unmarshal([]byte(got.Body), &changed))
	return changed
}

func (b *stackBench) get(path string, into any) {
	b.Helper()
	got := b.call(b.one.token["viewer"], http.MethodGet, path, nil)
	if got.Status != http.StatusOK {
		b.Fatalf("%s: %d %s", path, got.Status, got.Body)
	}
	must(b, json.Unmarshal([]byte(got.Body), into))
}

func output(name string, value any) map[string]any {
	return map[string]any{"name": name, "value": value}
}

// shownOutputs describes outputs in short.
func shownOutputs(s api.StackOutputs) string {
	var all []string
	for _, o := range s.Outputs {
		line := o.Name + "=" + string(o.Value)
		if o.Source == api.StackSourcePhoneHome {
			line += " (reported)"
		}
		if o.Reported != nil {
			line += " over " + string(o.Reported)
		}
		all = append(all, line)
	}
	for _, m := range s.Missing {
		all = append(all, m.Name+" missing for "+strings.Join(m.Readers, ","))
	}
	return strings.Join(all, "; ")
}

// TestStackOutputs follows the outputs of an install from none to several versions.
func TestStackOutputs(t *testing.T) {
	t.Parallel()
	b := newStackBench(t)
	var now api.StackOutputs
	b.get(b.path, &now)
	if got := shownOutputs(now); now.Version != 0 || got != "vpc_id missing for web; zone missing for web,action smoke" {
		t.Errorf("before: version %d, %s", now.Version, got)
	}

	dry := b.set(map[string]any{"set": []any{output("vpc_id", "vpc-1")}, "dry_run": true})
	if len(dry.Changes) != 1 || !dry.DryRun || b.text("select count(*)::text from stack_outputs") != "0" {
		t.Errorf("a dry run gave %+v", dry)
	}
	effects := map[string]string{}
	for _, c := range dry.Components {
		effects[c.Name] = string(c.Effect)
	}
	if diff := cmp.Diff(map[string]string{"sandbox": "none", "web": "none"}, effects); diff != "" {
		t.Error(diff) // neither has a build yet
	}

	first := b.set(map[string]any{"set": []any{output("vpc_id", "vpc-1"), output("other", []int{1})},
		"stack_version": "7"})
	if want := []string{"no template of the app reads stack output other"}; cmp.Diff(want, first.Warnings) != "" {
		t.Errorf("warned of %q", first.Warnings)
	}
	second := b.set(map[string]any{"set": []any{output("vpc_id", "vpc-2"), output("zone", map[string]any{"a": 1.5})},
		"unset": []string{"other", "nothing"}})
	if first.Outputs.Version != 1 || second.Outputs.Version != 2 {
		t.Errorf("versions %d and %d", first.Outputs.Version, second.Outputs.Version)
	}
	same := b.set(map[string]any{"set": []any{output("vpc_id", "vpc-2")}})
	if same.Outputs.Version != 2 || len(same.Changes) != 0 {
		t.Errorf("the same again: %+v", same)
	}
	now = api.StackOutputs{}
	b.get(b.path, &now)
	if got := shownOutputs(now); got != `vpc_id="vpc-2"; zone={"a":1.5}` || now.StackVersion != "7" ||
		now.Actor != b.one.mark+"-operator" {
		t.Errorf("now %s, of stack version %q, by %s", got, now.StackVersion, now.Actor)
	}
	var was api.StackOutputs
	b.get(b.path+"?version=1", &was)
	if got := shownOutputs(was); got != `other=[1]; vpc_id="vpc-1"` {
		t.Errorf("version 1 was %s", got)
	}
	b.refusedAs(b.call(b.one.token["viewer"], http.MethodGet, b.path+"?version=9", nil), http.StatusNotFound, "not_found")

	var page, rest api.StackOutputVersionList
	b.get(b.path+"/versions?limit=1", &page)
	b.get(b.path+"/versions?cursor="+page.Next, &rest)
	if len(page.Items) != 1 || page.Items[0].Version != 2 || len(rest.Items) != 1 || rest.Items[0].Version != 1 ||
		strings.Join(page.Items[0].Changed, ",") != "other,vpc_id,zone" {
		t.Errorf("history %+v, then %+v", page, rest)
	}
	var install api.Install
	b.get("/v1/installs/acme", &install)
	if got := shownOutputs(install.StackOutputs); got != shownOutputs(now) {
		t.Errorf("the install shows %s", got)
	}
	events := b.texts("select detail->>'changed' from audit_events where action = 'install.stack_outputs' order by id")
	if diff := cmp.Diff([]string{`["other", "vpc_id"]`, `["other", "vpc_id", "zone"]`}, events); diff != "" {
		t.Error(diff)
	}
}

// TestBadStackOutputs checks that a change with a mistake stores nothing, and says what to do.
func TestBadStackOutputs(t *testing.T) {
	t.Parallel()
	b := newStackBench(t)
	for name, c := range map[string]struct {
		body map[string]any
		want string
	}{
		"nothing":         {map[string]any{}, "no change is given"},
		"set twice":       {map[string]any{"set": []any{output("a", 1), output("a", 2)}}, "is set twice"},
		"set and unset":   {map[string]any{"set": []any{output("a", 1)}, "unset": []string{"a"}}, "both set and unset"},
		"of a wrong type": {map[string]any{"set": []any{output("vpc_id", 1), output("zone", "eu")}}, "vpc_id is not a text"},
		"without a value": {map[string]any{"set": []any{map[string]any{"name": "zone"}}},
			"its value cannot be stored: not JSON"},
		"marked": {map[string]any{"set": []any{map[string]any{"name": "zone", "value": "planted", "sensitive": true}}},
			"zone is marked as sensitive"},
		"a secret": {map[string]any{"set": []any{output("db_password", "planted-88f1")}}, "looks like a secret"},
	} {
		for _, dry := range []bool{true, false} {
			c.body["dry_run"] = dry
			got := b.call(b.one.token["operator"], http.MethodPost, b.path, c.body)
			if b.refusedAs(got, http.StatusUnprocessableEntity, "bad_stack_outputs"); !strings.Contains(got.Body, c.want) ||
				strings.Contains(got.Body, "planted") {
				t.Errorf("%s: %s", name, got.Body)
			}
		}
	}
	if b.text("select count(*)::text from stack_outputs") != "0" ||
		strings.Contains(b.rows("where org_id = $1", b.one.org.ID), "planted") {
		t.Error("something was stored")
	}
}

// TestAReportKeepsWhatAPersonSet checks that a report of the stack changes no value that a person set, and that both
// values are shown until the person's is unset.
func TestAReportKeepsWhatAPersonSet(t *testing.T) {
	t.Parallel()
	b := newStackBench(t)
	b.set(map[string]any{"set": []any{output("vpc_id", "vpc-hand")}})
	must(t, b.one.in(func(ctx context.Context, tx *store.Tx) error {
		_, merged, err := stackoutputs.Record(ctx, tx, "ins_acme", "stack", stackoutputs.Change{
			Source: stackoutputs.PhoneHome, StackVersion: "3", Set: map[string]json.RawMessage{
				"vpc_id": json.RawMessage(`"vpc-stack"`), "zone": json.RawMessage(`"eu"`)}})
		if strings.Join(merged.Kept, ",") != "vpc_id" {
			t.Errorf("kept %q", merged.Kept)
		}
		return err
	}))
	var now api.StackOutputs
	b.get(b.path, &now)
	if got := shownOutputs(now); got != `vpc_id="vpc-hand" over "vpc-stack"; zone="eu" (reported)` || now.Version != 2 ||
		now.Source != api.StackSourcePhoneHome {
		t.Errorf("version %d: %s", now.Version, got)
	}
	changed := b.set(map[string]any{"unset": []string{"vpc_id"}})
	if got := shownOutputs(changed.Outputs); got != `vpc_id="vpc-stack" (reported); zone="eu" (reported)` ||
		len(changed.Changes) != 1 || string(changed.Changes[0].To) != `"vpc-stack"` {
		t.Errorf("unset gave %s, %+v", got, changed.Changes)
	}
}

// TestStackOutputVersionsNeverChange checks that the program can neither change nor delete a version, that they go with
// their install, and that concurrent changes keep each other.
func TestStackOutputVersionsNeverChange(t *testing.T) {
	t.Parallel()
	b := newStackBench(t)
	var group sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		group.Go(func() {
			b.call(b.one.token["operator"], http.MethodPost, b.path, map[string]any{"set": []any{output(name, name)}})
		})
	}
	group.Wait()
	var now api.StackOutputs
	if b.get(b.path, &now); now.Version != 4 || len(now.Outputs) != 4 {
		t.Errorf("version %d has %s", now.Version, shownOutputs(now))
	}
	got := b.call(b.one.token["admin"], http.MethodDelete, "/v1/installs/acme", nil)
	if got.Status != http.StatusNoContent {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if n := b.text("select count(*)::text from stack_outputs"); n != "0" {
		t.Errorf("%s versions of no install", n)
	}
	b.exec("set role nuon_app")
	b.exec("select set_config('nuon.org', $1, false)", b.one.org.ID)
	for _, sql := range []string{"update stack_outputs set actor = 'x'", "delete from stack_outputs"} {
		if _, err := b.seed.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
