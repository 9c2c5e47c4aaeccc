package risk

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// azurePermissionBlock is a block of permissions of a role definition.
type azurePermissionBlock struct {
	Actions    []string `json:"actions"`
	NotActions []string `json:"not_actions"`
}

// azureRole is a role definition as the provider has it.
type azureRole struct {
	Permissions []azurePermissionBlock `json:"permissions"`
	Scopes      []string               `json:"assignable_scopes"`
}

// allows reports whether a role allows an action in a scope: a block allows its actions without its not_actions, and
// the role what any block allows.
// Source: https://learn.microsoft.com/azure/role-based-access-control/role-definitions#notactions
func (r azureRole) allows(action, scope string) bool {
	matches := func(pattern string) bool {
		matched, err := path.Match(strings.ReplaceAll(pattern, "/", "."), strings.ReplaceAll(action, "/", "."))
		return err == nil && matched // a star matches any text, also with slashes
	}
	in := func(s string) bool { return s == scope || strings.HasPrefix(scope, s+"/") }
	return slices.ContainsFunc(r.Scopes, in) && slices.ContainsFunc(r.Permissions, func(b azurePermissionBlock) bool {
		return slices.ContainsFunc(b.Actions, matches) && !slices.ContainsFunc(b.NotActions, matches)
	})
}

// TestAzureRoleWidensNeverMisses checks that a role that newly allows an action widens, and that one that stays the
// same or has fewer blocks or scopes does not.
func TestAzureRoleWidensNeverMisses(t *testing.T) {
	patterns := rapid.SampledFrom([]string{"*", "a/*", "*/read", "a/read", "a/write", "b/read", "b/*", "a/b/read"})
	block := rapid.Custom(func(t *rapid.T) azurePermissionBlock {
		return azurePermissionBlock{rapid.SliceOfN(patterns, 0, 3).Draw(t, "actions"),
			rapid.SliceOfN(patterns, 0, 2).Draw(t, "not actions")}
	})
	roles := rapid.Custom(func(t *rapid.T) azureRole {
		scopes := rapid.SampledFrom([]string{"/subscriptions/1", "/subscriptions/1/resourceGroups/g", "/subscriptions/2"})
		return azureRole{rapid.SliceOfN(block, 0, 3).Draw(t, "blocks"), rapid.SliceOfN(scopes, 1, 2).Draw(t, "scopes")}
	})
	value := func(t *rapid.T, r azureRole) raw.Value {
		encoded, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		v, err := raw.Parse(encoded)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := roles.Draw(t, "before"), roles.Draw(t, "after")
		was, is := value(t, before), value(t, after)
		wider := azureRoleWidens(was, is)
		for _, action := range []string{"a/read", "a/write", "a/b/read", "a/x", "b/read", "b/write", "c/read", "c/write"} {
			for _, scope := range []string{"/subscriptions/1", "/subscriptions/1/resourceGroups/g",
				"/subscriptions/1/resourceGroups/h", "/subscriptions/2"} {
				if after.allows(action, scope) && !before.allows(action, scope) && !wider {
					t.Fatalf("%s in %s is newly allowed", action, scope)
				}
			}
		}
		if azureRoleWidens(is, is) {
			t.Fatalf("the same widens: %+v", after)
		}
		if azureRoleWidens(is, value(t, azureRole{nil, after.Scopes})) {
			t.Fatal("a role without permissions widens")
		}
	})
}
