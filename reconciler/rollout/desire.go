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

// want is what an install wants of one component, as workflow sees it, and what only rollout asks of it.
type want struct {
	workflow.Want
	facts    facts
	behind   bool           // what is there is not what is wanted, as far as can be said already
	building bool           // its own artifact is being made
	blockers []string       // the components that it waits for
	own      bool           // it waits for something that is not another component
	refusal  *store.Refusal // what was said no to, if that is still what is wanted
	moves    moves          // what moved since it was applied; nothing of what is to be gone
	moved    string         // the same in words
	off      Off            // why it is to be gone though the release has it
	never    bool           // it waits for what no install can ever give; only another release of the app helps
}

// Off is why a component is to be gone from an install though the app's version has it.
type Off string

// The ways to be off, as the API has them.
const (
	OffToggle   Off = "toggle"   // the install, or the app's default, has it switched off
	OffTeardown Off = "teardown" // a person tore it down; it stays away until somebody asks for its deploy
)

// mostRetries bounds a component's own retries.
const mostRetries = 10

// desire works out what is wanted of every place. It is pure.
func (s *snapshot) desire() map[string]*want {
	d := &desiring{snapshot: s, wants: make(map[string]*want, len(s.places))}
	for _, name := range s.names() {
		d.of(name)
	}
	return d.wants
}

// desiring remembers what was worked out already: each component needs to know how its upstream is.
type desiring struct {
	*snapshot
	wants map[string]*want
	depth int
	above map[string][]string // by component: those that are there and were applied with it below them; nil until one is asked for
}

func (d *desiring) of(name string) *want {
	if w, ok := d.wants[name]; ok {
		return w
	}
	p := d.places[name]
	if p == nil || d.depth > len(d.places) { // a cycle, which the config's reader refuses
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

// present is a component that is to be there.
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
		// What upstream gives may still change, so only what is its own can say that it is behind.
		w.behind = !w.own && (!p.there() || p.row.AppliedDigest == "" || ownMoved(p.kept.Facts, w.facts))
		return
	}
	w.Digest = w.facts.digest()
	w.Current = p.row.AppliedDigest == w.Digest
	w.behind, w.Reason = !w.Current, w.moved
}

// waitForPerson says why nothing at all may be planned of a component until a person has decided.
func (d *desiring) waitForPerson(p *place, w *want) {
	why := d.contested(p)
	if why == "" && p.problem != "" {
		why = fmt.Sprintf("what was applied of %s cannot be read: %s", p.row.Name, p.problem)
	}
	if why != "" {
		w.Waits, w.Stuck, w.own = why, true, true
	}
}

// waitForSecrets says that a template reads the value of a secret, in the words in which validation warned of it: no template ever can.
func waitForSecrets(p *place, w *want) {
	for _, ref := range p.refs {
		if problem, remedy, secret := appconfig.SecretValue(ref); secret {
			w.Waits, w.Stuck, w.own, w.never = problem+"; "+remedy, true, true, true
			return
		}
	}
}

// waitForKinds says that a template reads what a component gives of a kind that nothing deploys.
func (d *desiring) waitForKinds(p *place, w *want) {
	for _, ref := range p.refs {
		if len(ref) < 2 || ref[0] != "components" || d.places[ref[1]] != nil {
			continue
		}
		if other, there := d.config.Component(ref[1]); there && !other.Deployable() {
			w.Waits = fmt.Sprintf("it reads %s, and nuon does not deploy components of kind %s yet; write the value itself, or make it an input", ref.String(), other.Kind)
			w.Stuck, w.own, w.never = true, true, true
			return
		}
	}
}

// waitForOwn says what is missing of the component itself.
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

// waitForUpstream says which of the components that it needs is not as it is wanted.
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

// condition says how a component is that others wait for.
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

// waitForValues says which value cannot be had.
func (d *desiring) waitForValues(p *place, w *want) {
	refs := p.refs
	if in := d.missingInput(refs); in != nil {
		flag := "--input " + in.Name + "=VALUE"
		if in.Sensitive {
			flag = "--secret " + in.Name
		}
		w.Waits, w.Stuck, w.own = fmt.Sprintf("input %s has no value; set it: nuon installs update %s %s", in.Name, d.address(), flag), true, true
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
		// A runner that registers has all that waits sealed to its key in the same transaction.
		w.Waits, w.Stuck = fmt.Sprintf("%s: it was sealed to a key that is gone; enter it again (nuon installs update %s --secret %s)", what, d.address(), path[len(path)-1]), true
	default:
		w.Waits, w.Stuck = what+" is sealed to a key that the runner does not have; deploy what gives it again", true
	}
}

// unwanted says why a component is to be gone, in words; nothing when it is to be there.
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

// absent is a component that is to be gone, and why.
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

// unreadable stands for the components below one of which what was applied cannot be read: it may be any.
const unreadable = ""

// appliedAbove returns the components that are there and were applied with another below them, in order.
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

// digest is the desired digest: artifact, config, and the vector of values. Numbers of builds and versions are names, and do not
// count.
func (f facts) digest() string {
	raw, _ := json.Marshal(struct { // strings always encode
		Format   string  `json:"format"`
		Artifact string  `json:"artifact"`
		Config   string  `json:"config"`
		Values   []value `json:"values"`
	}{"nuon desired 1", f.Artifact, f.Config, f.Values})
	return workflow.Hash(raw)
}

// absentDigestOf is what is desired of a component that is to be gone: no trace of just what was applied.
func absentDigestOf(p *place) string {
	return workflow.Hash([]byte("nuon absent 1\n" + p.row.AppliedArtifact + "\n" + p.kept.Facts.digest() + "\n"))
}

// refusedBy is a refusal in words that follow "is".
func refusedBy(r store.Refusal) string {
	words := map[string]string{"rejected": "rejected by " + r.Actor, "cancelled": "cancelled by " + r.Actor, "stalled": "stalled"}[r.Kind]
	if r.Reason == "" {
		return "behind, " + words
	}
	return "behind, " + words + ": " + r.Reason
}
