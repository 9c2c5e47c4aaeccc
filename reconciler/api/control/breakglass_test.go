package control_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// withBreakGlass adds a break-glass role on AWS to all apps.
func withBreakGlass(w *world) {
	w.exec(`update app_versions set config = config || '{"runner": {"runner_type": "aws"},
		"break_glass": [{"name": "{{.nuon.install.id}}-repair"}]}'`)
}

// TestBreakGlassRequests checks what a request needs, what the customer is to do, and the status of a request: with the
// grants of the customer, before its end, and after it.
func TestBreakGlassRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.one
	o.fill()
	w.exec("delete from break_glass_requests")
	path := "/v1/installs/" + o.ids["install"] + "/break-glass"
	ask := func(role, reason string, seconds int) answer {
		return w.call(o.token["operator"], http.MethodPost, path,
			map[string]any{"role": role, "reason": reason, "seconds": seconds})
	}
	if got := ask("repair", "INC-7", 7200); got.Status != http.StatusUnprocessableEntity {
		t.Errorf("an app without roles: %d %s", got.Status, got.Body)
	}
	withBreakGlass(w)
	for _, bad := range []struct {
		role, reason string
		seconds      int
		code         string
	}{
		{"repair", " ", 7200, "no_reason"}, {"repair", "INC-7", 30, "bad_duration"}, {"repair", "INC-7", -1, "bad_duration"},
		{"repair", "INC-7", 8 * 24 * 3600, "bad_duration"}, {"other", "INC-7", 7200, "not_found"},
		{"", "INC-7", 7200, "not_found"},
	} {
		if got := ask(bad.role, bad.reason, bad.seconds); !strings.Contains(got.Body, `"`+bad.code+`"`) {
			t.Errorf("%+v: %d %s", bad, got.Status, got.Body)
		}
	}
	role := o.ids["install"] + "-repair"
	made := decoded[api.BreakGlassRequest](t, ask("repair", "INC-7:\nit's locked", 7200))
	end := made.Until.UTC().Format("2006-01-02T15:04:05Z")
	if made.Role != role || made.Status != api.BreakGlassWaiting || len(made.Steps) != 2 ||
		made.Steps[0].Command != "EnableRepair=true UntilRepair="+end ||
		made.Steps[1].Command != "sudo runnerd grants add "+role+" --until "+end+` --reason 'INC-7: it'\''s locked'` {
		t.Errorf("got %+v", made)
	}
	if got := ask(role, "again", 7200); !strings.Contains(got.Body, `"already_requested"`) {
		t.Errorf("a second request: %d %s", got.Status, got.Body)
	}

	one := func() api.BreakGlassRequest {
		t.Helper()
		list := decoded[api.BreakGlassList](t, w.call(o.token["viewer"], http.MethodGet, "/v1/break-glass", nil))
		if len(list.Items) != 1 {
			t.Fatalf("got %+v", list)
		}
		return list.Items[0]
	}
	is := func(when string, status api.BreakGlassRequestStatus, note, reminder string) {
		t.Helper()
		got := one()
		if got.Status != status || !strings.Contains(got.Note, note) || !strings.Contains(got.Reminder, reminder) ||
			reminder == "" && got.Reminder != "" {
			t.Errorf("%s: it is %s, note %q, reminder %q", when, got.Status, got.Note, got.Reminder)
		}
	}
	is("at first", api.BreakGlassWaiting, "off in the customer's stack, and the runner's owner has not granted it",
		"waits for")
	w.exec(`update stack_outputs set outputs = outputs || jsonb_build_object(
		'break_glass_role_arns', jsonb_build_object('value', jsonb_build_object($1::text, 'arn:aws:iam::1:role/r'),
			'source', 'manual'), 'break_glass_until', jsonb_build_object('value', jsonb_build_object($1::text, $2::text), 'source', 'manual'))
		where install_id = $3`, role, end, o.ids["install"])
	is("with the stack", api.BreakGlassWaiting, "the runner's owner has not granted it", "waits for")
	w.exec(`update runners set policy = jsonb_build_object('roles', jsonb_build_object('granted', jsonb_build_array(
		jsonb_build_object('role', $1::text, 'until', $2::text)))) where id = $3`, role, end, o.ids["runner"])
	is("with both", api.BreakGlassGranted, "", "")
	w.exec("update break_glass_requests set until = now() + interval '20 minutes'")
	is("before the end", api.BreakGlassGranted, "", "it ends at")
	w.exec("update break_glass_requests set until = now() - interval '2 hours'")
	is("after the end, with the role on", api.BreakGlassEnded, "still switched on in the customer's stack", "it ended at")
	w.exec("update stack_outputs set outputs = outputs - 'break_glass_role_arns' where install_id = $1", o.ids["install"])
	is("long after the end", api.BreakGlassEnded, "", "")

	if got := w.call(o.token["operator"], http.MethodPost, path+"/revoke",
		map[string]any{"role": "repair"}); got.Status != http.StatusNotFound {
		t.Errorf("what has ended was revoked: %d %s", got.Status, got.Body)
	}
	w.exec("update break_glass_requests set until = now() + interval '2 hours'")
	revoked := decoded[api.BreakGlassRequest](t, w.call(o.token["operator"], http.MethodPost, path+"/revoke",
		map[string]any{"role": "repair", "reason": "done"}))
	if revoked.Status != api.BreakGlassRevoked || revoked.RevokedBy == "" || len(revoked.Steps) > 0 {
		t.Errorf("got %+v", revoked)
	}
	is("after it was revoked", api.BreakGlassRevoked, "", "it was revoked at")
	install := decoded[api.Install](t, w.call(o.token["viewer"], http.MethodGet, "/v1/installs/"+o.ids["install"], nil))
	if len(install.BreakGlass) != 1 || install.BreakGlass[0].ID != made.ID {
		t.Errorf("the install has %+v", install.BreakGlass)
	}
}

// decoded returns the body of a response that succeeded.
func decoded[T any](t *testing.T, got answer) (body T) {
	t.Helper()
	if got.Status >= http.StatusBadRequest {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	must(t, json.Unmarshal([]byte(got.Body), &body))
	return body
}
