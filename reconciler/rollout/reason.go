package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// mostMoves is how many changed values a reason lists.
const mostMoves = 4

// moves describes how the desired state of a component differs from the applied one.
type moves struct {
	first    bool // it is not deployed yet
	applying bool // a runner applies it now
	unknown  bool // the applied state is not known
	artifact bool
	config   bool
	values   []string // paths below .nuon whose value has changed, in order
}

func (d *desiring) movesOf(p *place, w *want) moves {
	if !p.there() {
		return moves{first: true}
	}
	was, now := p.kept.Facts, w.facts
	return moves{
		applying: p.applying, unknown: p.row.AppliedDigest == "" && !p.applying, artifact: was.Artifact != now.Artifact &&
			p.artifact != nil, config: was.Config != now.Config,
		values: movedValues(was.Values, now.Values),
	}
}

// inputs returns the changed inputs if nothing else changed, otherwise nil.
func (m moves) inputs() []string {
	if m.first || m.applying || m.unknown || m.artifact || m.config {
		return nil
	}
	var names []string
	for _, path := range m.values {
		keys := strings.Split(path, ".")
		if len(keys) < 3 || keys[0] != "inputs" {
			return nil
		}
		if !slices.Contains(names, keys[2]) {
			names = append(names, keys[2])
		}
	}
	return names
}

// applyUnderWay describes a component while a runner applies it.
const applyUnderWay = "an apply is under way"

// words describes the changes for people.
func (m moves) words(p *place, release int32) string {
	var words []string
	switch {
	case m.first && p.row.Abandoned != "":
		return fmt.Sprintf("the state of %s was %s; what exists of it is not known, and this makes it anew", p.row.Name,
			p.row.Abandoned)
	case m.first:
		return p.row.Name + " is not deployed on this install yet"
	case m.applying:
		words = append(words, applyUnderWay)
	case m.unknown:
		words = append(words, "what is there is not known: its last apply did not end well, or its state is another now")
	}
	switch {
	case m.artifact && p.artifact.Number == 0: // of a draft
		words = append(words, "it would be built anew: "+p.artifact.Reason)
	case m.artifact:
		words = append(words, fmt.Sprintf("artifact changed: build %d of %s, because %s", p.artifact.Number, p.row.Name,
			p.artifact.Reason))
	}
	if m.config {
		words = append(words, fmt.Sprintf("config changed in release %d", release))
	}
	for i, path := range m.values {
		if i == mostMoves {
			words = append(words, fmt.Sprintf("%d more values changed", len(m.values)-mostMoves))
			break
		}
		words = append(words, label(path)+" changed")
	}
	if len(words) == 0 {
		return "nothing has moved since it was applied"
	}
	return strings.Join(words, "; ")
}

// movedValues returns the paths whose value has changed, in order.
func movedValues(was, now []value) []string {
	before := map[string]string{}
	for _, v := range was {
		before[v.Path] = v.Digest
	}
	var moved []string
	for _, v := range now {
		if digest, had := before[v.Path]; !had || digest != v.Digest {
			moved = append(moved, v.Path)
		}
	}
	return moved
}

// ownMoved reports whether something changed that no other component can change back.
func ownMoved(was, now facts) bool {
	if was.Artifact != now.Artifact || was.Config != now.Config {
		return true
	}
	for _, path := range movedValues(was.Values, now.Values) {
		if strings.HasPrefix(path, "inputs.") {
			return true
		}
	}
	return false
}

// label returns a path below .nuon in the terms of the app's config.
func label(path string) string {
	keys := strings.Split(path, ".")
	switch {
	case len(keys) >= 3 && keys[0] == "inputs":
		return "input " + keys[2]
	case len(keys) >= 3 && keys[0] == "sandbox" && keys[1] == "outputs":
		return "output " + strings.Join(keys[2:], ".") + " of the sandbox"
	case len(keys) >= 4 && keys[0] == "components" && keys[2] == "outputs":
		return "output " + strings.Join(keys[3:], ".") + " of " + keys[1]
	case len(keys) >= 5 && keys[0] == "actions" && keys[3] == "outputs":
		return "output " + strings.Join(keys[4:], ".") + " of action " + keys[2]
	}
	return path
}
