package kubernetes

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/secret"
)

// This file finds the Secrets inside other objects: a ManifestWork, an OpenShift Template,
// a Crossplane Object, an ExternalSecret. They are masked by their structure, at any depth.

// secretScope is the meaning of an object's keys in relation to Secrets.
type secretScope int

const (
	none secretScope = iota
	// makesSecret: the object is inside one from which a controller creates a Secret.
	makesSecret
	// templateData: the keys are those of a Secret that a controller creates.
	// A value may be a template, which refers to the secret.
	templateData
	// secretData: the keys are those of a Secret.
	secretData
)

// at returns what the value at a key of an object holds. The API's own kinds
// contain no other objects, except Secrets themselves, see secretPlace.
func (s secretScope) at(builtin bool, parent raw.Value, key string, value raw.Value) secretScope {
	if s >= templateData {
		return s
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
		s = makesSecret
	}
	switch {
	case strings.EqualFold(key, "stringData") && value.IsObject() && !isSchema(value):
		return max(s, templateData)
	case s == makesSecret && key == "data" && value.IsObject():
		return templateData
	}
	return s
}

// secretAt reports whether the value at a key of an object is a secret
// because of what the object is.
func (s secretScope) secretAt(builtin bool, parent raw.Value, key string, value raw.Value) bool {
	switch s {
	case secretData:
		return !value.IsNull()
	case templateData:
		text, isText := raw.String(value)
		return isText && secret.Literal(text) && !strings.Contains(text, "{{")
	}
	return !value.IsObject() && !value.IsNull() && s.at(builtin, parent, key, value) == secretData
}

// outerKeys are the fields next to those of a Secret that a reviewer must
// read: they are unlikely as misspellings of stringData.
var outerKeys = map[string]bool{"spec": true, "status": true, "name": true, "namespace": true}

// dataKey reports whether a key is one of the data keys of a Secret, ignoring case.
func dataKey(key string) bool {
	return strings.EqualFold(key, "data") || strings.EqualFold(key, "stringData") || strings.EqualFold(key, "binaryData")
}

// isManifest reports whether an object is a whole one and not a reference.
func isManifest(v raw.Value) bool {
	metadata, _ := v.Get("metadata")
	return metadata.IsObject()
}

// isSchema reports whether an object is the schema of a field in a definition.
func isSchema(v raw.Value) bool {
	if raw.TextAt(v, "type") != "object" {
		return false
	}
	for _, k := range []string{"additionalProperties", "properties", "description",
		"x-kubernetes-preserve-unknown-fields"} {
		if _, ok := v.Get(k); ok {
			return true
		}
	}
	return false
}

// copiesOf calls found with the texts to mask elsewhere for the value at a
// key of a Secret, until found returns false.
func copiesOf(key string, v raw.Value, found func(text string) bool) bool {
	next := true
	partsOf(key, key, v, 0, func(key, value string) {
		tellingParts(key, value, func(part string) { next = next && found(part) })
	})
	return next
}
