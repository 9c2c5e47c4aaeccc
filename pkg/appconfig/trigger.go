package appconfig

// The trigger types that start something. Load accepts all others of the format, and warns that
// they have no effect yet. A trigger for one component names it in component_name.
const (
	TriggerManual = "manual" // a person starts it
	TriggerCron   = "cron"   // on a schedule; no effect yet

	TriggerPreDeployComponent    = "pre-deploy-component" // after its plan was approved, before its apply
	TriggerPostDeployComponent   = "post-deploy-component"
	TriggerPreTeardownComponent  = "pre-teardown-component" // likewise, for its destroy
	TriggerPostTeardownComponent = "post-teardown-component"
	TriggerPreEnableComponent    = "pre-enable-component" // likewise, for the deploy of a toggleable component
	TriggerPostEnableComponent   = "post-enable-component"
	TriggerPreDisableComponent   = "pre-disable-component" // likewise, for the destroy of a disabled component
	TriggerPostDisableComponent  = "post-disable-component"

	TriggerPreProvision         = "pre-provision" // around the whole workflow that provisions a new install
	TriggerPostProvision        = "post-provision"
	TriggerPostProvisionSandbox = "post-provision-sandbox"

	TriggerPreDeployAll  = "pre-deploy-all-components" // around all components of a provision or a deploy
	TriggerPostDeployAll = "post-deploy-all-components"

	TriggerPreUpdateInputs  = "pre-update-inputs" // around a deploy whose only cause is changed inputs
	TriggerPostUpdateInputs = "post-update-inputs"

	TriggerPreDeprovision         = "pre-deprovision" // around the whole workflow that deprovisions an install
	TriggerPostDeprovision        = "post-deprovision"
	TriggerPreTeardownAll         = "pre-teardown-all-components" // around the components of a deprovision
	TriggerPostTeardownAll        = "post-teardown-all-components"
	TriggerPreDeprovisionSandbox  = "pre-deprovision-sandbox"
	TriggerPostDeprovisionSandbox = "post-deprovision-sandbox"
)

// triggerType describes a trigger type of the format.
type triggerType struct {
	component bool // an event of one component, named in component_name
	works     bool // it has an effect
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

// IsIdle reports whether a trigger has no effect yet. Load warns about such triggers.
func IsIdle(t Trigger) bool { return !triggerTypes[t.Type].works }

// goneTriggerTypes are types that were removed from the format.
var goneTriggerTypes = []string{"pre-sandbox-run", "post-sandbox-run"}
