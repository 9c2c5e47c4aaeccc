package control_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// changed is how to run one operation so that it changes something, and its audit event.
type changed struct {
	path   string // with the names of its objects; empty for the operation's own path
	body   any
	action string // empty for an operation that stores nothing, and so leaves no event
	before func() // creates what the operation needs
}

// changes has an entry for every operation that changes something.
func changes(w *world) map[string]changed {
	o := w.one
	install, state := "/v1/installs/"+o.ids["install"], "/v1/installs/"+o.ids["install"]+"/components/"+o.mark+"-web"
	step := "/v1/workflows/" + o.ids["workflow"] + "/steps/" + o.ids["step"]
	plain := hello("web")
	plain.Inputs = nil
	return map[string]changed{
		"createCredential": {
			body: map[string]any{
				"name":     "made",
				"password": w.sealed(seal.CredentialContext(o.org.ID, "made"), w.key.Recipient(), "planted"),
			}, action: "credential.create",
		},
		"createWebhook": {body: map[string]any{
			"secret": w.sealed(seal.WebhookContext(o.org.ID), w.key.Recipient(), "planted-for-a-webhook"),
		}, action: "webhook.create"},
		"rotateWebhook": {path: "/v1/webhooks/" + o.ids["webhook"] + "/rotate", body: map[string]any{
			"secret": w.sealed(seal.WebhookContext(o.org.ID), w.key.Recipient(), "planted-for-a-webhook"),
		}, action: "webhook.rotate"},
		"createToken": {body: map[string]any{"name": "made", "role": "viewer"}, action: "token.create"},
		"revokeToken": {path: "/v1/tokens/" + o.mark + "-viewer", action: "token.revoke"},
		"createApp":   {body: map[string]any{"name": "made"}, action: "app.create"},
		"syncApp":     {path: "/v1/apps/" + o.ids["app"] + "/sync", body: map[string]any{}, action: "app.sync"},
		"uploadAppVersion": {
			path: "/v1/apps/uploaded/versions", body: "x", action: "app.upload",
			before: func() { o.app("uploaded", appconfig.App{}) },
		},
		"createPartialRelease": {path: "/v1/apps/" + o.ids["app"] + "/releases",
			action: "release.partial", before: func() {
				o.add("releases", "id", "rel_lacking", "app_id", o.ids["app"], "number", 2, "digest", "d", "version_id",
					o.ids["version"], "status", "incomplete", "cause", "r")
				o.add("release_components", "release_id", "rel_lacking", "component_id", o.ids["component"],
					"problem", "no module")
			}},
		"createModuleRefresh": {path: "/v1/apps/" + o.ids["app"] + "/module-refreshes", body: map[string]any{},
			action: "build.refresh"},
		"cancelModuleRefresh": {path: "/v1/apps/" + o.ids["app"] + "/module-refreshes/" + o.ids["refresh"] + "/cancel",
			action: "build.refresh_cancel", before: func() {
				o.w.exec("update module_refreshes set status = 'running', ended_at = null where id = $1", o.ids["refresh"])
			}},
		"retryBuild": {path: "/v1/builds/" + o.ids["build"] + "/retry", action: "build.retry"},
		"createInstall": {
			body: map[string]any{"app": "plain", "name": "made"}, action: "install.create",
			before: func() { o.app("plain", plain) },
		},
		"changeAppVariables": {path: "/v1/apps/" + o.ids["app"] + "/variables", action: "app.variables",
			body: map[string]any{"set": []any{map[string]any{"name": "sender", "value": "a"}}}},
		"setStackOutputs": {path: install + "/stack-outputs", action: "install.stack_outputs",
			body: map[string]any{"set": []any{map[string]any{"name": "vpc_id", "value": "vpc-1"}}}},
		"checkInstallSecrets": {path: install + "/secrets", action: "install.check_secrets"},
		"renderStack": {path: install + "/stack", action: "install.stack_version", before: func() {
			w.exec(`update app_versions set config = config || '{"runner": {"runner_type": "aws"}}'`)
		}},
		"createLogRequest": {path: install + "/log-requests", action: "install.logs", before: w.allowLogs,
			body: map[string]any{"component": o.mark + "-web", "reason": "it is slow"}},
		"createDebugCommand": {path: install + "/debug-commands", action: "install.debug", before: w.allowLogs,
			body: map[string]any{"command": []string{"kubectl", "get", "pods"}, "reason": "it is slow"}},
		"createShell": {path: install + "/shells", action: "install.shell", before: w.allowLogs,
			body: map[string]any{"component": o.mark + "-web", "reason": "it is slow", "columns": 80, "rows": 24}},
		"sendShellInput": {path: "/v1/jobs/" + o.ids["job"] + "/shell/input", // the transcript is its record
			body: map[string]any{"number": 2, "data": "bHMK"}, before: func() {
				w.exec("update jobs set owner_kind = 'inspection', kind = 'shell', status = 'running', ended_at = null "+
					"where id = $1", o.ids["job"])
				w.exec("update shells set token_id = t.id from tokens t where job_id = $1 and t.name = $2", o.ids["job"],
					o.mark+"-admin")
			}},
		"cancelJob": {path: "/v1/jobs/" + o.ids["job"] + "/cancel", action: "install.cancel_request", before: func() {
			w.exec("update jobs set owner_kind = 'inspection', kind = 'logs', owner_id = install_id, status = 'queued', "+
				"ended_at = null where id = $1", o.ids["job"])
		}},
		"updateInstall": {path: install, body: map[string]any{"approval": "approve-all"}, action: "install.change"},
		"createWorkflow": {
			path: install + "/workflows", body: map[string]any{"kind": "deprovision"}, action: "workflow.ask",
		},
		"cancelWorkflow": {path: "/v1/workflows/" + o.ids["workflow"] + "/cancel",
			body: map[string]any{"reason": "enough"}, action: "workflow.cancel", before: func() {
				w.exec("update workflows set status = 'running' where id = $1", o.ids["workflow"])
			}},
		"setWorkflowRule": {path: "/v1/workflows/" + o.ids["workflow"] + "/rule",
			body: map[string]any{"reason": "read it"}, action: "workflow.approve", before: func() {
				w.exec("update workflows set status = 'running' where id = $1", o.ids["workflow"])
			}},
		"revokeWorkflowRule": {path: "/v1/workflows/" + o.ids["workflow"] + "/rule",
			action: "workflow.revoke", before: func() {
				w.exec(`update workflows set status = 'running', rule = '{"by": "vera", "token": "tok_gone", "at": "2026-11-22T10:00:00Z"}' where id = $1`, o.ids["workflow"])
			}},
		"assignApproval": {path: "/v1/approvals/" + o.ids["approval"] + "/assignee",
			action: "approval.assign", body: map[string]any{"assignee": "me"}},
		"respondApproval": {path: "/v1/approvals/" + o.ids["approval"] + "/response",
			action: "approval.reject", before: func() {
				w.exec("update workflows set status = 'running' where id = $1", o.ids["workflow"])
				w.exec("update steps set kind = 'approve', status = 'waiting' where id = $1", o.ids["step"])
			},
			body: map[string]any{
				"answer": "reject", "plan": o.ids["plan"],
				"content_digest": "sha256:" + o.mark + "-content", "reason": "no",
			}},
		"createRunner":       {body: map[string]any{"name": "made", "kind": "install"}, action: "runner.create"},
		"createRegistration": {path: "/v1/runners/" + o.ids["runner"] + "/registration", action: "runner.token"},
		"replaceRunner": {
			path: "/v1/runners/" + o.ids["runner"] + "/replace", body: map[string]any{"reason": "burnt"},
			action: "runner.replace",
		},
		"confirmRunner": {
			path: "/v1/runners/" + o.ids["runner"] + "/confirm", body: map[string]any{"claim": "clm_1"},
			action: "install.confirm_account", before: func() {
				o.add("cloud_claims", "id", "clm_1", "install_id", o.ids["install"], "purpose", "runner", "cloud", "aws",
					"account", "123456789012", "tenant", "", "name", "runner", "machine", "i-1", "recipient", "")
			}},
		"forgetStack": {path: install + "/stack/forget", body: map[string]any{"reason": "closed"},
			action: "install.forget_stack", before: func() {
				o.add("phone_homes", "install_id", o.ids["install"], "request_id", "request-1", "kind", "create", "status",
					"accepted", "stack_id", "arn", "stack_version", "1", "subject", `{"cloud": "aws"}`, "outputs", "{}")
			}},
		"requestBreakGlass": {path: install + "/break-glass", action: "break_glass.request",
			body: map[string]any{"role": "repair", "reason": "INC-7", "seconds": 3600}, before: func() { withBreakGlass(w) }},
		"revokeBreakGlass": {path: install + "/break-glass/revoke", action: "break_glass.revoke",
			body: map[string]any{"role": o.mark + "-repair"}},
		"restoreState": {
			path: state + "/states/2/restore", body: map[string]any{"reason": "it was right"}, action: "state.restore",
		},
		"dismissState": {
			path: state + "/states/2/dismiss", body: map[string]any{"reason": "not needed"}, action: "state.dismiss",
		},
		"abandonState": {path: state + "/abandon", body: map[string]any{"reason": "the key burnt"},
			action: "state.abandon", before: func() {
				w.exec("update runners set recipient = $1 where id = $2", w.key.Recipient().String(), o.ids["runner"])
			}},
		"collectRegistry": {body: map[string]any{"older_than_seconds": 0}, action: "registry.gc", before: func() {
			o.add("component_inputs", "id", "inp_old", "component_id", o.ids["component"], "digest", "old", "recipe", "{}",
				"reason", "r")
			o.add("builds", "id", "bld_old", "component_id", o.ids["component"], "input_id", "inp_old", "number", 99, "status",
				"succeeded", "repository", "", "commit", "", "artifact_digest", sha256digest.Of(nil), "reason", "r",
				"ended_at", "2026-01-01")
		}},
		"freeStateLock": {path: state + "/lock?reason=left+behind", action: "state.unlock"},
		"forgetInstall": {path: install + "?force=true", action: "install.forget"},
		"lookAtRepo":    {path: "/v1/repos/" + o.ids["watch"] + "/look", action: "repo.look"},
		"deleteApp":     {path: "/v1/apps/unused", action: "app.delete", before: func() { o.app("unused", plain) }},
		"deleteRunner": {
			path: "/v1/runners/unused", action: "runner.delete",
			before: func() { o.runner("unused", "install", false) },
		},
		"updateCredential": {
			path:   "/v1/credentials/" + o.mark + "-cred",
			body:   map[string]any{"add_repositories": []string{"https://git.example/more"}},
			action: "credential.update",
		},
		"deleteCredential": {path: "/v1/credentials/" + o.mark + "-cred", action: "credential.delete"},
		"deleteWebhook":    {path: "/v1/webhooks/" + o.ids["webhook"], action: "webhook.delete"},
		"previewApp": {
			path: "/v1/apps/shown/preview", body: emptyTree(w), before: func() { o.app("shown", appconfig.App{}) },
		},
		"previewInstall": {path: install + "/preview", body: map[string]any{"approval": "approve-all"}},
		"pinInstall": {
			path: install + "/pin", body: map[string]any{"release": 1, "reason": "it works"}, action: "install.pin",
		},
		"unpinInstall": {path: install + "/pin", action: "install.unpin", before: func() {
			w.exec("update installs set pin_release_id = $1 where id = $2", o.ids["release"], o.ids["install"])
		}},
		"retryStep": {path: step + "/retry", action: "step.retry", before: func() { o.actionStep("failed") }},
		"skipStep": {
			path: step + "/skip", body: map[string]any{"reason": "not today"}, action: "step.skip",
			before: func() { o.actionStep("pending") },
		},
	}
}

// done reports whether an operation succeeded. A preview may also succeed by reporting that a tree
// contains no app.
func (c changed) done(got answer) bool {
	return got.Status/100 == 2 || c.action == "" && got.Status == http.StatusUnprocessableEntity
}

// emptyTree returns a tar+gzip of an empty tree.
func emptyTree(w *world) string { return string(packed(w, strings.Repeat("\x00", 1024))) }

// actionStep turns the seeded step into one of an action, in a status, after another that is
// running.
func (o *tenant) actionStep(status string) {
	first := id.New("stp")
	o.w.exec("update workflows set status = 'running' where id = $1", o.ids["workflow"])
	o.w.exec("update jobs set status = 'running', kind = 'action', owner_id = $1, ended_at = null where id = $2",
		first, o.ids["job"])
	o.add("steps", "id", first, "workflow_id", o.ids["workflow"], "position", 1, "kind", "action", "action", "smoke",
		"trigger", "manual", "status", "running",
		"job_id", o.ids["job"])
	o.w.exec("update steps set kind = 'action', component = '', action = 'smoke', trigger = 'manual', plan_id = null, "+
		"status = $1, needs = jsonb_build_array($2::text) where id = $3",
		status, first, o.ids["step"])
}

// TestEveryChangeIsRecorded runs every operation of the document that changes something. Each
// leaves one event with its actor and object, and without any secret that was sent or shown. A
// refused one leaves none.
func TestEveryChangeIsRecorded(t *testing.T) {
	t.Parallel()
	for _, op := range operations(t) {
		if op.Method == http.MethodGet {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.one.fill()
			w.one.fillStates()
			w.exec("update jobs set status = 'failed' where id = $1", w.one.ids["job"])
			change, is := changes(w)[op.ID]
			if !is {
				t.Fatalf("%s changes something: say in changes how, and what the audit has of it", op.ID)
			}
			if change.before != nil {
				change.before()
			}
			if change.path == "" {
				change.path = op.Path
			}
			events := func() []string {
				return w.texts("select actor || ' ' || action || ' ' || subject || ' ' || detail from audit_events where org_id "+
					"= $1 order by id", w.one.org.ID)
			}
			known := len(events())
			if needs[op.ID] != "viewer" && op.ID != "revokeToken" {
				w.refusedAs(w.call(w.one.token["viewer"], op.Method, change.path, change.body),
					http.StatusForbidden, "forbidden")
			}
			if op.Body == "application/json" {
				w.refusedAs(w.call(w.one.token["admin"], op.Method, change.path, "{"),
					http.StatusBadRequest, "bad_request")
			}
			if now := events(); len(now) != known {
				t.Errorf("what was refused is recorded: %q", now[known:])
			}
			got := w.call(w.one.token["admin"], op.Method, change.path, change.body)
			if !change.done(got) {
				t.Fatalf("%s %s: %d %s", op.Method, change.path, got.Status, got.Body)
			}
			now := events()[known:]
			if change.action == "" {
				if len(now) > 0 {
					t.Errorf("it keeps nothing, and recorded %q", now)
				}
				return
			}
			own := slices.DeleteFunc(slices.Clone(now), func(e string) bool {
				return !strings.HasPrefix(e, w.one.mark+"-admin "+change.action+" ")
			})
			if len(own) != 1 {
				t.Fatalf("recorded %q, want one %s", now, change.action)
			}
			subject := strings.Fields(own[0])[2]
			if !strings.Contains(subject, "_") && !id.Valid("ins", subject) {
				t.Errorf("its subject is no id: %s", own[0])
			}
			for _, secret := range secretsIn(got.Body) {
				if strings.Contains(strings.Join(now, "\n"), secret) {
					t.Errorf("the audit has the secret %s: %q", secret, now)
				}
			}
			if op.Method == http.MethodDelete && op.ID == "revokeToken" {
				if again := w.call(w.one.token["admin"], op.Method, change.path, nil); again.Status != http.StatusOK ||
					len(events()) != known+1 {
					t.Errorf("again: %d, %d events", again.Status, len(events())-known)
				}
			}
		})
	}
}

// secretsIn returns the texts of a response that are shown only once.
func secretsIn(body string) []string {
	var all []string
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				walk(k, inner)
			}
		case string:
			if v != "" && (name == "secret" || name == "registration_token" || name == "ciphertext") {
				all = append(all, v)
			}
		}
	}
	var answer any
	if json.Unmarshal([]byte(body), &answer) == nil {
		walk("", answer)
	}
	return all
}

// TestAuditIsRead checks pages, the newest event first, and the filters by action, actor and
// object.
func TestAuditIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, action := range []string{"state.unlock", "state.restore", "statement.make", "token.create", "state.unlock"} {
		w.one.add("audit_events", "actor", []string{"alice", "bob"}[i%2], "action", action, "subject", "thing_"+itoa(i))
	}
	w.two.add("audit_events", "actor", "alice", "action", "state.unlock", "subject", "theirs")
	for query, want := range map[string]string{
		"":                                "thing_4 thing_3 thing_2 thing_1 thing_0",
		"?action=state":                   "thing_4 thing_1 thing_0",
		"?action=state.unlock":            "thing_4 thing_0",
		"?action=stat":                    "",
		"?action=%25":                     "",
		"?actor=bob":                      "thing_3 thing_1",
		"?subject=thing_2":                "thing_2",
		"?actor=alice&action=state":       "thing_4 thing_0",
		"?cursor=nonsense&subject=theirs": "",
	} {
		var pages []string
		for cursor := ""; ; {
			sep := "?"
			if strings.Contains(query, "?") {
				sep = "&"
			}
			path := "/v1/audit" + query
			if !strings.Contains(query, "cursor") {
				path += sep + "limit=2&cursor=" + cursor
			}
			got := w.call(w.one.token["viewer"], http.MethodGet, path, nil)
			var l api.AuditEventList
			if err := json.Unmarshal([]byte(got.Body), &l); err != nil ||
				got.Status != http.StatusOK || l.Items == nil {
				t.Fatalf("%s: %d %s", path, got.Status, got.Body)
			}
			for _, e := range l.Items {
				pages = append(pages, e.Subject)
			}
			if cursor = l.Next; cursor == "" {
				break
			}
		}
		if got := strings.Join(pages, " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestAuditCannotBeChanged checks the permissions of the program that writes it.
func TestAuditCannotBeChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.add("audit_events", "actor", "a", "action", "b.c", "subject", id.New("x"))
	w.exec("set role nuon_app")
	w.exec("select set_config('nuon.org', $1, false)", w.one.org.ID)
	for _, sql := range []string{
		"update audit_events set actor = 'nobody'", "delete from audit_events", "truncate audit_events",
	} {
		if _, err := w.seed.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
