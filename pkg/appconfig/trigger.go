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
	needsComponent bool // an event of one component, named in component_name
	supported      bool // it has an effect
}

var triggerTypes = map[string]triggerType{
	TriggerManual: {supported: true}, TriggerCron: {},
	TriggerPreDeployComponent: {true, true}, TriggerPostDeployComponent: {true, true},
	TriggerPreTeardownComponent: {true, true}, TriggerPostTeardownComponent: {true, true},
	TriggerPreEnableComponent: {true, true}, TriggerPostEnableComponent: {true, true},
	TriggerPreDisableComponent: {true, true}, TriggerPostDisableComponent: {true, true},
	TriggerPreProvision: {supported: true}, TriggerPostProvision: {supported: true},
	TriggerPostProvisionSandbox: {supported: true},
	TriggerPreDeployAll:         {supported: true}, TriggerPostDeployAll: {supported: true},
	TriggerPreUpdateInputs: {supported: true}, TriggerPostUpdateInputs: {supported: true},
	TriggerPreDeprovision: {supported: true}, TriggerPostDeprovision: {supported: true},
	TriggerPreTeardownAll: {supported: true}, TriggerPostTeardownAll: {supported: true},
	TriggerPreDeprovisionSandbox: {supported: true}, TriggerPostDeprovisionSandbox: {supported: true},
	"pre-reprovision": {}, "post-reprovision": {}, "pre-reprovision-sandbox": {}, "post-reprovision-sandbox": {},
	"pre-secrets-sync": {}, "post-secrets-sync": {}, "role-enabled": {}, "role-disabled": {},
}

// HasNoEffectYet reports whether a trigger has no effect yet. Load warns about such triggers.
func HasNoEffectYet(t Trigger) bool { return !triggerTypes[t.Type].supported }

// removedTriggerTypes are types that were removed from the format.
var removedTriggerTypes = []string{"pre-sandbox-run", "post-sandbox-run"}
