package rollout_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/rollout"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// putVariable stores a variable of the app, sealed to the control plane's key if it is sensitive.
func (w *world) putVariable(name, value string, sensitive bool) {
	w.Helper()
	if !sensitive {
		w.exec(`insert into app_variables (org_id, app_id, name, value, hash, updated_by) values ($1, $2, $3, $4, $4, 'vera')
			on conflict (org_id, app_id, name) do update set value = excluded.value, hash = excluded.hash`,
			w.org, w.appID, name, value)
		return
	}
	sealed, err := w.ours.Recipient().Seal(seal.AppVariableContext(w.org, w.appID, name), []byte(value))
	must(w, err)
	raw, err := json.Marshal(sealed)
	must(w, err)
	w.exec(`insert into app_variables (org_id, app_id, name, sealed, hash, updated_by) values ($1, $2, $3, $4, $5, 'vera')
		on conflict (org_id, app_id, name) do update set sealed = excluded.sealed, hash = excluded.hash`,
		w.org, w.appID, name, raw, "sealed:"+value)
}

// TestAppVariablesReachTheirReaders checks that what reads a variable waits until it is set, that the runner gets a
// sensitive one sealed to its own key for this install, and that a change reaches its readers alone.
func TestAppVariablesReachTheirReaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.app.Components[0].Terraform.Vars = map[string]string{"key": "{{.nuon.app.variables.mail_key}}",
		"sender": "{{.nuon.app.variables.sender}}"}
	w.version()
	w.look()
	w.approveAll()
	status, reason := w.component("metrics")
	w.want([]string{status, reason}, []string{"waiting", "waits: app variables mail_key and sender are not set; " +
		"set them: " +
		"nuon apps variables set hello mail_key=VALUE sender=VALUE"})
	w.putVariable("mail_key", "planted-1", true)
	w.putVariable("sender", "a@b", false)
	w.putVariable("unread", "x", true)
	w.done = nil
	w.look()
	w.approveAll()
	w.want(w.done, []string{"plan metrics", "apply metrics"})
	if got := w.state["metrics"]; !strings.Contains(got, "sender=a@b") || !strings.Contains(got, "key=planted-1") {
		t.Errorf("metrics was applied with %q", got)
	}
	for _, raw := range w.list("select spec::text from jobs j join steps s on s.id = j.owner_id " +
		"where s.component = 'metrics' " +
		"and j.kind in ('plan', 'apply')") {
		var spec struct{ Plan, Deploy, Apply api.DeploySpec }
		must(t, json.Unmarshal([]byte(raw), &spec))
		if strings.Contains(raw, "planted") || strings.Contains(raw, w.ours.KeyID()) {
			t.Errorf("the spec holds what only the control plane may read: %s", raw)
		}
	}
	shown := w.display("{{.nuon.app.variables.mail_key}} {{.nuon.app.variables.sender}}")
	if shown.Text != "‹sensitive› a@b" || !shown.Sensitive {
		t.Errorf("shown as %+v", shown)
	}
	w.done = nil
	w.putVariable("unread", "y", true)
	w.look()
	w.want(w.done, []string(nil))
	must(t, w.in(func(ctx context.Context, tx *store.Tx) error {
		app, err := tx.AppByID(ctx, w.org, w.appID)
		must(t, err)
		text := "noreply@b"
		for want, variables := range map[string]map[string]store.AppVariable{
			"[{acme [metrics] metrics: app variable mail_key changed; app variable sender changed}]": {
				"mail_key": {Sealed: json.RawMessage(`{}`), Hash: "h"}, "sender": {Value: &text, Hash: "h"}},
			"[{acme [metrics] metrics: it waits: app variables mail_key and sender are not set; set them: " +
				"nuon apps variables set hello mail_key=VALUE sender=VALUE}]": {},
		} {
			effects, err := rollout.PreviewVariables(ctx, tx, app, variables)
			must(t, err)
			w.want(fmt.Sprint(effects), want)
		}
		return nil
	}))
	w.putVariable("mail_key", "planted-2", true)
	w.look()
	status, reason = w.component("metrics")
	if !strings.Contains(reason, "app variable mail_key changed") {
		t.Errorf("metrics is %s: %s", status, reason)
	}
	w.approveAll()
	w.want(w.done, []string{"plan metrics", "apply metrics"})
}
