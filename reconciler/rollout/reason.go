package rollout

import (
	"fmt"
	"strings"
)

// mostMoves is how many moved values a reason names.
const mostMoves = 4

// whatMoved says in words what is different from what was applied.
func (d *desiring) whatMoved(p *place, w *want) string {
	was, now := p.kept.Facts, w.facts
	var words []string
	switch {
	case !p.there():
		return p.row.Name + " is not deployed on this install yet"
	case p.row.AppliedDigest == "":
		words = append(words, "what is there is not known: its last apply did not end well, or its state is another now")
	}
	if was.Artifact != now.Artifact && p.artifact != nil {
		words = append(words, fmt.Sprintf("artifact changed: build %d of %s, because %s", p.artifact.Number, p.row.Name, p.artifact.Reason))
	}
	if was.Config != now.Config {
		words = append(words, fmt.Sprintf("config changed in app version %d", now.Version))
	}
	moved := movedValues(was.Values, now.Values)
	for i, path := range moved {
		if i == mostMoves {
			words = append(words, fmt.Sprintf("%d more values changed", len(moved)-mostMoves))
			break
		}
		words = append(words, label(path)+" changed")
	}
	if len(words) == 0 {
		return "nothing has moved since it was applied"
	}
	return strings.Join(words, "; ")
}

// movedValues gives the paths that read something else now, in order.
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

// ownMoved says whether something moved that no other component can move back.
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

// label is a path below .nuon in the words of the people who wrote it.
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
