package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// maxListedChanges is how many changed values a reason lists.
const maxListedChanges = 4

// changes describes how the desired state of a component differs from the applied one.
type changes struct {
	notDeployed bool // it is not deployed yet
	applying    bool // a runner applies it now
	unknown     bool // the applied state is not known
	artifact    bool
	config      bool
	override    bool     // what the install overrides of it
	values      []string // paths below .nuon whose value has changed, in order
}

func (d *resolver) changesOf(p *installComponent, w *desiredState) changes {
	if !p.mayBeDeployed() {
		return changes{notDeployed: true}
	}
	was, now := p.applied.DigestInputs, w.digestInputs
	return changes{
		applying: p.applying, unknown: p.row.AppliedDigest == "" && !p.applying, artifact: was.Artifact != now.Artifact &&
			p.artifact != nil, config: was.Config != now.Config, override: was.Override != now.Override,
		values: changedValues(was.Values, now.Values),
	}
}

// inputs returns the changed inputs if nothing else changed, otherwise nil.
func (m changes) inputs() []string {
	if m.notDeployed || m.applying || m.unknown || m.artifact || m.config || m.override {
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

// applyRunningText describes a component while a runner applies it.
const applyRunningText = "an apply is running"

// text describes the changes for people.
func (m changes) text(p *installComponent, release int32) string {
	var words []string
	switch {
	case m.notDeployed && p.row.Abandoned != "":
		return fmt.Sprintf("the state of %s was %s; what exists of it is unknown, and this creates it again", p.row.Name,
			p.row.Abandoned)
	case m.notDeployed:
		return p.row.Name + " is not deployed on this install yet"
	case m.applying:
		words = append(words, applyRunningText)
	case m.unknown:
		words = append(words, "what exists is unknown: its last apply failed or was interrupted, or its state changed")
	}
	switch {
	case m.artifact && p.artifact.Number == 0: // of a draft
		words = append(words, "it would be rebuilt: "+p.artifact.Reason)
	case m.artifact:
		words = append(words, fmt.Sprintf("artifact changed: build %d of %s, because %s", p.artifact.Number, p.row.Name,
			p.artifact.Reason))
	}
	if m.config {
		words = append(words, fmt.Sprintf("config changed in release %d", release))
	}
	if m.override {
		words = append(words, fmt.Sprintf("the install's %s for %s changed", overriddenKey(p.config.Kind), p.row.Name))
	}
	labels := configLabels(m.values)
	for i, label := range labels {
		if i == maxListedChanges {
			words = append(words, fmt.Sprintf("%d more values changed", len(labels)-maxListedChanges))
			break
		}
		words = append(words, label+" changed")
	}
	if len(words) == 0 {
		return "nothing changed since it was applied"
	}
	return strings.Join(words, "; ")
}

// changedValues returns the paths whose value has changed, in order.
func changedValues(was, now []valueDigest) []string {
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

// ownInputsChanged reports whether something changed that no other component can change back.
func ownInputsChanged(was, now digestInputs) bool {
	if was.Artifact != now.Artifact || was.Config != now.Config || was.Override != now.Override {
		return true
	}
	for _, path := range changedValues(was.Values, now.Values) {
		if strings.HasPrefix(path, "inputs.") || strings.HasPrefix(path, "install_stack.") ||
			strings.HasPrefix(path, "app.variables.") || strings.HasPrefix(path, "install.secrets.") ||
			strings.HasPrefix(path, "secrets.") {
			return true
		}
	}
	return false
}

// configLabels returns the labels of paths, each once.
func configLabels(paths []string) []string {
	var labels []string
	for _, path := range paths {
		if label := configLabel(path); !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// configLabel returns a path below .nuon in the terms of the app's config.
func configLabel(path string) string {
	keys := strings.Split(path, ".")
	switch {
	case len(keys) >= 3 && keys[0] == "inputs":
		return "input " + keys[2]
	case len(keys) >= 3 && keys[0] == "install" && keys[1] == "secrets":
		return "secret " + keys[2]
	case len(keys) >= 3 && keys[0] == "secrets":
		return "secret " + keys[1]
	case len(keys) >= 3 && keys[0] == "sandbox" && keys[1] == "outputs":
		return "output " + strings.Join(keys[2:], ".") + " of the sandbox"
	case len(keys) >= 4 && keys[0] == "components" && keys[2] == "outputs":
		return "output " + strings.Join(keys[3:], ".") + " of " + keys[1]
	case len(keys) >= 3 && keys[0] == "app" && keys[1] == "variables":
		return "app variable " + keys[2]
	case len(keys) >= 3 && keys[0] == "install_stack" && keys[1] == "outputs":
		return "stack output " + strings.Join(keys[2:], ".")
	case len(keys) >= 5 && keys[0] == "actions" && keys[3] == "outputs":
		return "output " + strings.Join(keys[4:], ".") + " of action " + keys[2]
	}
	return path
}
