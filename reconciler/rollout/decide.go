package rollout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// workflowStart is a workflow to start, with its components.
type workflowStart struct {
	kind       workflow.Kind
	components []string
	reason     string
	onlyInputs bool     // changed inputs are the only reason
	redeploy   []string // the components that are planned even if they are up to date
}

// runningWorkflows describes the running workflows of the install.
type runningWorkflows struct {
	busy           map[string]bool // components that a running workflow is changing
	overComponents bool            // some workflow over components runs

	ids []string // ids of all running workflows
}

// missingWorkflows returns the workflows that an install needs now. It is pure: its input is
// the desired state and what runs.
//
//   - To be removed: one deprovision over everything deployed, once nothing else runs.
//   - Nothing deployed yet: one provision over everything, once the sandbox can be planned
//     and no build runs.
//   - Otherwise: one deploy over exactly what is behind, and one teardown for each component
//     that left the app.
//
// What was refused is not started again, and no two workflows change one component.
func (s *snapshot) missingWorkflows(states map[string]*desiredState, now runningWorkflows) []workflowStart {
	switch {
	case s.install.DesiredPresence == "absent":
		return s.deprovisionStart(states, now)
	case s.config == nil:
		return nil
	case !s.provisioned(states):
		return append(s.provisionStart(states, now), s.teardownStarts(states, now)...)
	}
	return append(s.deployStart(states, now), s.teardownStarts(states, now)...)
}

// provisioned reports whether the install has the base of everything else: its
// sandbox, or any component if it has no sandbox.
func (s *snapshot) provisioned(states map[string]*desiredState) bool {
	if base := s.components["sandbox"]; base != nil && base.config != nil {
		return base.mayBeDeployed() && (base.row.AppliedDigest != "" || s.install.Provisioned)
	}
	if s.install.Provisioned {
		return true
	}
	for _, p := range s.components {
		if p.mayBeDeployed() && states[p.row.Name] != nil && !states[p.row.Name].Absent {
			return true
		}
	}
	return false
}

func (s *snapshot) provisionStart(states map[string]*desiredState, now runningWorkflows) []workflowStart {
	var names []string
	ready := false
	for _, name := range s.names() {
		w := states[name]
		if w.Absent {
			continue
		}
		if now.busy[name] || w.building {
			return nil
		}
		if name == "sandbox" && (w.WaitReason != "" || w.RejectionReason != "") {
			return nil
		}
		names = append(names, name)
		ready = ready || w.behind && w.WaitReason == "" && w.RejectionReason == ""
	}
	if !ready {
		return nil
	}
	reason := fmt.Sprintf("install %s is new: everything of release %d is deployed", s.install.Name, s.release.Number)
	return []workflowStart{{kind: workflow.KindProvision, components: names, reason: reason}}
}

// deployStart starts what is behind and can be planned, together with what waits only for that.
func (s *snapshot) deployStart(states map[string]*desiredState, now runningWorkflows) []workflowStart {
	in, all := map[string]bool{}, s.names()
	for _, name := range all {
		w := states[name]
		in[name] = !w.Absent && w.behind && w.WaitReason == "" && w.RejectionReason == "" && !now.busy[name]
	}
	for grew := true; grew; {
		grew = false
		for _, name := range all {
			w := states[name]
			if in[name] || w.Absent || !w.behind || w.externalWait || w.Stalled || now.busy[name] || len(w.blockers) == 0 {
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
			reasons = append(reasons, fmt.Sprintf("%s is behind: %s", name, states[name].changeText))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []workflowStart{{kind: workflow.KindDeploy, components: names, reason: joinReasons(reasons),
		onlyInputs: s.onlyInputs(states, names)}}
}

// maxListedReasons is how many components a workflow's reason lists individually.
const maxListedReasons = 3

func joinReasons(reasons []string) string {
	if len(reasons) <= maxListedReasons {
		return strings.Join(reasons, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(reasons[:maxListedReasons], "; "), len(reasons)-maxListedReasons)
}

func (s *snapshot) teardownStarts(states map[string]*desiredState, now runningWorkflows) []workflowStart {
	var all []workflowStart
	for _, name := range s.names() {
		w := states[name]
		if w.Absent && w.behind && w.WaitReason == "" && w.RejectionReason == "" && !now.busy[name] {
			all = append(all, workflowStart{kind: workflow.KindTeardown, components: []string{name}, reason: w.Reason})
		}
	}
	return all
}

// deprovisionStart starts the removal of all that is deployed and can be removed: not what
// was refused, nor what that depends on.
func (s *snapshot) deprovisionStart(states map[string]*desiredState, now runningWorkflows) []workflowStart {
	if now.overComponents {
		return nil
	}
	var names []string
	for _, name := range s.names() {
		if w := states[name]; w.behind && w.RejectionReason == "" && !w.Stalled {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []workflowStart{{kind: workflow.KindDeprovision, components: names,
		reason: fmt.Sprintf("install %s is to be deprovisioned", s.install.Name)}}
}
