package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/namepattern"
)

// breakGlass is the kind of role that needs a grant of the owner.
const breakGlass = "break_glass"

// maxPatterns bounds a list of names of roles.
const maxPatterns = 200

// Roles holds the owner's rules for the roles of the cloud account that jobs run under.
type Roles struct {
	// OwnIdentity lets jobs run with the identity that the runner was started with.
	OwnIdentity bool `toml:"own_identity"`
	// Allow are the names of roles that jobs may run under, with * for any text; nil for those of the install.
	Allow []string `toml:"allow"`
	// BreakGlass are the names of roles that need a grant, with * for any text, also where a job
	// gives another kind.
	BreakGlass []string `toml:"break_glass"`
	// ReadOnlyPlans limits plans to what the policy ReadOnlyAccess of AWS allows. It has no effect elsewhere.
	ReadOnlyPlans bool `toml:"read_only_plans"`
}

// check returns an error for a name that no role has.
func (r Roles) check() error {
	for key, names := range map[string][]string{"allow": r.Allow, "break_glass": r.BreakGlass} {
		if len(names) > maxPatterns {
			return fmt.Errorf("[roles] has %d names in %s; write at most %d", len(names), key, maxPatterns)
		}
		bad := func(n string) bool { return strings.TrimSpace(n) == "" || strings.ContainsAny(n, ":/") }
		if i := slices.IndexFunc(names, bad); i >= 0 {
			return fmt.Errorf("[roles] has %q in %s; write the name of a role, without the account and the path", names[i], key)
		}
	}
	return nil
}

// rules returns the rules as they are reported.
func (r Roles) rules() api.RunnerRoles {
	rules := api.RunnerRoles{OwnIdentity: r.OwnIdentity, ReadOnlyPlans: r.ReadOnlyPlans}
	if len(r.BreakGlass) > 0 {
		rules.BreakGlass = slices.Clone(r.BreakGlass)
	}
	if r.Allow != nil {
		allow := slices.Clone(r.Allow)
		rules.Allow = &allow
	}
	return rules
}

// RoleName returns the name by which rules and grants know a role of a job: without a path, or the email of a service
// account.
func RoleName(role api.OperationRole) string {
	return role.Name[strings.LastIndex(role.Name, "/")+1:]
}

// InstallOf returns the id of the install that a job is for; empty for a build.
func InstallOf(spec api.JobSpec) string { return cmp.Or(installsIn(spec)...) }

// installsIn returns all ids of installs in the spec of a job. CheckSpec accepts only those with the same one.
func installsIn(spec api.JobSpec) []string {
	all := []string{spec.Sync.InstallID, spec.Plan.Deploy.InstallID, spec.Apply.Deploy.InstallID, spec.Action.InstallID,
		spec.Health.InstallID, spec.Secrets.InstallID, spec.Logs.InstallID, spec.Logs.Part.Deploy.InstallID,
		spec.Debug.InstallID, spec.Shell.InstallID, spec.Shell.Part.Deploy.InstallID}
	for _, part := range spec.Health.Parts {
		all = append(all, part.Deploy.InstallID)
	}
	return slices.DeleteFunc(all, func(id string) bool { return id == "" })
}

// ComponentOf returns the component or action of a job.
func ComponentOf(spec api.JobSpec) string {
	for _, name := range []string{spec.Plan.Deploy.Component, spec.Apply.Deploy.Component, spec.Action.Action,
		spec.Logs.Request.Component, spec.Shell.Request.Component} {
		if name != "" {
			return name
		}
	}
	return ""
}

// checkInstall returns an error for a job of several installs, and of an install that the runner is not for.
func (r Rule) checkInstall(spec api.JobSpec) error {
	if spec.Kind == api.JobSpecKindBuild {
		return nil
	}
	install := cmp.Or(r.Install, InstallOf(spec))
	all := installsIn(spec)
	if len(all) == 0 && r.Install != "" {
		all = []string{""}
	}
	for _, id := range all {
		if id == install {
			continue
		}
		if r.Install == "" {
			return fmt.Errorf("this job is for the installs %.60q and %.60q; it is not done: this is a bug in the control "+
				"plane; report it", install, id)
		}
		return fmt.Errorf("this job is for install %.60q, and this runner was started for install %s (--install); it is "+
			"not done", id, r.Install)
	}
	return nil
}

// CheckRole returns an error if the runner may not assume the role of a job, or if the job has none and the owner lists
// the roles that jobs may run under: without a role, its programs would run with the identity of the runner.
func (r Rule) CheckRole(spec api.JobSpec) error {
	role := spec.Role
	if r.Roles.OwnIdentity {
		return nil
	}
	needsNone := spec.Kind == api.JobSpecKindBuild || spec.Kind == api.JobSpecKindSync
	if role.Name == "" {
		if needsNone || r.Roles.Allow == nil {
			return nil
		}
		return errors.New("this job names no role, and the runner's owner lists the roles that jobs run under (allow " +
			"under [roles] in the runner file); own_identity = true lets jobs run with the identity of the runner")
	}
	if needsNone {
		return fmt.Errorf("a job of kind %s names a role, and needs none; it is not done: this is a bug in the control "+
			"plane; report it", spec.Kind)
	}
	name, allowed := RoleName(role), ownRoles(InstallOf(spec))
	if r.Roles.Allow != nil {
		allowed = *r.Roles.Allow
	}
	matches := func(pattern string) bool { return namepattern.Match(pattern, name) }
	if len(role.Name) > 512 || strings.ContainsAny(role.Name, ": ") || !slices.ContainsFunc(allowed, matches) {
		only := "none for this job"
		if len(allowed) > 0 {
			only = "only " + strings.Join(allowed, ", ")
		}
		return fmt.Errorf("this runner does not assume the role %.80q: it assumes %s; its owner decides that, with "+
			"allow under [roles] in the runner file", name, only)
	}
	return nil
}

// NeedsGrant reports whether a role needs a grant of the owner: the job says that it is a break-glass role, or the
// owner's own rules do. Names that differ only in case are the same here, because they name one identity on Azure, and
// the control plane chooses the spelling.
func (r Rule) NeedsGrant(role api.OperationRole) bool {
	name := strings.ToLower(RoleName(role))
	return role.Kind == breakGlass || slices.ContainsFunc(r.Roles.BreakGlass, func(pattern string) bool {
		return namepattern.Match(strings.ToLower(pattern), name)
	})
}

// ownRoles returns patterns of the names that the roles of an install's stack have: they start with the id of the
// install, or, for service accounts, with a hash of it. It returns none for what is no id: the control plane sends it,
// and it could be a pattern or the beginning of another role's name.
func ownRoles(install string) []string {
	if !id.Valid("ins", install) {
		return nil
	}
	sum := sha256.Sum256([]byte(install))
	return []string{install + "-*", "n" + hex.EncodeToString(sum[:4]) + "-*@*.iam.gserviceaccount.com"}
}
