package kubernetes

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
)

// This file decides what a secret must not hide. The author of a Secret chooses its value:
// if every copy were masked, an image, a role or a command could be changed unnoticed.

// authored are the fields of the API's own kinds with content that the author
// chooses, where a copy of a secret may occur. All other fields in the
// schemas of these kinds decide what runs and who may do what.
var authored = map[string]bool{
	"env": true, "data": true, "binaryData": true, "stringData": true, "annotations": true, "httpHeaders": true,
	"url": true, "options": true, "volumeAttributes": true, "attributes": true, "command": true, "args": true,
}

// plainPlace reports whether a value is shown even if it equals a secret.
func plainPlace(d *difference) bool {
	if len(d.path) == 0 || d.path[0].Key == "status" || secret.CommandPlace(d.path) {
		return false
	}
	last := d.path[len(d.path)-1]
	if last.Key == "value" && len(d.path) > 1 && d.path[len(d.path)-2].IsSelect {
		last = d.path[len(d.path)-2] // the name of the entry, such as an environment variable
	}
	for i := len(d.path) - 1; i > 0 && (last.IsIndex || last.IsSelect && len(last.By()) == 0); i-- {
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

// mixed reports whether an object has both fields that decide what runs and
// fields that may hold a secret, so that it is shown part by part.
func mixed(v raw.Value) bool {
	for _, f := range v.Fields() {
		if authored[f.Key] && !f.Value.IsNull() || mixed(f.Value) {
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

// scriptEnds are the extensions of files that are run.
var scriptEnds = []string{".sh", ".bash", ".py", ".rb", ".pl", ".js", ".ps1", ".lua", ".php", ".groovy", ".star",
	".rego", ".cmd", ".bat"}

// isScript reports whether a value is a file that is run, by its name or its first line.
func isScript(d *difference) bool {
	if len(d.path) == 0 {
		return false
	}
	name := d.path[len(d.path)-1].Plain()
	if slices.ContainsFunc(scriptEnds, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return true
	}
	return slices.ContainsFunc(d.values(), func(v raw.Value) bool {
		text, _ := raw.String(v)
		return strings.HasPrefix(text, "#!")
	})
}

// hidden returns the finding about a field that hides a change in a command
// or a script, in a place that is otherwise always shown, or behind a copy of
// a secret under a name that is not that of a secret.
func hidden(d *difference, f *diff.FieldChange) (diff.Finding, bool) {
	if d.runs || secret.CommandPlace(d.path) || plainPlace(d) || isScript(d) {
		if f.HidesChange() || d.changed {
			return diff.MaskedChangeFinding(f.Path), true
		}
	}
	return diff.MaskedCopyFinding(f.Path), f.MaskedCopy && !d.regenerated
}
