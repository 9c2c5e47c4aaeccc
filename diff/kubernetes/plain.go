package kubernetes

import (
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
	"parameters": true, "options": true, "mountOptions": true, "volumeAttributes": true, "attributes": true, "command": true, "args": true,
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

// hides says that a field hides what changes in a command, or in what is otherwise shown whatever it equals.
func hides(d *difference, f *diff.FieldChange) bool {
	if !secret.CommandPlace(d.path) && !plainPlace(d) {
		return false
	}
	return f.HidesChange() || d.changed
}
