package appconfig

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// App is one app's config, complete: the texts of the files that it refers to are part of it. It goes through encoding/json and back
// unchanged. Lists that are sets are sorted, and maps and lists without elements are nil, so equal configs are equal values.
//
// What a key means stands in package format. Not in it are: keys that name files which are part of it (source), defaults of secrets and
// of sensitive inputs, and addresses that are credentials (slack_webhook_url), because an App is stored readable.
type App struct {
	Metadata Metadata       `json:"metadata"`
	Sandbox  *Component     `json:"sandbox,omitempty"` // what is made first; never nil in what Load gives
	Runner   *format.Runner `json:"runner,omitempty"`  // nil without a runner.toml
	Stack    *format.Stack  `json:"stack,omitempty"`
	Groups   []InputGroup   `json:"groups,omitempty"` // in the order of inputs.toml; by name, if each is a file of its own
	Inputs   []Input        `json:"inputs,omitempty"` // likewise
	// Components are those of all kinds, by name, without the sandbox. Not all are deployed yet: see Deployed.
	Components []Component `json:"components,omitempty"`
	Actions    []Action    `json:"actions,omitempty"`
	Secrets    []Secret    `json:"secrets,omitempty"`
	// Permissions are the standing roles, by type and name.
	Permissions        []format.StandingRole      `json:"permissions,omitempty"`
	BreakGlass         []format.Role              `json:"break_glass,omitempty"`
	OperationRoles     []format.OperationRule     `json:"operation_roles,omitempty"` // in the order of the file
	KubernetesContexts []format.KubernetesContext `json:"kubernetes_contexts,omitempty"`
	Policies           []Policy                   `json:"policies,omitempty"` // by type and name
	Runbooks           []format.Runbook           `json:"runbooks,omitempty"`
	Branches           []format.Branch            `json:"branches,omitempty"`
	Installer          *format.Installer          `json:"installer,omitempty"`
	InstallSource      *format.InstallSource      `json:"install_source,omitempty"` // installs.toml
	Triggers           map[string]any             `json:"triggers,omitempty"`       // triggers.toml, which is not looked into
	Installs           []Install                  `json:"installs,omitempty"`       // wishes about installs; no part of the version
	// Remote are the files from elsewhere whose texts are part of the App, by reference.
	Remote []RemoteFile `json:"remote,omitempty"`
}

// What the App takes over as the files say it.
type (
	Metadata   = format.Metadata
	InputGroup = format.InputGroup
	Secret     = format.Secret
	Policy     = format.Policy // with a name in any case
)

// Input is a value that each install gives. Values are strings in templates, whatever the type; the type says what the string must
// look like.
type Input format.Input

// RemoteFile is a file from elsewhere that a config refers to.
type RemoteFile struct {
	Reference string `json:"reference"`        // as it is written
	Digest    string `json:"digest,omitempty"` // "sha256:" and the hash of what was read; empty if it was not read
	Bytes     int64  `json:"bytes,omitempty"`
}

// Unread says how many of the files that the config refers to were not read (see Options.Fetch). Their references stand in
// the place of their texts, so an App with such files is good for checking only.
func (a *App) Unread() int {
	unread := 0
	for _, file := range a.Remote {
		if file.Digest == "" {
			unread++
		}
	}
	return unread
}

// Install is installs/*.toml: an install that should exist, and with which inputs. Sensitive inputs are never in it.
type Install struct {
	Name           string            `json:"name"`
	ApprovalOption string            `json:"approval_option"` // prompt or approve-all
	AllowDestroy   bool              `json:"allow_destroy,omitempty"`
	Inputs         map[string]string `json:"inputs,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Toggles        map[string]bool   `json:"component_toggles,omitempty"` // deployed components that it switches on or off
	// Account is the cloud account that it is for: at most one of aws_account, azure_account and gcp_account, with its keys.
	Account        map[string]map[string]string `json:"account,omitempty"`
	StackOverrides any                          `json:"stack_overrides,omitempty"`
}

// SandboxFirst compares the names of components: the sandbox comes before the others, which are in the order of their names.
func SandboxFirst(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == SandboxName:
		return -1
	case b == SandboxName:
		return 1
	}
	return strings.Compare(a, b)
}

// Component gives the component of that name, or the sandbox for "sandbox". The component belongs to the App and must not be changed.
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

// Deployed gives the App with those components only that nuon deploys so far, and the sandbox only if it is one of them. It shares its
// parts with this App.
func (a *App) Deployed() *App {
	deployed := *a
	deployed.Components = nil
	for i := range a.Components {
		if a.Components[i].Deployable() {
			deployed.Components = append(deployed.Components, a.Components[i])
		}
	}
	if a.Sandbox != nil && !a.Sandbox.Deployable() {
		deployed.Sandbox = nil
	}
	return &deployed
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
