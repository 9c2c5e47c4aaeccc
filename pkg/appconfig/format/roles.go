package format

// Permissions is permissions.toml: the roles that the customer's stack makes for the runner.
type Permissions struct {
	// With it the sandbox is provisioned and secrets are copied.
	ProvisionRole *Role `toml:"provision_role" json:"provision_role,omitempty"`
	// With it the sandbox is deprovisioned.
	DeprovisionRole *Role `toml:"deprovision_role" json:"deprovision_role,omitempty"`
	// With it components are deployed and actions run.
	MaintenanceRole *Role `toml:"maintenance_role" json:"maintenance_role,omitempty"`
}

// StandingRole is a file below permissions/: one of the roles that the customer's stack makes for the runner.
type StandingRole struct {
	// What the role is for. There is one of each, but for custom.
	Type string `toml:"type" json:"type,omitempty" config:"required,one=provision|deprovision|maintenance|custom"`
	Role
}

// BreakGlass is break_glass.toml, or a file below break_glass/: roles that exist switched off until the customer switches them on.
type BreakGlass struct {
	// The roles.
	Roles []Role `toml:"role" json:"role,omitempty" config:"sorted=name"`
}

// Role is an identity in the customer's account.
type Role struct {
	// Its real name.
	Name string `toml:"name" json:"name,omitempty" config:"required,template" example:"{{.nuon.install.id}}-maintenance"`
	// What it may do, for the customer.
	Description string `toml:"description" json:"description,omitempty" config:"required,template" example:"Deploys components and runs actions"`
	// Label of its switch in the stack.
	DisplayName string `toml:"display_name" json:"display_name,omitempty" config:"template" example:"Maintenance"`
	// JSON document that bounds it; empty and {} mean none.
	PermissionsBoundary string `toml:"permissions_boundary" json:"permissions_boundary,omitempty" config:"template,file,json" example:"./maintenance_boundary.json"`
	// What it may do.
	Policies []RolePolicy `toml:"policies" json:"policies,omitempty" config:"required"`
	// The cloud; the runner's if left out.
	CloudPlatform string `toml:"cloud_platform" json:"cloud_platform,omitempty" config:"one=aws|azure|gcp"`
	// Whether its switch is on at first.
	EnabledInStack *bool `toml:"enabled_in_stack" json:"enabled_in_stack,omitempty"`
	// Policies that the account already has.
	NamedPolicies Any `toml:"named_policies" json:"named_policies,omitempty"`
}

// RolePolicy is one thing that a role may do: exactly one of the ways.
type RolePolicy struct {
	// Name of an inline policy.
	Name string `toml:"name" json:"name,omitempty" config:"template" example:"pass-roles"`
	// Short name of a policy that AWS keeps.
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

// OperationRoles is operation_roles.toml: which role does what, for the whole app.
type OperationRoles struct {
	// Form of the rules.
	Type string `toml:"type" json:"type,omitempty" config:"one=matrix,default=matrix"`
	// The rules; no two for one principal and operation.
	Rules []OperationRule `toml:"rules" json:"rules,omitempty"`
}

// OperationRule is the role that one operation of one principal runs with.
type OperationRule struct {
	// nuon::sandbox, nuon::component:NAME or nuon::action:NAME; NAME can be *.
	Principal string `toml:"principal" json:"principal,omitempty" config:"required" example:"nuon::component:api"`
	// Of the sandbox provision, reprovision or deprovision; of a component deploy or teardown; of an action trigger.
	Operation string `toml:"operation" json:"operation,omitempty" config:"required,one=provision|reprovision|deprovision|deploy|teardown|trigger"`
	// Name of a role, as permissions or break_glass declare it.
	Role string `toml:"role" json:"role,omitempty" config:"required,template" example:"{{.nuon.install.id}}-deploy"`
}
