package kubernetes

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
)

// This file finds the Secrets that other objects hold: a ManifestWork, a Template of OpenShift, an
// Object of Crossplane, an ExternalSecret. They are masked by their structure, at any depth.

// holding is what the keys of an object are, as far as Secrets are concerned.
type holding int

const (
	none holding = iota
	// makesSecret: the object lies in one whose controller makes a Secret of it.
	makesSecret
	// templateData: the keys are those of a Secret that a controller makes. A value may be a template,
	// which says where the secret is.
	templateData
	// secretData: the keys are those of a Secret.
	secretData
)

// at returns what the value at a key of an object holds. The API's own kinds hold no other objects
// but Secrets themselves, see secretPlace.
func (h holding) at(builtin bool, parent raw.Value, key string, value raw.Value) holding {
	if h >= templateData {
		return h
	}
	if builtin {
		return none
	}
	kind, apiVersion := raw.TextAt(parent, "kind"), raw.TextAt(parent, "apiVersion")
	switch core := !strings.Contains(apiVersion, "/"); {
	case core && strings.EqualFold(kind, "Secret"):
		if dataKey(key) || isManifest(parent) && !plainPlaces[key] && !outerKeys[key] {
			return secretData
		}
		return none
	case strings.HasSuffix(kind, "Secret"):
		h = makesSecret
	}
	switch {
	case strings.EqualFold(key, "stringData") && value.IsObject() && !isSchema(value):
		return max(h, templateData)
	case h == makesSecret && key == "data" && value.IsObject():
		return templateData
	}
	return h
}

// secretAt reports whether the value at a key of an object is a secret because of what the object is.
func (h holding) secretAt(builtin bool, parent raw.Value, key string, value raw.Value) bool {
	switch h {
	case secretData:
		return !value.IsNull()
	case templateData:
		text, isText := raw.Reveal(value).(string)
		return isText && secret.Literal(text) && !strings.Contains(text, "{{")
	}
	return !value.IsObject() && !value.IsNull() && h.at(builtin, parent, key, value) == secretData
}

// outerKeys are the fields beside those of a Secret that a reviewer must read: nobody mistypes
// stringData as one of them.
var outerKeys = map[string]bool{"spec": true, "status": true, "name": true, "namespace": true}

// dataKey reports whether a key is one of those of a Secret, in any case.
func dataKey(key string) bool {
	return strings.EqualFold(key, "data") || strings.EqualFold(key, "stringData") || strings.EqualFold(key, "binaryData")
}

// isManifest reports whether an object is a whole one, and no reference to one.
func isManifest(v raw.Value) bool {
	metadata, _ := v.Get("metadata")
	return metadata.IsObject()
}

// isSchema reports whether an object is the schema of a field in a definition.
func isSchema(v raw.Value) bool {
	if raw.TextAt(v, "type") != "object" {
		return false
	}
	for _, k := range []string{"additionalProperties", "properties", "description", "x-kubernetes-preserve-unknown-fields"} {
		if _, ok := v.Get(k); ok {
			return true
		}
	}
	return false
}

// copiesOf calls found with what is worth looking for elsewhere of what a Secret has at a key,
// until found returns false.
func copiesOf(key string, v raw.Value, found func(text string) bool) bool {
	next := true
	partsOf(key, key, v, 0, func(key, value string) {
		tellingParts(key, value, func(part string) { next = next && found(part) })
	})
	return next
}
