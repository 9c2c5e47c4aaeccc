// Code generated from openapi.yaml by pkg/api/generate. DO NOT EDIT.

package api

// The values of enums, in the order of openapi.yaml.
var (
	ApprovalStatuses = []string{"waiting", "approved", "rejected", "withdrawn"}
	BuildStatuses    = []string{"queued", "running", "succeeded", "failed"}
	InstallStatuses  = []string{"new", "current", "behind", "waiting_for_approval", "deploying", "stalled", "rejected", "waiting", "deprovisioning", "deprovisioned"}
	LogLevels        = []string{"debug", "info", "warn", "error"}
	TokenRoles       = []string{"viewer", "ci", "operator", "approver", "admin"}
	WorkflowKinds    = []string{"provision", "deploy", "teardown", "deprovision", "action", "restore"}
	WorkflowStatuses = []string{"running", "succeeded", "failed", "rejected", "cancelled", "superseded"}
)
