package control_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// bodies returns requests that name another org's objects, by operation. Every operation with a
// body has an entry.
func bodies(of *tenant) map[string]any {
	sealed := map[string]any{"key_id": "k", "ciphertext": "eA=="}
	return map[string]any{
		"createCredential": map[string]any{"name": of.mark + "-cred", "password": sealed},
		"createWebhook":    map[string]any{}, "rotateWebhook": map[string]any{},
		"updateCredential": map[string]any{"add_repositories": []string{"https://git.example/x"}},
		"createApp": map[string]any{
			"name": "stolen", "repository": "https://git.example/x", "credential": of.ids["credential"],
		},
		"createModuleRefresh": map[string]any{"dry_run": true},
		"collectRegistry":     map[string]any{"dry_run": true},
		"syncApp":             map[string]any{}, "uploadAppVersion": "not a tar",
		"createInstall": map[string]any{"app": of.ids["app"], "name": "stolen", "inputs": []any{}},
		"updateInstall": map[string]any{
			"approval": "approve-all", "allow_destroy": true,
			"inputs": []any{map[string]any{"name": "region", "value": "x"}},
		},
		"createDebugCommand": map[string]any{"command": []string{"stolen"}, "reason": "stolen"},
		"createLogRequest":   map[string]any{"component": of.mark + "-web", "reason": "stolen"},
		"createShell":        map[string]any{"component": of.mark + "-web", "reason": "stolen", "columns": 80, "rows": 24},
		"sendShellInput":     map[string]any{"number": 1, "data": "c3RvbGVu"},
		"createWorkflow":     map[string]any{"kind": "deprovision"},
		"cancelWorkflow":     map[string]any{"reason": "stolen"},
		"setWorkflowRule":    map[string]any{"reason": "stolen"},
		"respondApproval": map[string]any{
			"answer": "approve", "plan": of.ids["plan"], "content_digest": "sha256:" + of.mark + "-content",
		},
		"assignApproval":     map[string]any{"assignee": "me"},
		"createRunner":       map[string]any{"name": of.mark + "-runner", "kind": "bad"},
		"createToken":        map[string]any{"name": of.mark + "-admin", "role": "bad"},
		"replaceRunner":      map[string]any{"reason": "stolen"},
		"confirmRunner":      map[string]any{"claim": "clm_1"},
		"forgetStack":        map[string]any{"reason": "stolen"},
		"requestBreakGlass":  map[string]any{"role": of.mark + "-repair", "reason": "stolen", "seconds": 3600},
		"revokeBreakGlass":   map[string]any{"role": of.mark + "-repair"},
		"restoreState":       map[string]any{"reason": "stolen"},
		"dismissState":       map[string]any{"reason": "stolen"},
		"abandonState":       map[string]any{"reason": "stolen"},
		"previewApp":         "not a tar",
		"previewInstall":     map[string]any{"approval": "approve-all"},
		"pinInstall":         map[string]any{"release": 1},
		"changeAppVariables": map[string]any{"set": []any{map[string]any{"name": "region", "value": "stolen"}}},
		"setStackOutputs":    map[string]any{"set": []any{map[string]any{"name": "region", "value": "stolen"}}},
		"skipStep":           map[string]any{"reason": "stolen"},
	}
}

// query is the required query of an operation besides object names; MARK is replaced by the
// tenant's mark.
var query = map[string]string{
	"diffRelease": "?from=1", "freeStateLock": "?reason=stolen", "renderTexts": "?component=MARK-web",
}

// keys returns the ways in which a path parameter may name another org's object.
func keys(of *tenant) map[string][]string {
	return map[string][]string{
		"app":      {of.ids["app"], of.mark + "-app"},
		"install":  {of.ids["install"], of.mark + "-inst", of.mark + "-app/" + of.mark + "-inst"},
		"build":    {of.ids["build"]},
		"refresh":  {of.ids["refresh"]},
		"workflow": {of.ids["workflow"]},
		"approval": {of.ids["approval"]},
		"job":      {of.ids["job"]},
		"token":    {of.ids["token"], of.mark + "-admin"},
		"runner":   {of.ids["runner"], of.mark + "-runner"},
		"plan":     {of.ids["plan"]},
		"step":     {of.ids["step"]},
		"repo":     {of.ids["watch"]},
		"webhook":  {of.ids["webhook"]},
		// By its name and its id.
		"credential": {of.ids["credential"], of.mark + "-cred"},
		// Of an install of another org.
		"component": {of.mark + "-web"},
		"version":   {"1"},
		"release":   {"1"},
	}
}

// request is one way to call an operation, with the keys that it contains.
type request struct {
	path string
	keys []string
}

// requests returns all ways to call an operation with a tenant's objects.
func requests(t *testing.T, op operation, of *tenant) []request {
	all := []request{{path: op.Path + strings.ReplaceAll(query[op.ID], "MARK", of.mark)}}
	for _, p := range op.inPath() {
		var next []request
		for _, r := range all {
			values := keys(of)[p.Name]
			switch {
			case p.Name == "kind":
				values = p.Enum
			case p.Name == "id": // of the kind that the path names at this point
				kind := strings.Split(r.path, "/")[3]
				values = append([]string{of.ids[kind]}, keys(of)[kind]...)
			}
			if len(values) == 0 || values[0] == "" {
				t.Fatalf("%s has a path parameter %s: say in keys what names one", op.ID, p.Name)
			}
			for _, v := range values {
				next = append(next, request{
					path: strings.Replace(r.path, "{"+p.Name+"}", url.PathEscape(v), 1),
					keys: append([]string{v}, r.keys...),
				})
			}
		}
		all = next
	}
	for _, filter := range []string{"app", "install", "runner"} {
		if op.has(filter) {
			path := all[0].path
			for _, key := range keys(of)[filter] {
				all = append(all, request{path: path + "?" + filter + "=" + url.QueryEscape(key), keys: []string{key}})
			}
		}
	}
	return all
}

// ghost returns a tenant that does not exist, with names and ids like another's.
func ghost(like *tenant) *tenant {
	g := &tenant{w: like.w, mark: "ghost5x2", ids: map[string]string{}}
	for kind, known := range like.ids {
		prefix, _, _ := strings.Cut(known, "_")
		g.ids[kind] = id.New(prefix)
	}
	return g
}

// TestNothingOfAnotherOrg calls every operation of the document as org two with the objects of org
// one, by id and by name. The responses equal those to the same requests for objects that never
// existed.
func TestNothingOfAnotherOrg(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.one.fillStates()
	w.two.fill()
	never := ghost(w.one)
	before := w.rows("where org_id = $1", w.one.org.ID)
	if !strings.Contains(before, w.one.mark+" says so") || !strings.Contains(before, w.one.ids["approval"]) {
		t.Fatal("the rows of org one are not looked at")
	}
	for _, op := range operations(t) {
		body, given := bodies(w.one)[op.ID]
		if (op.Body != "") != given {
			t.Errorf("%s takes the body %q: keep bodies in step", op.ID, op.Body)
			continue
		}
		nothing := requests(t, op, never)
		for i, r := range requests(t, op, w.one) {
			for _, accept := range []string{"application/json", "text/event-stream"} {
				got := w.call(w.two.token["admin"], op.Method, r.path, body, "Accept", accept)
				checkForeign(t, w.one, op, r, got)
				if len(r.keys) == 0 {
					continue
				}
				none := w.call(w.two.token["admin"], op.Method, nothing[i].path, bodies(never)[op.ID], "Accept", accept)
				sameAnswer(t, op, r, got, nothing[i], none)
			}
		}
	}
	if after := w.rows("where org_id = $1", w.one.org.ID); after != before {
		t.Errorf("org one was changed from\n%s\nto\n%s", before, after)
	}
}

// checkForeign requires that a request for another's object gets 404, that a list without a filter
// shows the caller's own objects, and that no response contains a trace of the other org.
func checkForeign(t *testing.T, other *tenant, op operation, r request, got answer) {
	t.Helper()
	named := len(r.keys) > 0 || op.ID == "createInstall" || op.ID == "createApp"
	switch {
	case got.Status >= http.StatusInternalServerError, named && got.Status != http.StatusNotFound:
		t.Errorf("%s %s as somebody else: %d %s", op.Method, r.path, got.Status, got.Body)
	case named:
		other.w.refusedAs(got, http.StatusNotFound, "not_found")
	}
	seen := got.Body
	for _, key := range append(r.keys, other.ids["credential"], other.ids["app"]) {
		if got.Status != http.StatusOK { // an error may repeat what was requested
			seen = strings.ReplaceAll(seen, key, "")
		}
	}
	for kind, known := range other.ids {
		if strings.Contains(seen, known) {
			t.Errorf("%s %s shows the %s of another: %s", op.Method, r.path, kind, seen)
		}
	}
	if strings.Contains(seen, other.mark) {
		t.Errorf("%s %s shows something of another: %s", op.Method, r.path, seen)
	}
}

// sameAnswer requires that another's object and one that never existed get the same response.
func sameAnswer(t *testing.T, op operation, r request, got answer, nothing request, none answer) {
	t.Helper()
	if got.Status != none.Status || nameless(got, r) != nameless(none, nothing) {
		t.Errorf("%s %s tells another's from none at all: %d %s, and %d %s",
			op.Method, r.path, got.Status, got.Body, none.Status, none.Body)
	}
}

// nameless returns a response without the keys of the request.
func nameless(a answer, r request) string {
	for _, key := range r.keys {
		if len(key) > 1 { // the number of a version is not a name
			a.Body = strings.ReplaceAll(a.Body, key, "…")
		}
	}
	return a.Body
}

func items(a answer) int {
	var list struct{ Items []json.RawMessage }
	if json.Unmarshal([]byte(a.Body), &list) != nil || list.Items == nil {
		return -1
	}
	return len(list.Items)
}

// markless lists the operations whose responses contain no name that an org has chosen, or, as getShell, only in
// another encoding.
var markless = []string{"listInstallSecrets", "getSealingKey", "getSystem", "listWebhooks", "getWebhook", "getShell"}

// TestOwnThingsAreThere is the counterpart: the same requests of org one itself succeed, so the
// 404s above are caused by the org alone.
func TestOwnThingsAreThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.one.fillStates()
	for _, op := range operations(t) {
		if op.Method != http.MethodGet {
			continue
		}
		for _, r := range requests(t, op, w.one) {
			if op.ID == "listBuilds" && !strings.Contains(r.path, "app=") {
				continue
			}
			got := w.call(w.one.token[needs[op.ID]], op.Method, r.path, nil)
			if got.Status != http.StatusOK ||
				!strings.Contains(got.Body, w.one.mark) && !slices.Contains(markless, op.ID) {
				t.Errorf("%s %s: %d %s", op.Method, r.path, got.Status, got.Body)
			}
		}
	}
}

// TestNamesBelongToAnOrg checks that two orgs may use the same names.
func TestNamesBelongToAnOrg(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, o := range []*tenant{w.one, w.two} {
		for path, body := range map[string]any{
			"/v1/apps":    map[string]any{"name": "same"},
			"/v1/runners": map[string]any{"name": "same", "kind": "install", "shared": true},
			"/v1/credentials": map[string]any{
				"name": "same", "password": w.sealed(seal.CredentialContext(o.org.ID, "same"), w.key.Recipient(), "p"),
			},
		} {
			if got := w.call(
				o.token["admin"], http.MethodPost, path, body, "Idempotency-Key", "same",
			); got.Status != http.StatusCreated {
				t.Errorf("POST %s as %s: %d %s", path, o.mark, got.Status, got.Body)
			}
		}
	}
}
