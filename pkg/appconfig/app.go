package appconfig

import "slices"

// SandboxName is the name, and KindSandbox the kind, of the sandbox when it is treated as a component. No component may be called
// so.
const (
	SandboxName         = "sandbox"
	KindSandbox         = "sandbox"
	KindTerraformModule = "terraform_module"
)

// App is one app's config, complete: what the files refer to is part of it. It goes through encoding/json and back unchanged.
// Lists that are sets are sorted and maps and lists without elements are nil, so equal configs are equal values.
type App struct {
	Metadata   Metadata     `json:"metadata"`
	Sandbox    *Component   `json:"sandbox,omitempty"` // nil if its engine has no effect yet (pulumi)
	Groups     []InputGroup `json:"groups,omitempty"`  // in the order of the files
	Inputs     []Input      `json:"inputs,omitempty"`  // in the order of the files
	Components []Component  `json:"components,omitempty"`
	Actions    []Action     `json:"actions,omitempty"`
	Secrets    []Secret     `json:"secrets,omitempty"`
	Installs   []Install    `json:"installs,omitempty"` // wishes about installs; no part of the version
}

// Metadata is metadata.toml.
type Metadata struct {
	Version     string `json:"version"` // v1 or v2; both mean the same
	DisplayName string `json:"display_name,omitempty"`
	Description string `json:"description,omitempty"`
	Readme      string `json:"readme,omitempty"` // Markdown; a template per install
}

// InputGroup is a heading under which inputs are shown.
type InputGroup struct {
	Name        string `json:"name"`
	DisplayName string `json:"display_name,omitempty"`
	Description string `json:"description,omitempty"`
}

// Input is a value that each install gives. Values are strings in templates, whatever the type; the type says what the string
// must look like.
type Input struct {
	Name             string  `json:"name"`
	DisplayName      string  `json:"display_name,omitempty"`
	Description      string  `json:"description,omitempty"`
	Group            string  `json:"group"`
	Type             string  `json:"type"` // string, number, bool, list, json, yaml or hcl
	Default          *string `json:"default,omitempty"`
	Required         bool    `json:"required,omitempty"`
	Sensitive        bool    `json:"sensitive,omitempty"`
	Internal         bool    `json:"internal,omitempty"`          // only the vendor's staff may set it
	UserConfigurable bool    `json:"user_configurable,omitempty"` // the customer sets it
}

// Secret is a value that only exists in the customer's account. Its default is not kept: an App is stored readable, and a default
// could be a real secret.
type Secret struct {
	Name         string `json:"name"`
	DisplayName  string `json:"display_name,omitempty"`
	Description  string `json:"description,omitempty"`
	Required     bool   `json:"required,omitempty"`
	AutoGenerate bool   `json:"auto_generate,omitempty"`
}

// Install is installs/*.toml: an install that should exist, and with which inputs. Sensitive inputs are never in it.
type Install struct {
	Name           string            `json:"name"`
	ApprovalOption string            `json:"approval_option"` // prompt or approve-all
	AllowDestroy   bool              `json:"allow_destroy,omitempty"`
	Inputs         map[string]string `json:"inputs,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Toggles        map[string]bool   `json:"toggles,omitempty"` // components that it switches on or off
	// Account is the cloud account that it is for: at most one of aws_account, azure_account and gcp_account, with its keys.
	Account map[string]map[string]string `json:"account,omitempty"`
}

// Component gives the component of that name, or the sandbox for "sandbox". The component belongs to the App and must not be
// changed.
func (a *App) Component(name string) (*Component, bool) {
	if name == SandboxName {
		return a.Sandbox, a.Sandbox != nil
	}
	for i := range a.Components {
		if a.Components[i].Name == name {
			return &a.Components[i], true
		}
	}
	return nil, false
}

// Action gives the action of that name.
func (a *App) Action(name string) (*Action, bool) {
	i := slices.IndexFunc(a.Actions, func(action Action) bool { return action.Name == name })
	if i < 0 {
		return nil, false
	}
	return &a.Actions[i], true
}

// Input gives the input of that name.
func (a *App) Input(name string) (*Input, bool) {
	i := slices.IndexFunc(a.Inputs, func(input Input) bool { return input.Name == name })
	if i < 0 {
		return nil, false
	}
	return &a.Inputs[i], true
}
