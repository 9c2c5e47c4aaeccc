// Package installstack turns the config of an app and the facts of an install into a description of what the customer
// creates in the account first: the network, the machine of the runner, roles, secrets and parameters. It is pure. The
// packages below it render the description for CloudFormation, Terraform and Azure Resource Manager. Package
// stackversion calls them; nothing here reads a database, a clock or a network.
package installstack

import (
	"encoding/json"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// Stack is what one customer creates for one install, on any cloud. Texts can contain placeholders (see Split).
type Stack struct {
	Cloud       string // aws, gcp or azure
	Name        string // within the limits of the cloud
	Description string
	Install     Install
	// Account and Region are those that the install was created for, or empty.
	Account, Region string
	// ExistingNetwork requires a network that the customer has; else the stack offers to create one.
	ExistingNetwork bool
	// Terraform is true for a Terraform module that deploys the template of AWS or Azure.
	Terraform bool
	Runner    Runner
	Roles     []Role // by kind and key
	Secrets   []Secret
	Inputs    []InputGroup // what the customer sets
	Nested    []Nested     // in the order of creation
	Claim     string       // the token that names the install to the control plane; it is no secret
	Version   int          // number of the version, which the stack reports
}

// RunnerArguments returns the arguments by which runnerd takes only the jobs of the install, and needs a grant for its
// break-glass roles. name returns the name of a role in the cloud.
func (s *Stack) RunnerArguments(name func(Role) string) string {
	arguments := "--install " + s.Install.ID
	for _, role := range s.Roles {
		if role.Kind == BreakGlass {
			arguments += " --break-glass-role " + name(role)
		}
	}
	return arguments
}

// Install identifies the install.
type Install struct{ ID, Name, AppID, App, OrgID string }

// Runner is the machine of the runner and the program on it.
type Runner struct {
	URL          string // of the runner API
	DownloadURL  string // of runnerd
	SHA256       string // of runnerd, in hexadecimal
	InstanceType string // empty for the default of the cloud
	// AzureAudience is the application of the vendor that machines on Azure prove their identity to, api://….
	AzureAudience string
}

// RoleKind is what a role is for.
type RoleKind string

// The kinds of roles, in the order of a stack.
const (
	Provision   RoleKind = "provision"
	Maintenance RoleKind = "maintenance"
	Deprovision RoleKind = "deprovision"
	Custom      RoleKind = "custom"
	BreakGlass  RoleKind = "break_glass"
)

// Role is a role of the customer's account that operations of the install run under.
type Role struct {
	Kind RoleKind
	// Key is the name in the config, rendered. Templates find the role by it.
	Key string
	// ID is a word for identifiers in templates, unique among the roles of the stack.
	ID          string
	Label       string
	Description string
	Enabled     bool // the initial value of the customer's switch
	Boundary    Document
	Policies    []Policy
	// Grants are roles of GCP, Actions permissions of a custom role on GCP or Azure, BuiltIn roles of Azure.
	Grants, Actions, BuiltIn []string
	// Existing are policies of the customer's account, by name or ARN.
	Existing []string
}

// Policy is a policy of a role: a managed one of the cloud, or a document.
type Policy struct {
	Managed  string
	Name     string
	Document Document
}

// Document is a JSON document of permissions; nil means none.
type Document map[string]any

// Bytes returns the size of the document without spaces, as clouds count it. A placeholder counts as its longest value.
func (d Document) Bytes() int {
	raw, _ := json.Marshal(any(map[string]any(d))) // decoded from JSON
	size := 0
	for _, part := range Split(string(raw)) {
		switch part.Placeholder {
		case "":
			size += len(part.Text)
		default:
			size += longestValue
		}
	}
	return size
}

// Secret is a value that the customer enters, or that is generated in the account.
type Secret struct {
	Name, ID, Label, Description string
	Required, Generated          bool
	// CustomerManaged secrets exist already: the customer enters only their address.
	CustomerManaged bool
}

// InputGroup has the inputs of the app that the customer sets.
type InputGroup struct {
	Name, Label string
	Inputs      []Input
}

// Input is an input that the customer sets as a parameter of the stack.
type Input struct {
	appconfig.Input
	ID    string
	Value *string // the vendor's value or the default
}

// Nested is a template of the vendor that becomes a part of the stack.
type Nested struct {
	Name, ID string
	URL      string // where the cloud reads it
	// Source is where the vendor has it, and SHA256 its digest in hexadecimal; empty if it is not pinned.
	Source, SHA256 string
	Parameters     map[string]string
	// Outputs are those that templates of the app read, as they read them: NAME or outputs.NAME.
	Outputs []string
}

// Result is a stack with what was found about it. Stack is nil if a finding is an error.
type Result struct {
	Stack    *Stack
	Findings diagnostic.Diagnostics
}
