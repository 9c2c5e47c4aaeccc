package manifest

import (
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// identity holds the fields of a document that identify its object; an omitted field is empty.
type identity struct {
	apiVersion, kind, name, namespace, generate string
}

// group splits apiVersion into the API group and the version.
func (i identity) group() (group, version string) {
	if group, version, found := strings.Cut(i.apiVersion, "/"); found {
		return group, version
	}
	return "", i.apiVersion
}

// identify reads the identity of a parsed object.
func identify(v raw.Value) identity {
	metadata, _ := v.Get("metadata")
	return identity{
		apiVersion: raw.TextAt(v, "apiVersion"), kind: raw.TextAt(v, "kind"),
		name: raw.TextAt(metadata, "name"), namespace: raw.TextAt(metadata, "namespace"),
		generate: raw.TextAt(metadata, "generateName"),
	}
}

// into adds apiVersion and kind to an object that has neither, as for the elements of a typed list.
func (i identity) into(v raw.Value) raw.Value {
	if !v.IsObject() || i.kind == "" || raw.TextAt(v, "kind") != "" || raw.TextAt(v, "apiVersion") != "" {
		return v
	}
	return v.With("apiVersion", raw.OfText(i.apiVersion)).With("kind", raw.OfText(i.kind))
}
