package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// start is a workflow to start, with its components.
type start struct {
	kind       workflow.Kind
	components []string
	reason     string
	inputs     bool     // changed inputs are the only reason
	redeploy   []string // the components that are planned even if they are up to date
}

// running describes the running workflows of the install.
type running struct {
	busy map[string]bool // components that a running workflow is changing
	any  bool            // some workflow over components runs

	workflows []string // ids of all running workflows
}

// decide returns the workflows that an install needs now. It is pure: its input is
// the desired state and what runs.
//
//   - To be removed: one deprovision over everything deployed, once nothing else runs.
//   - Nothing deployed yet: one provision over everything, once the sandbox can be planned
//     and no build runs.
//   - Otherwise: one deploy over exactly what is behind, and one teardown for each component
//     that left the app.
//
// What was refused is not started again, and no two workflows change one component.
func (s *snapshot) decide(wants map[string]*want, now running) []start {
	switch {
	case s.install.Wanted == "absent":
		return s.deprovision(wants, now)
	case s.config == nil:
		return nil
	case !s.provisioned(wants):
		return append(s.provision(wants, now), s.teardowns(wants, now)...)
	}
	return append(s.deploy(wants, now), s.teardowns(wants, now)...)
}

// provisioned reports whether the install has the base of everything else: its
// sandbox, or any component if it has no sandbox.
func (s *snapshot) provisioned(wants map[string]*want) bool {
	if base := s.places["sandbox"]; base != nil && base.config != nil {
		return base.there() && (base.row.AppliedDigest != "" || s.install.Provisioned)
	}
	if s.install.Provisioned {
		return true
	}
	for _, p := range s.places {
		if p.there() && wants[p.row.Name] != nil && !wants[p.row.Name].Absent {
			return true
		}
	}
	return false
}

func (s *snapshot) provision(wants map[string]*want, now running) []start {
	var names []string
	ready := false
	for _, name := range s.names() {
		w := wants[name]
		if w.Absent {
			continue
		}
		if now.busy[name] || w.building {
			return nil
		}
		if name == "sandbox" && (w.Waits != "" || w.Refused != "") {
			return nil
		}
		names = append(names, name)
		ready = ready || w.behind && w.Waits == "" && w.Refused == ""
	}
	if !ready {
		return nil
	}
	reason := fmt.Sprintf("install %s is new: everything of release %d is to be there", s.install.Name, s.release.Number)
	return []start{{kind: workflow.KindProvision, components: names, reason: reason}}
}

// deploy starts what is behind and can be planned, together with what waits only for that.
func (s *snapshot) deploy(wants map[string]*want, now running) []start {
	in, all := map[string]bool{}, s.names()
	for _, name := range all {
		w := wants[name]
		in[name] = !w.Absent && w.behind && w.Waits == "" && w.Refused == "" && !now.busy[name]
	}
	for grew := true; grew; {
		grew = false
		for _, name := range all {
			w := wants[name]
			if in[name] || w.Absent || !w.behind || w.own || w.Stuck || now.busy[name] || len(w.blockers) == 0 {
				continue
			}
			if !slices.ContainsFunc(w.blockers, func(on string) bool { return !in[on] }) {
				in[name], grew = true, true
			}
		}
	}
	var names, reasons []string
	for _, name := range all {
		if in[name] {
			names = append(names, name)
			reasons = append(reasons, fmt.Sprintf("%s is behind: %s", name, wants[name].moved))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []start{{kind: workflow.KindDeploy, components: names, reason: summary(reasons),
		inputs: s.onlyInputs(wants, names)}}
}

// mostReasons is how many components a workflow's reason lists individually.
const mostReasons = 3

func summary(reasons []string) string {
	if len(reasons) <= mostReasons {
		return strings.Join(reasons, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(reasons[:mostReasons], "; "), len(reasons)-mostReasons)
}

func (s *snapshot) teardowns(wants map[string]*want, now running) []start {
	var all []start
	for _, name := range s.names() {
		w := wants[name]
		if w.Absent && w.behind && w.Waits == "" && w.Refused == "" && !now.busy[name] {
			all = append(all, start{kind: workflow.KindTeardown, components: []string{name}, reason: w.Reason})
		}
	}
	return all
}

// deprovision starts the removal of all that is deployed and can be removed: not what
// was refused, nor what that depends on.
func (s *snapshot) deprovision(wants map[string]*want, now running) []start {
	if now.any {
		return nil
	}
	var names []string
	for _, name := range s.names() {
		if w := wants[name]; w.behind && w.Refused == "" && !w.Stuck {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []start{{kind: workflow.KindDeprovision, components: names,
		reason: fmt.Sprintf("install %s is to be gone", s.install.Name)}}
}
