package installstack

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// BreakGlassRole is a break-glass role of an app on one install, as the customer finds it.
type BreakGlassRole struct {
	// Key is the name in the config, rendered.
	Key string

	cloud   string
	id      string
	machine string // the name by which the runner's owner grants it
}

// Step is something that the customer does to grant a break-glass role.
type Step struct {
	What    string
	Command string // to run, or the lines to write
}

// BreakGlass returns the break-glass roles of the app, by name.
func (r *Roles) BreakGlass() ([]BreakGlassRole, error) {
	if r.err != nil {
		return nil, r.err
	}
	var all []BreakGlassRole
	for _, role := range r.all {
		if role.Kind != BreakGlass {
			continue
		}
		made := BreakGlassRole{Key: role.Key, cloud: r.reader.cloud, id: role.ID, machine: FitRoleName(role.Key)}
		switch made.cloud {
		case "azure":
			made.machine = IdentityName(role.Key)
		case "gcp":
			made.machine = RoleAccountID(r.reader.facts.Install.ID, role.ID) + "@*"
		}
		all = append(all, made)
	}
	return all, nil
}

// FindBreakGlass returns the role that a person means: by its name, or by the part of it that does not name the
// install.
func FindBreakGlass(all []BreakGlassRole, install, name string) (BreakGlassRole, bool) {
	short := func(key string) string { return strings.Trim(strings.ReplaceAll(key, install, ""), "-_ ") }
	for _, is := range []func(BreakGlassRole) bool{
		func(role BreakGlassRole) bool { return role.Key == name },
		func(role BreakGlassRole) bool { return short(role.Key) == name },
	} {
		if i := slices.IndexFunc(all, is); i >= 0 {
			return all[i], true
		}
	}
	return BreakGlassRole{}, false
}

// Machine returns a name that grants of the runner's owner match, without the project on GCP.
func (b BreakGlassRole) Machine() string { return strings.TrimSuffix(b.machine, "*") }

// Steps returns what the customer does to grant the role until a time.
func (b BreakGlassRole) Steps(until time.Time, reason string) []Step {
	end := until.UTC().Format(time.RFC3339)
	stack := Step{What: "update the stack with these parameters",
		Command: fmt.Sprintf("Enable%[1]s=true Until%[1]s=%[2]s", b.id, end)}
	switch b.cloud {
	case "azure":
		stack.Command = fmt.Sprintf("enable%[1]s=true until%[1]s=%[2]s", b.id, end)
	case "gcp":
		stack = Step{What: "apply the module of the stack with these variables",
			Command: fmt.Sprintf("roles = { %[1]s = true }  break_glass_until = { %[1]s = %[2]q }", b.id, end)}
	}
	quote := func(text string) string {
		if !strings.ContainsFunc(text, func(r rune) bool { return !IsWord(r) && !strings.ContainsRune("-.@", r) }) {
			return text
		}
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return []Step{stack, {What: "on the runner's machine, run",
		Command: "sudo runnerd grants add " + quote(b.machine) + " --until " + end + " --reason " + quote(reason)}}
}
