package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/release"
	"github.com/nuon-toolkit/nuon/reconciler/store"
	"github.com/nuon-toolkit/nuon/reconciler/workflow"
)

// want is the desired state of one component of an install: the part that workflow
// sees, and what only rollout needs.
type want struct {
	workflow.Want
	facts    facts
	behind   bool           // the applied state is not the desired one, as far as is already known
	building bool           // its own artifact is being built
	blockers []string       // the components that it waits for
	own      bool           // it waits for something that is not another component
	refusal  *store.Refusal // the refusal of the current desired state; nil for none
	moves    moves          // what changed since the last apply; empty for a component to be removed
	moved    string         // moves as text
	off      Off            // why it is to be removed although the release has it
	never    bool           // it can never be deployed on any install; only another release of the app helps
}

// Off is why a component is to be removed from an install although the app's version has it.
type Off string

// The values of Off, as in the API.
const (
	OffToggle   Off = "toggle"   // switched off on the install, or by the app's default
	OffTeardown Off = "teardown" // a person tore it down; it stays off until a person requests its deploy
)

// mostRetries bounds the retries that a component configures.
const mostRetries = 10

// desire computes the desired state of every component. It is pure.
func (s *snapshot) desire() map[string]*want {
	d := &desiring{snapshot: s, wants: make(map[string]*want, len(s.places))}
	for _, name := range s.names() {
		d.of(name)
	}
	return d.wants
}

// desiring memoizes the results of desire: each component depends on those of its upstream.
type desiring struct {
	*snapshot
	wants map[string]*want
	depth int
	above map[string][]string // by component: the deployed components applied on top of it; nil until needed
}

func (d *desiring) of(name string) *want {
	if w, ok := d.wants[name]; ok {
		return w
	}
	p := d.places[name]
	if p == nil || d.depth > len(d.places) { // a cycle, which the config's parser rejects
		return &want{Want: workflow.Want{Waits: name + " is no part of this install", Stuck: true}}
	}
	d.depth++
	defer func() { d.depth-- }()
	w := &want{}
	if why := d.unwanted(p, w); why != "" {
		d.absent(p, w, why)
	} else {
		d.present(p, w)
	}
	if r, no := p.refusals[w.Digest]; no && w.Digest != "" && !w.Current {
		w.refusal, w.Refused = &r, refusedBy(r)
	}
	d.wants[name] = w
	return w
}

// present computes the desired state of a component that is to be deployed.
func (d *desiring) present(p *place, w *want) {
	w.Retries = min(p.config.MaxAutoRetries, mostRetries)
	refs := p.refs
	w.facts = facts{Config: p.digest, Values: d.vector(refs), Release: d.release.Number}
	if p.artifact != nil {
		w.facts.Artifact, w.facts.Build = p.artifact.ArtifactDigest, p.artifact.Number
	}
	d.waitForPerson(p, w)
	if w.Waits == "" {
		waitForSecrets(p, w)
	}
	if w.Waits == "" {
		d.waitForKinds(p, w)
	}
	if w.Waits == "" {
		d.waitForOwn(p, w)
	}
	if w.Waits == "" {
		d.waitForUpstream(p, w)
	}
	if w.Waits == "" {
		d.waitForValues(p, w)
	}
	w.moves = d.movesOf(p, w)
	w.moved = w.moves.words(p, w.facts.Release)
	if w.Waits != "" {
		// Upstream values may still change, so only the component's own changes make it behind.
		w.behind = !w.own && (!p.there() || p.row.AppliedDigest == "" || ownMoved(p.kept.Facts, w.facts))
		return
	}
	w.Digest = w.facts.digest()
	w.Current = p.row.AppliedDigest == w.Digest
	w.behind, w.Reason = !w.Current, w.moved
}

// waitForPerson makes a component wait for a person's decision, if it needs one before any plan.
func (d *desiring) waitForPerson(p *place, w *want) {
	why := d.contested(p)
	if why == "" && p.problem != "" {
		why = fmt.Sprintf("what was applied of %s cannot be read: %s", p.row.Name, p.problem)
	}
	if why != "" {
		w.Waits, w.Stuck, w.own = why, true, true
	}
}

// waitForSecrets makes a component wait forever if a template reads the value of a secret, which no
// template can; the text is that of the validation warning.
func waitForSecrets(p *place, w *want) {
	for _, ref := range p.refs {
		if problem, remedy, secret := appconfig.SecretValue(ref); secret {
			w.Waits, w.Stuck, w.own, w.never = problem+"; "+remedy, true, true, true
			return
		}
	}
}

// waitForKinds makes a component wait forever if a template reads an output of a
// component whose kind is not deployable.
func (d *desiring) waitForKinds(p *place, w *want) {
	for _, ref := range p.refs {
		if len(ref) < 2 || ref[0] != "components" || d.places[ref[1]] != nil {
			continue
		}
		if other, there := d.config.Component(ref[1]); there && !other.Deployable() {
			w.Waits = fmt.Sprintf(
				"it reads %s, and nuon does not deploy components of kind %s yet; write the value itself, or make it an input",
				ref.String(), other.Kind)
			w.Stuck, w.own, w.never = true, true, true
			return
		}
	}
}

// waitForOwn makes a component wait for its own build or release.
func (d *desiring) waitForOwn(p *place, w *want) {
	own := func(stuck bool, format string, args ...any) {
		w.Waits, w.Stuck, w.own, w.building = fmt.Sprintf(format, args...), stuck, true, !stuck
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
func (d *desiring) waitForUpstream(p *place, w *want) {
	var words []string
	for _, name := range p.after {
		up := d.of(name)
		if up.Current && !up.Absent {
			continue
		}
		w.blockers = append(w.blockers, name)
		w.Stuck = w.Stuck || up.Stuck || up.Refused != "" || up.Absent
		words = append(words, name+", which "+d.condition(name, up))
	}
	w.Waits = strings.Join(words, "; ")
}

// condition describes the status of a component that others wait for.
func (d *desiring) condition(name string, up *want) string {
	p := d.places[name]
	switch {
	case p != nil && up.off == OffToggle:
		return "is switched off"
	case p != nil && up.off == OffTeardown:
		return "is torn down"
	case p == nil || up.Absent:
		return "is not part of the app"
	case up.Refused != "":
		return "is " + up.Refused
	case len(p.contested) > 0:
		return "has a contested state version"
	case up.own:
		return "waits itself (" + up.Waits + ")"
	case up.Waits != "":
		return "waits itself"
	case !p.there():
		return "is not deployed yet"
	case p.applying:
		return "is being deployed"
	case p.row.AppliedDigest == "":
		return "was not deployed well, or its runner is out of contact"
	}
	return "is behind"
}

// waitForValues makes a component wait for a value that is missing or cannot be read.
func (d *desiring) waitForValues(p *place, w *want) {
	refs := p.refs
	if in := d.missingInput(refs); in != nil {
		flag := "--input " + in.Name + "=VALUE"
		if in.Sensitive {
			flag = "--secret " + in.Name
		}
		w.Waits, w.Stuck, w.own = fmt.Sprintf("input %s has no value; set it: nuon installs update %s %s", in.Name,
			d.address(), flag), true, true
		return
	}
	path, foreign := d.foreignKey(refs)
	if !foreign {
		return
	}
	w.own = true
	switch what := label(path.String()); {
	case d.runnerKey == "":
		w.Waits = fmt.Sprintf("the runner has not registered yet, and %s can only be sealed to its key", what)
	case path.HasPrefix("inputs"):
		// A runner that registers has all pending values sealed to its key in the same transaction.
		w.Waits, w.Stuck = fmt.Sprintf(
			"%s: it was sealed to a key that is gone; enter it again (nuon installs update %s --secret %s)", what, d.address(),
			path[len(path)-1]), true
	default:
		w.Waits, w.Stuck = what+" is sealed to a key that the runner does not have; deploy what gives it again", true
	}
}

// unwanted returns why a component is to be removed, or "" if it is to be deployed.
func (s *snapshot) unwanted(p *place, w *want) string {
	switch {
	case s.install.Wanted == "absent":
		return "the install is to be gone"
	case p.config == nil && s.pinned():
		return fmt.Sprintf("%s is no part of release %d, at which the install is pinned", p.row.Name, s.release.Number)
	case p.config == nil:
		return fmt.Sprintf("%s left the app in release %d", p.row.Name, s.release.Number)
	case !s.enabled(p):
		w.off = OffToggle
		if _, said := s.toggles[p.row.Name]; said {
			return p.row.Name + " is switched off on this install"
		}
		return p.row.Name + " is off unless an install switches it on"
	case p.row.TornDown:
		w.off = OffTeardown
		return orElse(p.row.TornDownReason, p.row.Name+" was torn down")
	}
	return ""
}

// enabled reports whether a component of the release is switched on.
func (s *snapshot) enabled(p *place) bool { return p.config.On(s.toggles) }

// absent computes the desired state of a component that is to be removed, for the reason why.
func (d *desiring) absent(p *place, w *want, why string) {
	w.Absent = true
	d.waitForPerson(p, w)
	if !p.there() && w.Waits == "" {
		w.Current, w.Reason = true, "it is gone"
		if w.off != "" {
			w.Reason = why
		}
		return
	}
	w.behind, w.facts = true, p.kept.Facts
	w.Digest = absentDigestOf(p)
	w.Reason = why
	w.moved = w.Reason
	if w.Waits != "" {
		w.behind = p.there()
		return
	}
	var words []string
	for _, name := range d.appliedAbove(p.row.Name) {
		w.blockers = append(w.blockers, name)
		on := d.of(name)
		w.Stuck = w.Stuck || on.Stuck || on.Refused != "" || (!on.Absent && on.Current)
		words = append(words, name+", which needs it, is still there")
	}
	w.Waits = strings.Join(words, "; ")
}

// unreadable is the key for components whose applied config cannot be read: they may
// depend on any other.
const unreadable = ""

// appliedAbove returns the deployed components that were applied on top of another, in order.
func (d *desiring) appliedAbove(name string) []string {
	if d.above == nil {
		d.above = map[string][]string{}
		for _, other := range d.names() {
			switch p := d.places[other]; {
			case !p.there():
			case p.problem != "":
				d.above[unreadable] = append(d.above[unreadable], other)
			default:
				for _, up := range p.kept.After {
					d.above[up] = append(d.above[up], other)
				}
			}
		}
	}
	all := append(slices.Clone(d.above[name]), d.above[unreadable]...)
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(other string) bool { return other == name })
}

// digest returns the desired digest: of the artifact, the config and the vector of
// values. The numbers of the build and the release are names, and do not count.
func (f facts) digest() string {
	raw, _ := json.Marshal(struct { // strings always encode
		Format   string  `json:"format"`
		Artifact string  `json:"artifact"`
		Config   string  `json:"config"`
		Values   []value `json:"values"`
	}{"nuon desired 1", f.Artifact, f.Config, f.Values})
	return workflow.Hash(raw)
}

// absentDigestOf returns the desired digest of a component to be removed. It
// identifies what was applied.
func absentDigestOf(p *place) string {
	return workflow.Hash([]byte("nuon absent 1\n" + p.row.AppliedArtifact + "\n" + p.kept.Facts.digest() + "\n"))
}

// refusedBy describes a refusal, to follow "is".
func refusedBy(r store.Refusal) string {
	words := map[string]string{"rejected": "rejected by " + r.Actor, "cancelled": "cancelled by " + r.Actor,
		"stalled": "stalled"}[r.Kind]
	if r.Reason == "" {
		return "behind, " + words
	}
	return "behind, " + words + ": " + r.Reason
}
