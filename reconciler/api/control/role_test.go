package control_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// needs is the required role of each operation of the document. A route without an entry fails the
// test.
var needs = map[string]string{
	"whoami": "viewer", "getSealingKey": "viewer", "listCredentials": "viewer", "listApps": "viewer",
	"getApp": "viewer", "getSync": "viewer",
	"listAppVersions": "viewer", "listReleases": "viewer", "getRelease": "viewer", "diffRelease": "viewer",
	"listComponents": "viewer", "listBuilds": "viewer", "getBuild": "viewer", "getModuleRefresh": "viewer",
	"listInstalls": "viewer",
	"getInstall":   "viewer", "listWorkflows": "viewer", "getWorkflow": "viewer", "streamWorkflow": "viewer",
	"listApprovals": "viewer",
	"getApproval":   "viewer", "explain": "viewer", "listRunners": "viewer", "getRunner": "viewer",
	"getJob": "viewer", "getLogs": "viewer",
	"listStates": "viewer", "listStateVersions": "viewer", "listAudit": "viewer", "getSystem": "viewer",
	"getAppConfig": "viewer", "listRepos": "viewer", "getRepo": "viewer", "listWebhooks": "viewer",
	"getWebhook": "viewer", "rotateWebhook": "admin", "getPlan": "viewer",
	"renderTexts": "viewer", "getStackOutputs": "viewer", "listStackOutputVersions": "viewer",
	"getStackVersion": "viewer", "listStackVersions": "viewer", "listInstallSecrets": "viewer",
	"listAppVariables": "viewer", "listBreakGlass": "viewer",

	"syncApp": "ci", "uploadAppVersion": "ci", "previewApp": "ci", "retryBuild": "ci", "createModuleRefresh": "ci",
	"cancelModuleRefresh": "ci", "createPartialRelease": "ci",

	"previewInstall": "operator", "pinInstall": "operator", "unpinInstall": "operator", "retryStep": "operator",
	"skipStep": "operator", "renderStack": "operator", "setStackOutputs": "operator", "checkInstallSecrets": "operator",
	"changeAppVariables": "operator", "requestBreakGlass": "operator", "revokeBreakGlass": "operator",
	"getRunnerLogs": "operator", "createInstall": "operator", "updateInstall": "operator",
	"createLogRequest": "operator", "lookAtRepo": "operator", "cancelJob": "operator",
	"createWorkflow": "operator", "cancelWorkflow": "operator", "revokeWorkflowRule": "operator",
	"restoreState": "operator", "dismissState": "operator", "freeStateLock": "operator",

	"createShell": "approver", "sendShellInput": "approver", "getShell": "operator",
	"createDebugCommand": "approver", "respondApproval": "approver", "assignApproval": "approver",
	"setWorkflowRule": "approver",

	"deleteApp": "admin", "deleteRunner": "admin", "deleteCredential": "admin", "deleteWebhook": "admin",
	"createApp": "admin", "createCredential": "admin", "updateCredential": "admin", "createWebhook": "admin",
	"forgetInstall": "admin", "createRunner": "admin",
	"createRegistration": "admin", "replaceRunner": "admin", "abandonState": "admin", "listTokens": "admin",
	"confirmRunner": "admin", "forgetStack": "admin",
	"createToken": "admin", "collectRegistry": "admin",
	"revokeToken": "admin", // except its own: TestTokenRevokesItself
}

// TestRoles requests objects that do not exist, so that an allowed request gets another response
// than 403 and changes nothing.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	decided := map[string]bool{}
	for _, op := range operations(t) {
		need, is := needs[op.ID]
		if !is {
			t.Errorf("nobody decided which role %s needs: give it a line in needs, and in the server's", op.ID)
			continue
		}
		decided[op.ID] = true
		if need == "viewer" && op.Method != http.MethodGet {
			t.Errorf("%s is a %s, and a viewer may only read", op.ID, op.Method)
		}
		path := strings.ReplaceAll(strings.NewReplacer("{kind}", "app", "{version}", "1").Replace(op.Path), "{", "no-")
		path = strings.ReplaceAll(path, "}", "") + query[op.ID]
		for i, role := range roles {
			got := w.call(w.one.token[role], op.Method, path, map[string]any{})
			if allowed := i >= slices.Index(roles, need); allowed == (got.Status == http.StatusForbidden) ||
				got.Status == http.StatusUnauthorized {
				t.Errorf("%s as %s: %d %s; it needs %s", op.ID, role, got.Status, got.Body, need)
			}
			if got.Status == http.StatusForbidden {
				w.refusedAs(got, http.StatusForbidden, "forbidden")
			}
			if got.Status >= http.StatusInternalServerError {
				t.Errorf("%s as %s: %d %s", op.ID, role, got.Status, got.Body)
			}
		}
	}
	for id := range needs {
		if !decided[id] {
			t.Errorf("needs has a line for %s, which the document does not have", id)
		}
	}
}
