package appconfig

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// App is the complete config of one app: it includes the texts of the files that it refers to. It
// survives a round trip through encoding/json unchanged. Lists that are sets are sorted, and maps
// and lists without elements are nil, so equal configs are equal values.
//
// Package format documents what each key means. An App leaves out keys that name files which are
// part of it (source), defaults of secrets and of sensitive inputs, and addresses that are
// credentials (slack_webhook_url), because an App is stored in plain text.
type App struct {
	Metadata Metadata       `json:"metadata"`
	Sandbox  *Component     `json:"sandbox,omitempty"` // deployed first; never nil in the result of Load
	Runner   *format.Runner `json:"runner,omitempty"`  // nil without a runner.toml
	Stack    *format.Stack  `json:"stack,omitempty"`
	Groups   []InputGroup   `json:"groups,omitempty"` // in file order; by name if each is its own file
	Inputs   []Input        `json:"inputs,omitempty"` // ordered like Groups
	// Components are those of all kinds, by name, without the sandbox. Not all of them can be
	// deployed yet: see Deployed.
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
	Triggers           map[string]any             `json:"triggers,omitempty"`       // triggers.toml, as written
	Installs           []Install                  `json:"installs,omitempty"`       // not part of the version
	// Remote are the remote files whose texts are part of the App, by reference.
	Remote []RemoteFile `json:"remote,omitempty"`
}

// Types that the App takes from the files unchanged.
type (
	Metadata   = format.Metadata
	InputGroup = format.InputGroup
	Secret     = format.Secret
	Policy     = format.Policy // always with a name
)

// Input is a value that each install sets. In templates every value is a string, regardless of its type;
// the type defines which strings are valid.
type Input format.Input

// RemoteFile is a remote file that a config refers to.
type RemoteFile struct {
	Reference string `json:"reference"`        // as written in the config
	Digest    string `json:"digest,omitempty"` // "sha256:" and the hash of the content; empty if the file was not read
	Bytes     int64  `json:"bytes,omitempty"`
}

// NotFetched returns the number of remote files that were not read (see Options.Fetch). The App holds
// their references instead of their texts, so an App with such files is only good for checking.
func (a *App) NotFetched() int {
	unread := 0
	for _, file := range a.Remote {
		if file.Digest == "" {
			unread++
		}
	}
	return unread
}

// Install is installs/*.toml: an install that should exist, and its inputs. Sensitive inputs are
// never part of it.
type Install struct {
	Name           string            `json:"name"`
	ApprovalOption string            `json:"approval_option"` // prompt or approve-all
	AllowDestroy   bool              `json:"allow_destroy,omitempty"`
	Inputs         map[string]string `json:"inputs,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Toggles        map[string]bool   `json:"component_toggles,omitempty"` // of deployed components
	// Overrides are the values of components that differ for this install, by component.
	Overrides map[string]Override `json:"components,omitempty"`
	// Account is the cloud account of the install: at most one of aws_account, azure_account and
	// gcp_account, with its keys.
	Account        map[string]map[string]string `json:"account,omitempty"`
	StackOverrides any                          `json:"stack_overrides,omitempty"`
}

// SandboxFirst compares the names of components: the sandbox sorts before the others, which sort by
// name.
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

// Component returns the component with the name, or the sandbox for "sandbox". The App owns the
// component: callers must not change it.
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

// Deployed returns a copy of the App with only those components that nuon can deploy so far, and
// with the sandbox only if it is one of them. The copy shares its parts with this App.
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

// Action returns the action with the name.
func (a *App) Action(name string) (*Action, bool) {
	i := slices.IndexFunc(a.Actions, func(action Action) bool { return action.Name == name })
	if i < 0 {
		return nil, false
	}
	return &a.Actions[i], true
}

// Input returns the input with the name.
func (a *App) Input(name string) (*Input, bool) {
	i := slices.IndexFunc(a.Inputs, func(input Input) bool { return input.Name == name })
	if i < 0 {
		return nil, false
	}
	return &a.Inputs[i], true
}
