package rollout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// desiredState is the desired state of one component of an install: the part that workflow
// sees, and what only rollout needs.
type desiredState struct {
	workflow.DesiredState
	digestInputs  digestInputs
	behind        bool             // the applied state is not the desired one, as far as is already known
	building      bool             // its own artifact is being built
	blockers      []string         // the components that it waits for
	externalWait  bool             // it waits for something that is not another component
	rejection     *store.Rejection // the refusal of the current desired state; nil for none
	changes       changes          // what changed since the last apply; empty for a component to be removed
	changeText    string           // moves as text
	disabled      DisabledReason   // why it is to be removed although the release has it
	unsatisfiable bool             // it can never be deployed on any install; only another release of the app helps
}

// DisabledReason is why a component is to be removed from an install although the app's version has it.
type DisabledReason string

// The values of DisabledReason, as in the API.
const (
	DisabledByToggle DisabledReason = "toggle" // switched off on the install, or by the app's default
	// a person tore it down; it stays off until a person requests its deploy
	DisabledByTeardown DisabledReason = "teardown"
)

// maxRetries bounds the retries that a component configures.
const maxRetries = 10

// desiredStates computes the desired state of every component. It is pure.
func (s *snapshot) desiredStates() map[string]*desiredState {
	d := &resolver{snapshot: s, states: make(map[string]*desiredState, len(s.components))}
	for _, name := range s.names() {
		d.resolve(name)
	}
	return d.states
}

// resolver memoizes the results of desire: each component depends on those of its upstream.
type resolver struct {
	*snapshot
	states    map[string]*desiredState
	depth     int
	appliedOn map[string][]string // by component: the deployed components applied on top of it; nil until needed
}

func (d *resolver) resolve(name string) *desiredState {
	if w, ok := d.states[name]; ok {
		return w
	}
	p := d.components[name]
	if p == nil || d.depth > len(d.components) { // a cycle, which the config's parser rejects
		return &desiredState{DesiredState: workflow.DesiredState{WaitReason: name + " is not part of this install",
			Stalled: true}}
	}
	d.depth++
	defer func() { d.depth-- }()
	w := &desiredState{}
	if why := d.absentReason(p, w); why != "" {
		d.resolveAbsent(p, w, why)
	} else {
		d.resolvePresent(p, w)
	}
	if r, no := p.rejections[w.Digest]; no && w.Digest != "" && !w.Current {
		w.rejection, w.RejectionReason = &r, rejectionText(r)
	}
	d.states[name] = w
	return w
}

// resolvePresent computes the desired state of a component that is to be deployed.
func (d *resolver) resolvePresent(p *installComponent, w *desiredState) {
	w.Retries = min(p.config.MaxAutoRetries, maxRetries)
	refs := p.refs
	w.digestInputs = digestInputs{Config: p.digest, Values: d.digestValues(refs),
		Override: overrideDigest(p.config.Override), Release: d.release.Number}
	if p.artifact != nil {
		w.digestInputs.Artifact, w.digestInputs.Build = p.artifact.ArtifactDigest, p.artifact.Number
		w.digestInputs.BuildID, w.digestInputs.Commit = p.artifact.ID, p.artifact.Commit
	}
	d.waitForPerson(p, w)
	if w.WaitReason == "" {
		d.waitForKinds(p, w)
	}
	if w.WaitReason == "" {
		d.waitForOwn(p, w)
	}
	if w.WaitReason == "" {
		d.waitForUpstream(p, w)
	}
	if w.WaitReason == "" {
		d.waitForValues(p, w)
	}
	if w.WaitReason == "" {
		d.waitForSecrets(p, w)
	}
	if w.WaitReason == "" && p.row.AppliedDigest != w.digestInputs.digest() {
		d.waitForRole(p, w)
	}
	w.changes = d.changesOf(p, w)
	w.changeText = w.changes.text(p, w.digestInputs.Release)
	if w.WaitReason != "" {
		// Upstream values may still change, so only the component's own changes make it behind.
		w.behind = !w.externalWait && (!p.mayBeDeployed() || p.row.AppliedDigest == "" ||
			ownInputsChanged(p.applied.DigestInputs, w.digestInputs))
		if w.NoRole {
			w.Digest, w.Reason = w.digestInputs.digest(), w.changeText
		}
		return
	}
	w.Digest = w.digestInputs.digest()
	w.Current = p.row.AppliedDigest == w.Digest
	w.behind, w.Reason = !w.Current, w.changeText
}

// waitForPerson makes a component wait for a person's decision, if it needs one before any plan.
func (d *resolver) waitForPerson(p *installComponent, w *desiredState) {
	why := d.contestedReason(p)
	if why == "" && p.problem != "" {
		why = fmt.Sprintf("the applied state of %s cannot be read: %s", p.row.Name, p.problem)
	}
	if why != "" {
		w.WaitReason, w.Stalled, w.externalWait = why, true, true
	}
}

// waitForKinds makes a component wait forever if a template reads an output of a
// component whose kind is not deployable.
func (d *resolver) waitForKinds(p *installComponent, w *desiredState) {
	for _, ref := range p.refs {
		if len(ref) < 2 || ref[0] != "components" || d.components[ref[1]] != nil {
			continue
		}
		if other, there := d.config.Component(ref[1]); there && !other.Deployable() {
			w.WaitReason = fmt.Sprintf(
				"it reads %s, and nuon does not deploy components of kind %s yet; write the value itself, or make it an input",
				ref.String(), other.Kind)
			w.Stalled, w.externalWait, w.unsatisfiable = true, true, true
			return
		}
	}
}

// waitForOwn makes a component wait for its own build or release.
func (d *resolver) waitForOwn(p *installComponent, w *desiredState) {
	own := func(stuck bool, format string, args ...any) {
		w.WaitReason, w.Stalled, w.externalWait, w.building = fmt.Sprintf(format, args...), stuck, true, !stuck
	}
	name := p.row.Name
	switch {
	case p.component.Problem != "":
		own(true, "%s cannot be built: %s", name, p.component.Problem)
	case p.newest == nil:
		own(false, "%s has no build yet", name)
	case p.newest.Status == "failed":
		own(true, "%s's build %d failed: %s", name, p.newest.Number, p.newest.Error)
	case p.artifact == nil:
		own(false, "build %d of %s is %s", p.newest.Number, name, p.newest.Status)
	case d.release.Status == release.Incomplete:
		own(true, "release %d is incomplete: %s", d.release.Number, d.release.Reason)
	case d.release.Status != release.Complete:
		own(false, "release %d is being built: %s", d.release.Number, d.release.Reason)
	}
}

// waitForUpstream makes a component wait for the components that it needs and that
// are not up to date.
func (d *resolver) waitForUpstream(p *installComponent, w *desiredState) {
	var words []string
	for _, name := range p.dependsOn {
		up := d.resolve(name)
		if up.Current && !up.Absent {
			continue
		}
		w.blockers = append(w.blockers, name)
		w.Stalled = w.Stalled || up.Stalled || up.RejectionReason != "" || up.Absent
		words = append(words, name+", which "+d.describeStatus(name, up))
	}
	w.WaitReason = strings.Join(words, "; ")
}

// describeStatus describes the status of a component that others wait for.
func (d *resolver) describeStatus(name string, up *desiredState) string {
	p := d.components[name]
	switch {
	case p != nil && up.disabled == DisabledByToggle:
		return "is switched off"
	case p != nil && up.disabled == DisabledByTeardown:
		return "is torn down"
	case p == nil || up.Absent:
		return "is not part of the app"
	case up.RejectionReason != "":
		return "is " + up.RejectionReason
	case len(p.contested) > 0:
		return "has a contested state version"
	case up.externalWait:
		return "is also waiting (" + up.WaitReason + ")"
	case up.WaitReason != "":
		return "waits itself"
	case !p.mayBeDeployed():
		return "is not deployed yet"
	case p.applying:
		return "is being deployed"
	case p.row.AppliedDigest == "":
		return "failed to deploy, or its runner has lost contact"
	}
	return "is behind"
}

// waitForValues makes a component wait for a value that is missing or cannot be read.
func (d *resolver) waitForValues(p *installComponent, w *desiredState) {
	refs := p.refs
	if in := d.missingInput(refs); in != nil {
		flag := "--input " + in.Name + "=VALUE"
		if in.Sensitive {
			flag = "--secret " + in.Name
		}
		w.WaitReason, w.Stalled, w.externalWait = fmt.Sprintf("input %s has no value; set it: nuon installs update %s %s",
			in.Name,
			d.address(), flag), true, true
		return
	}
	if reason := cmp.Or(d.missingValue(refs), d.missingStackOutputs(refs), d.missingVariables(refs)); reason != "" {
		w.WaitReason, w.Stalled, w.externalWait = reason, true, true
		return
	}
	path, foreign := d.foreignKey(refs)
	if !foreign {
		return
	}
	w.externalWait = true
	switch what := configLabel(path.String()); {
	case d.runnerKey == "":
		w.WaitReason = fmt.Sprintf("the runner has not registered yet, and %s can only be sealed to its key", what)
	case path.HasPrefix("inputs"):
		// A runner that registers has all pending values sealed to its key in the same transaction.
		w.WaitReason, w.Stalled = fmt.Sprintf(
			"%s: it was sealed to a key that no longer exists; enter it again (nuon installs update %s --secret %s)", what,
			d.address(),
			path[len(path)-1]), true
	default:
		w.WaitReason, w.Stalled = what+" is sealed to a key that the runner does not have; deploy what outputs it again", true
	}
}

// absentReason returns why a component is to be removed, or "" if it is to be deployed.
func (s *snapshot) absentReason(p *installComponent, w *desiredState) string {
	switch {
	case s.install.DesiredPresence == "absent":
		return "the install is being deprovisioned"
	case p.config == nil && s.pinned():
		return fmt.Sprintf("%s is not part of release %d, to which the install is pinned", p.row.Name, s.release.Number)
	case p.config == nil:
		return fmt.Sprintf("%s was removed from the app in release %d", p.row.Name, s.release.Number)
	case !s.enabled(p):
		w.disabled = DisabledByToggle
		if _, isSet := s.toggles[p.row.Name]; isSet {
			return p.row.Name + " is disabled on this install"
		}
		return p.row.Name + " is disabled unless the install enables it"
	case p.row.TornDown:
		w.disabled = DisabledByTeardown
		return orDefault(p.row.TornDownReason, p.row.Name+" was torn down")
	}
	return ""
}

// enabled reports whether a component of the release is switched on.
func (s *snapshot) enabled(p *installComponent) bool { return p.config.Enabled(s.toggles) }

// resolveAbsent computes the desired state of a component that is to be removed, for the reason why.
func (d *resolver) resolveAbsent(p *installComponent, w *desiredState, why string) {
	w.Absent = true
	d.waitForPerson(p, w)
	if !p.mayBeDeployed() && w.WaitReason == "" {
		w.Current, w.Reason = true, "it is gone"
		if w.disabled != "" {
			w.Reason = why
		}
		return
	}
	w.behind, w.digestInputs = true, p.applied.DigestInputs
	w.Digest = absentDigestOf(p)
	w.Reason = why
	w.changeText = w.Reason
	if w.WaitReason != "" {
		w.behind = p.mayBeDeployed()
		return
	}
	var words []string
	for _, name := range d.appliedDependents(p.row.Name) {
		w.blockers = append(w.blockers, name)
		on := d.resolve(name)
		w.Stalled = w.Stalled || on.Stalled || on.RejectionReason != "" || (!on.Absent && on.Current)
		words = append(words, name+", which needs it, still exists")
	}
	if w.WaitReason = strings.Join(words, "; "); w.WaitReason == "" {
		d.waitForRole(p, w)
	}
}

// unreadableRecord is the key for components whose applied config cannot be read: they may
// depend on any other.
const unreadableRecord = ""

// appliedDependents returns the deployed components that were applied on top of another, in order.
func (d *resolver) appliedDependents(name string) []string {
	if d.appliedOn == nil {
		d.appliedOn = map[string][]string{}
		for _, other := range d.names() {
			switch p := d.components[other]; {
			case !p.mayBeDeployed():
			case p.problem != "":
				d.appliedOn[unreadableRecord] = append(d.appliedOn[unreadableRecord], other)
			default:
				for _, up := range p.applied.DependsOn {
					d.appliedOn[up] = append(d.appliedOn[up], other)
				}
			}
		}
	}
	all := append(slices.Clone(d.appliedOn[name]), d.appliedOn[unreadableRecord]...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(other string) bool { return other == name })
}

// digest returns the desired digest: of the artifact, the config, the vector of values and what the install
// overrides. The numbers of the build and the release are names, and do not count.
func (f digestInputs) digest() string {
	raw, _ := json.Marshal(struct { // strings always encode
		Format   string        `json:"format"`
		Artifact string        `json:"artifact"`
		Config   string        `json:"config"`
		Values   []valueDigest `json:"values"`
		Override string        `json:"override,omitempty"`
	}{"nuon desired 1", f.Artifact, f.Config, f.Values, f.Override})
	return sha256digest.Of(raw)
}

// absentDigestOf returns the desired digest of a component to be removed. It
// identifies what was applied.
func absentDigestOf(p *installComponent) string {
	return sha256digest.Of(fmt.Appendf(nil, "nuon absent 1\n%s\n%s\n", p.row.AppliedArtifact,
		p.applied.DigestInputs.digest()))
}

// rejectionText describes a refusal, to follow "is".
func rejectionText(r store.Rejection) string {
	words := map[string]string{"rejected": "rejected by " + r.Actor, "cancelled": "cancelled by " + r.Actor,
		"stalled": "stalled"}[r.Kind]
	if r.Reason == "" {
		return "behind, " + words
	}
	return "behind, " + words + ": " + r.Reason
}
