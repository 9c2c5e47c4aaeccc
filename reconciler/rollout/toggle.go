package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// CodeNeededBy is the code of the refusal for a component that another one needs.
const CodeNeededBy = "needed_by"

// CheckToggles returns an error for switching off a component that others need, or switching
// on one that needs a component that is off. Before and after are the install as it is and as
// it would be; a conflict that already exists before is ignored. Errors: *refusal.Error.
func CheckToggles(ctx context.Context, tx *store.Tx, before, after store.Install) error {
	both, err := loadReadOnly(ctx, tx, []store.Install{before, after})
	if err != nil {
		return err
	}
	was, now := both[0].missingDependencies(both[0].desiredStates()), both[1].missingDependencies(both[1].desiredStates())
	for _, name := range both[1].names() {
		for _, missing := range now[name] {
			if slices.Contains(was[name], missing) {
				continue
			}
			if up := both[1].components[missing]; up.row.TornDown && both[1].enabled(up) {
				return conflict(CodeNeededBy, fmt.Sprintf("Deploy that first: nuon deploy %s %s.", both[1].address(), missing),
					"%s needs %s, which is torn down", name, missing)
			}
			all := dependentsOf(now, missing)
			return conflict(CodeNeededBy, fmt.Sprintf("Disable %s too, or enable %s.", strings.Join(all, ", "), missing),
				"%s needs %s, which would be disabled", strings.Join(all, ", "), missing)
		}
	}
	return nil
}

// missingDependencies returns, for each component that is to be deployed, those that it needs and that are off.
func (s *snapshot) missingDependencies(states map[string]*desiredState) map[string][]string {
	all := map[string][]string{}
	for name, w := range states {
		if w.Absent {
			continue
		}
		for _, on := range s.components[name].dependsOn {
			if up := states[on]; up != nil && up.disabled != "" {
				all[name] = append(all[name], on)
			}
		}
	}
	return all
}

// dependentsOf returns the components that need a missing one according to bereft, in order.
func dependentsOf(bereft map[string][]string, missing string) []string {
	var names []string
	for name, on := range bereft {
		if slices.Contains(on, missing) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// dependents returns the components that are to be deployed and need one of the named
// ones, directly or indirectly, in order. The named ones are not included.
func (s *snapshot) dependents(states map[string]*desiredState, names ...string) []string {
	in := map[string]bool{}
	for _, name := range names {
		in[name] = true
	}
	for grew := true; grew; {
		grew = false
		for _, name := range s.names() {
			if w := states[name]; in[name] || w == nil || w.Absent {
				continue
			}
			if slices.ContainsFunc(s.components[name].dependsOn, func(on string) bool { return in[on] }) {
				in[name], grew = true, true
			}
		}
	}
	var all []string
	for _, name := range s.names() {
		if in[name] && !slices.Contains(names, name) {
			all = append(all, name)
		}
	}
	return all
}
