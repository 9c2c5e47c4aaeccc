package format

// Permissions is permissions.toml: the roles that the customer's stack creates for the runner.
type Permissions struct {
	// Role that provisions the sandbox and copies secrets.
	ProvisionRole *Role `toml:"provision_role" json:"provision_role,omitempty"`
	// Role that deprovisions the sandbox.
	DeprovisionRole *Role `toml:"deprovision_role" json:"deprovision_role,omitempty"`
	// Role that deploys components and runs actions.
	MaintenanceRole *Role `toml:"maintenance_role" json:"maintenance_role,omitempty"`
}

// StandingRole is a file below permissions/: one of the roles that the customer's stack creates for
// the runner.
type StandingRole struct {
	// What the role is for. Each type except custom can occur once.
	Type string `toml:"type" json:"type,omitempty" config:"required,one=provision|deprovision|maintenance|custom"`
	Role
}

// BreakGlass is break_glass.toml, or a file below break_glass/: roles that are disabled until the
// customer enables them.
type BreakGlass struct {
	// The roles.
	Roles []Role `toml:"role" json:"role,omitempty" config:"sorted=name"`
}

// Role is an identity in the customer's account.
type Role struct {
	// Name of the role in the account.
	Name string `toml:"name" json:"name,omitempty" config:"required,template" example:"{{.nuon.install.id}}-maintenance"`
	// What the role may do, as an explanation for the customer.
	Description string `toml:"description" json:"description,omitempty" config:"required,template" example:"Deploys components and runs actions"`
	// Label of the stack parameter that enables it.
	DisplayName string `toml:"display_name" json:"display_name,omitempty" config:"template" example:"Maintenance"`
	// JSON document of its permissions boundary; empty and {} mean none.
	PermissionsBoundary string `toml:"permissions_boundary" json:"permissions_boundary,omitempty" config:"template,file,json" example:"./maintenance_boundary.json"`
	// Permissions of the role.
	Policies []RolePolicy `toml:"policies" json:"policies,omitempty" config:"required"`
	// The cloud. The default is the cloud of the runner.
	CloudPlatform string `toml:"cloud_platform" json:"cloud_platform,omitempty" config:"one=aws|azure|gcp"`
	// Whether the role is enabled in a new stack.
	EnabledInStack *bool `toml:"enabled_in_stack" json:"enabled_in_stack,omitempty"`
	// Policies that already exist in the account.
	NamedPolicies Any `toml:"named_policies" json:"named_policies,omitempty"`
}

// RolePolicy grants permissions to a role: exactly one of its forms.
type RolePolicy struct {
	// Name of an inline policy.
	Name string `toml:"name" json:"name,omitempty" config:"template" example:"pass-roles"`
	// Short name of a managed policy of AWS.
	ManagedPolicyName string `toml:"managed_policy_name" json:"managed_policy_name,omitempty" example:"PowerUserAccess"`
	// JSON document of an inline policy.
	Contents string `toml:"contents" json:"contents,omitempty" config:"template,file,json" example:"./pass_roles.json"`
	// Predefined role of GCP.
	GCPPredefinedRole string `toml:"gcp_predefined_role" json:"gcp_predefined_role,omitempty" example:"roles/viewer"`
	// Permissions on GCP.
	GCPPermissions []string `toml:"gcp_permissions" json:"gcp_permissions,omitempty" config:"set" example:"storage.objects.get"`
	// Built-in roles of Azure.
	AzureBuiltInRoles []string `toml:"azure_built_in_roles" json:"azure_built_in_roles,omitempty" config:"set" example:"Reader"`
	// Actions on Azure.
	AzureActions []string `toml:"azure_actions" json:"azure_actions,omitempty" config:"set" example:"Microsoft.Storage/*/read"`
}

// OperationRoles is operation_roles.toml: the roles of operations, for the whole app.
type OperationRoles struct {
	// Type of the rules.
	Type string `toml:"type" json:"type,omitempty" config:"one=matrix,default=matrix"`
	// The rules, at most one for each principal and operation.
	Rules []OperationRule `toml:"rules" json:"rules,omitempty"`
}

// OperationRule is the role that one operation of one principal runs with.
type OperationRule struct {
	// nuon::sandbox, nuon::component:NAME or nuon::action:NAME; NAME can be *.
	Principal string `toml:"principal" json:"principal,omitempty" config:"required" example:"nuon::component:api"`
	// provision, reprovision or deprovision for the sandbox; deploy or teardown for a component;
	// trigger for an action.
	Operation string `toml:"operation" json:"operation,omitempty" config:"required,one=provision|reprovision|deprovision|deploy|teardown|trigger"`
	// Name of a role, as it is written in permissions or break_glass.
	Role string `toml:"role" json:"role,omitempty" config:"required,template" example:"{{.nuon.install.id}}-deploy"`
}
