package azure

import (
	"regexp"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

// builtInRoles are the ids of roles that Azure has in every tenant.
// Source: learn.microsoft.com/azure/role-based-access-control/built-in-roles.
var builtInRoles = map[string]string{
	"AcrPull":     "7f951dda-4ed3-4680-a7ca-43fe172d538d",
	"AcrPush":     "8311e382-0749-4cb8-b61a-304f252e45ec",
	"Contributor": "b24988ac-6180-42a0-ab88-20f7382dd24c",
	"Owner":       installstack.AzureOwner,
	"Reader":      "acdd72a7-3385-48ef-bd42-f606fba81ae7",

	"Azure Kubernetes Service Cluster Admin Role": "0ab0b1a8-8aac-4efd-b8c2-3ee1fb270be8",
	"Azure Kubernetes Service Cluster User Role":  "4abbcc35-e782-43d8-92c5-2d3f1bd2253f",
	"Azure Kubernetes Service Contributor Role":   "ed7f3fbd-7b88-4dd4-9017-9adb7ce333f8",
	"Azure Kubernetes Service RBAC Admin":         "3498e952-d568-435e-9b2c-8d77e338d7f7",
	"Azure Kubernetes Service RBAC Cluster Admin": "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b",
	"Azure Kubernetes Service RBAC Reader":        "7f6c6a51-bcf8-42ba-9220-52d62157d7db",
	"Azure Kubernetes Service RBAC Writer":        "a7ffa36f-339b-4b5c-8bdf-e2c188b2c0eb",
	"DNS Zone Contributor":                        "befefa01-2a29-4197-83a8-272ff33ce314",
	"Key Vault Administrator":                     "00482a5a-887f-4fb3-b363-3b7fe8e74483",
	"Key Vault Contributor":                       "f25e0fa2-a7c8-4377-a976-54943a77a395",
	"Key Vault Secrets Officer":                   "b86a8fe4-44ce-4948-aee5-eccb2c155cd7",
	"Key Vault Secrets User":                      "4633458b-17de-408a-b874-0445c86b69e6",
	"Managed Identity Contributor":                "e40ec5ca-96e0-45a2-b4ff-59039f2c2b59",
	"Managed Identity Operator":                   "f1a07417-d97a-45cb-824c-7a7467783830",
	"Monitoring Reader":                           "43d0d8ad-25c7-4714-9337-8ba259a9fe05",
	"Network Contributor":                         "4d97b98b-1d4f-4787-a291-c67834d212e7",
	"Private DNS Zone Contributor":                "b12aa53e-6015-4669-85d0-8515ebb3ae7f",
	"Role Based Access Control Administrator":     "f58310d9-a9f6-439a-9e8d-f62e7b41a168",
	"Storage Account Contributor":                 "17d1049b-9a84-46fb-8f53-869881c3d3ab",
	"Storage Blob Data Contributor":               "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
	"Storage Blob Data Owner":                     "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
	"Storage Blob Data Reader":                    "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
	"User Access Administrator":                   "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9",
	"Virtual Machine Contributor":                 "9980e02c-c2be-4d73-94e8-173b1dc7cf3c",
}

// roleGUID matches the id of a role.
var roleGUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// identityName returns the name of the identity of a role.
func identityName(role installstack.Role) string { return installstack.IdentityName(role.Key) }

// where names a role in findings.
func where(role installstack.Role) string { return "role " + installstack.Plain(role.Key, 120) }

// addRoles adds an identity for each role of the app, each with a switch of the customer. All are given to the
// machine of the runner, and nothing else can act as them.
func (t *template) addRoles() {
	var identities []expression
	names := map[installstack.RoleKind]map[string]expression{installstack.Custom: {}, installstack.BreakGlass: {}}
	ends := map[string]expression{}
	keys := map[installstack.RoleKind][]string{}
	for _, role := range t.stack.Roles {
		enabled := t.addParameter("enable"+role.ID, role.Label+". "+role.Description,
			object{"type": "bool", "defaultValue": role.Enabled})
		if role.Kind == installstack.BreakGlass {
			enabled = t.addEnd(role, enabled)
			ends[role.Key] = call("if", enabled, parameter("until"+role.ID), quoted(""))
		}
		id := t.addRole(role, enabled)
		identities = append(identities, call("if", enabled, call("createObject", id, call("createObject")),
			call("createObject")))
		name := call("if", enabled, quoted(identityName(role)), quoted(""))
		if names[role.Kind] == nil {
			t.addOutput(string(role.Kind)+"_identity_name", "string", name)
			continue
		}
		names[role.Kind][role.Key] = name
		keys[role.Kind] = append(keys[role.Kind], role.Key)
	}
	for _, kind := range []installstack.RoleKind{installstack.Custom, installstack.BreakGlass} {
		t.addOutput(string(kind)+"_identity_names", "object", encodeObject(keys[kind], names[kind]))
	}
	t.addOutput("break_glass_until", "object", encodeObject(keys[installstack.BreakGlass], ends))
	none := call("createObject")
	t.variables["roleIdentities"] = call("union", append([]expression{none, none}, identities...)...)
}

// addEnd adds the parameter with the end of a break-glass role, and returns whether the role is on: the customer
// switched it on, and the end is after the time of the deployment. An end that is no time fails the deployment.
func (t *template) addEnd(role installstack.Role, enabled expression) expression {
	if t.parameters[deployedAt] == nil {
		t.addParameter(deployedAt, "Time of the deployment. Leave it as it is.",
			object{"defaultValue": expression("utcNow('yyyy-MM-ddTHH:mm:ssZ')")})
	}
	until := t.addParameter("until"+role.ID, role.Label+": when this access ends, in UTC, such as "+
		"2026-11-23T22:00:00Z. Without an end, or after it, the role is off.", object{"defaultValue": ""})
	return call("and", enabled, call("if", call("empty", until), call("false"),
		call("less", call("dateTimeToEpoch", parameter(deployedAt)), call("dateTimeToEpoch", until))))
}

// deployedAt is the name of the parameter with the time of a deployment.
const deployedAt = "deployedAt"

// addRole adds the identity of a role and what it may do in the resource group, and returns its id.
func (t *template) addRole(role installstack.Role, enabled expression) expression {
	name := identityName(role)
	t.addResource("Microsoft.ManagedIdentity/userAssignedIdentities", identityAPI, name,
		t.located(object{"condition": enabled}))
	id := resourceID("Microsoft.ManagedIdentity/userAssignedIdentities", quoted(name))
	if role.Boundary != nil {
		t.errorf(where(role), "leave it out, and name fewer roles or actions",
			"it has a permissions boundary, which roles on Azure cannot have")
	}
	if slices.ContainsFunc(role.Policies, allowsSomething) || len(role.Existing) > 0 || len(role.Grants) > 0 {
		t.errorf(where(role), "write azure_built_in_roles or azure_actions", "it has policies of another cloud")
	}
	if len(name) < minIdentityName || !isName(rune(name[0])) || name[0] == '-' {
		t.errorf(where(role), "begin its name with a letter or a digit, and write at least 3 characters",
			"%.80q is no name of an identity", name)
	}
	assigned := map[string]bool{}
	for _, builtIn := range role.BuiltIn {
		guid, known := builtInRoles[builtIn]
		if !known {
			guid = strings.ToLower(builtIn)
		}
		if assigned[guid] {
			continue
		}
		assigned[guid] = true
		if !roleGUID.MatchString(guid) {
			t.errorf(where(role), "write its id, such as "+builtInRoles["Reader"],
				"there is no built-in role %.80q that is known here", builtIn)
			continue
		}
		t.addAssignment(id, call("subscriptionResourceId", quoted("Microsoft.Authorization/roleDefinitions"), quoted(guid)),
			guid, enabled)
	}
	if len(role.Actions) > 0 {
		guid := call("guid", "resourceGroup().id", quoted(role.Key))
		definition := call("resourceId", quoted("Microsoft.Authorization/roleDefinitions"), guid)
		actions := slices.Clone(role.Actions)
		slices.Sort(actions)
		t.addResource("Microsoft.Authorization/roleDefinitions", roleAPI, guid, object{"condition": enabled,
			"properties": object{
				"roleName":    literalf("%s of %s", name, t.stack.Install.ID),
				"description": literal(installstack.Plain(role.Description, maxDescription)), "type": "CustomRole",
				"permissions":      list{object{"actions": literals(slices.Compact(actions)), "notActions": list{}}},
				"assignableScopes": list{expression("resourceGroup().id")},
			}})
		t.addAssignment(id, definition, role.Key, enabled)["dependsOn"] = list{id, definition}
	}
	return id
}

// allowsSomething reports whether a policy is more than a placeholder without statements.
func allowsSomething(p installstack.Policy) bool {
	statements, is := p.Document["Statement"].([]any)
	return !is || len(statements) > 0
}

// literals returns texts as values of the template.
func literals(texts []string) list {
	all := list{}
	for _, text := range texts {
		all = append(all, literal(text))
	}
	return all
}

// addAssignment assigns an identity a role in the resource group.
func (t *template) addAssignment(identity, definition expression, key string, enabled expression) object {
	return t.addResource("Microsoft.Authorization/roleAssignments", roleAPI,
		call("guid", "resourceGroup().id", identity, quoted(key)), object{"condition": enabled, "dependsOn": list{identity},
			"properties": object{"roleDefinitionId": definition, "principalType": "ServicePrincipal",
				"principalId": reference(identity, identityAPI, "principalId")}})
}
