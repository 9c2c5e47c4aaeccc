package kubernetes

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
)

// This file decides what a secret must not hide. Whoever writes a Secret chooses its value: were its copies masked everywhere, an image, a role
// or a command could be changed behind it.

// authored are the fields of the API's own kinds of which the author chooses the content, so that a copy of a secret may be there. All other
// fields of these kinds, which their schema knows, say what runs, and who may do what.
var authored = map[string]bool{
	"env": true, "data": true, "binaryData": true, "stringData": true, "annotations": true, "httpHeaders": true, "url": true,
	"options": true, "volumeAttributes": true, "attributes": true, "command": true, "args": true,
}

// plainPlace says that a value is shown whatever it equals.
func plainPlace(d *difference) bool {
	if len(d.path) == 0 || d.path[0].Key == "status" || secret.CommandPlace(d.path) {
		return false
	}
	last := d.path[len(d.path)-1]
	if last.Key == "value" && len(d.path) > 1 && d.path[len(d.path)-2].IsSelect {
		last = d.path[len(d.path)-2] // of what has a name, as an environment variable
	}
	for i := len(d.path) - 1; i > 0 && (last.IsIndex || last.IsSelect && len(last.By) == 0); i-- {
		last = d.path[i-1]
	}
	if secret.Plain(last.Plain()) || secret.IsARN(d.before) || secret.IsARN(d.after) {
		return !mixed(d.before) && !mixed(d.after)
	}
	if !d.builtin || d.typ == nil || documents(d.path) > 0 || mixed(d.before) || mixed(d.after) {
		return false
	}
	for _, s := range d.path {
		if authored[s.Key] {
			return false
		}
	}
	return true
}

// mixed says that an object has what says what runs beside what may be a secret, so that it is shown part by part.
func mixed(v raw.Value) bool {
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		if authored[k] && !child.IsNull() || mixed(child) {
			return true
		}
	}
	for i := range v.Len() {
		if mixed(v.At(i)) {
			return true
		}
	}
	return false
}

// scriptEnds are those of the names of files that something runs.
var scriptEnds = []string{".sh", ".bash", ".py", ".rb", ".pl", ".js", ".ps1", ".lua", ".php", ".groovy", ".star", ".rego", ".cmd", ".bat"}

// isScript says that a value is a file that something runs, by its name or its first line.
func isScript(d *difference) bool {
	if len(d.path) == 0 {
		return false
	}
	name := d.path[len(d.path)-1].Plain()
	if slices.ContainsFunc(scriptEnds, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return true
	}
	return slices.ContainsFunc(d.values(), func(v raw.Value) bool {
		text, _ := raw.Reveal(v).(string)
		return strings.HasPrefix(text, "#!")
	})
}

// hidden is the finding about a field that hides what changes in a command or a script, in what is otherwise shown whatever it equals, or
// behind a copy of a secret under a name that does not call it one.
func hidden(d *difference, f *diff.FieldChange) (diff.Finding, bool) {
	if d.runs || secret.CommandPlace(d.path) || plainPlace(d) || isScript(d) {
		if f.HidesChange() || d.changed {
			return diff.MaskedChange(f.Path), true
		}
	}
	return diff.MaskedCopy(f.Path), f.MaskedCopy && !d.regenerated
}
