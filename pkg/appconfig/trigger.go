package appconfig

// The trigger types that start something. All others of the format are accepted, and Load warns that they have no effect yet.
// What is about one component names it in component_name.
const (
	TriggerManual = "manual" // a person asks
	TriggerCron   = "cron"   // on a schedule; without effect yet

	TriggerPreDeployComponent    = "pre-deploy-component" // once its plan was approved, before its apply
	TriggerPostDeployComponent   = "post-deploy-component"
	TriggerPreTeardownComponent  = "pre-teardown-component" // likewise, of its destroy
	TriggerPostTeardownComponent = "post-teardown-component"
	TriggerPreEnableComponent    = "pre-enable-component" // likewise, of the deploy of a component that may be switched off
	TriggerPostEnableComponent   = "post-enable-component"
	TriggerPreDisableComponent   = "pre-disable-component" // likewise, of the destroy of one that was switched off
	TriggerPostDisableComponent  = "post-disable-component"

	TriggerPreProvision         = "pre-provision" // around all of the workflow that brings a new install up
	TriggerPostProvision        = "post-provision"
	TriggerPostProvisionSandbox = "post-provision-sandbox"

	TriggerPreDeployAll  = "pre-deploy-all-components" // around all components of a provision or a deploy
	TriggerPostDeployAll = "post-deploy-all-components"

	TriggerPreUpdateInputs  = "pre-update-inputs" // around a deploy whose only reason are changed inputs
	TriggerPostUpdateInputs = "post-update-inputs"

	TriggerPreDeprovision         = "pre-deprovision" // around all of the workflow that removes an install
	TriggerPostDeprovision        = "post-deprovision"
	TriggerPreTeardownAll         = "pre-teardown-all-components" // around the components of a deprovision
	TriggerPostTeardownAll        = "post-teardown-all-components"
	TriggerPreDeprovisionSandbox  = "pre-deprovision-sandbox"
	TriggerPostDeprovisionSandbox = "post-deprovision-sandbox"
)

// triggerType is what the format says of a type.
type triggerType struct {
	component bool // an event of one component, which component_name must name
	works     bool // it starts something
}

var triggerTypes = map[string]triggerType{
	TriggerManual: {works: true}, TriggerCron: {},
	TriggerPreDeployComponent: {true, true}, TriggerPostDeployComponent: {true, true},
	TriggerPreTeardownComponent: {true, true}, TriggerPostTeardownComponent: {true, true},
	TriggerPreEnableComponent: {true, true}, TriggerPostEnableComponent: {true, true},
	TriggerPreDisableComponent: {true, true}, TriggerPostDisableComponent: {true, true},
	TriggerPreProvision: {works: true}, TriggerPostProvision: {works: true}, TriggerPostProvisionSandbox: {works: true},
	TriggerPreDeployAll: {works: true}, TriggerPostDeployAll: {works: true},
	TriggerPreUpdateInputs: {works: true}, TriggerPostUpdateInputs: {works: true},
	TriggerPreDeprovision: {works: true}, TriggerPostDeprovision: {works: true},
	TriggerPreTeardownAll: {works: true}, TriggerPostTeardownAll: {works: true},
	TriggerPreDeprovisionSandbox: {works: true}, TriggerPostDeprovisionSandbox: {works: true},
	"pre-reprovision": {}, "post-reprovision": {}, "pre-reprovision-sandbox": {}, "post-reprovision-sandbox": {},
	"pre-secrets-sync": {}, "post-secrets-sync": {}, "role-enabled": {}, "role-disabled": {},
}

// IsIdle reports whether a trigger has no effect yet. Load warns of such triggers.
func IsIdle(t Trigger) bool { return !triggerTypes[t.Type].works }

// goneTriggerTypes were removed from the format.
var goneTriggerTypes = []string{"pre-sandbox-run", "post-sandbox-run"}
