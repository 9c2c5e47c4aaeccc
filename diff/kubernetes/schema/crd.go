package schema

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// crd is the part of a CustomResourceDefinition that is read before one of its types is needed.
type crd struct {
	name, group, kind string
	namespaced        bool
	// open means that the definition does not prune: unknown fields are kept.
	open     bool
	versions []crdVersion
}

type crdVersion struct {
	name   string
	schema raw.Value
	// status means that the version has a status subresource.
	status bool
}

// title returns the name of the definition for notes. It does not repeat a
// name that Kubernetes would reject.
func (c crd) title() string {
	if c.name == "" {
		return "a CustomResourceDefinition"
	}
	return "CustomResourceDefinition " + c.name
}

const (
	extensions = "apiextensions.k8s.io/"
	definition = "CustomResourceDefinition"
	// maxVersions bounds the versions of one definition; no known one has ten.
	maxVersions = 100
)

// names are the patterns of groups and versions, and of kinds.
var names = sync.OnceValue(func() (n struct{ dns, kind *regexp.Regexp }) {
	n.dns = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	n.kind = regexp.MustCompile(`^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)
	return n
})

// readCRD reads what identifies the kind and where its schemas are. The error
// describes the correction and never quotes a value.
func readCRD(v raw.Value) (crd, error) {
	c := crd{}
	if name := text(v, "metadata", "name"); names().dns.MatchString(name) {
		c.name = name
	}
	version, ok := strings.CutPrefix(text(v, "apiVersion"), extensions)
	if !ok || version != "v1" && version != "v1beta1" || text(v, "kind") != definition {
		return c, fmt.Errorf("it is none of %sv1 or v1beta1", extensions)
	}
	spec, _ := v.Get("spec")
	c.group, c.kind = text(spec, "group"), text(spec, "names", "kind")
	switch {
	case !names().dns.MatchString(c.group):
		return c, errors.New("spec.group is no DNS name")
	case !names().kind.MatchString(c.kind):
		return c, errors.New("spec.names.kind is no name of a kind")
	}
	scope := text(spec, "scope")
	c.namespaced = scope == "Namespaced" || scope == "" && version == "v1beta1"
	preserve, said := spec.Get("preserveUnknownFields")
	c.open = preserve.IsTrue() || !said && version == "v1beta1"
	var err error
	c.versions, err = readVersions(spec)
	return c, err
}

// readVersions finds the schemas. In v1beta1, one schema may apply to all
// versions, and a single version may be outside of the list.
func readVersions(spec raw.Value) ([]crdVersion, error) {
	shared, all := at(spec, "validation", "openAPIV3Schema"), []crdVersion(nil)
	status := at(spec, "subresources", "status").IsObject()
	list, _ := spec.Get("versions")
	if list.Len() > maxVersions {
		return nil, fmt.Errorf("spec.versions has more than %d elements", maxVersions)
	}
	for i := range list.Len() {
		e := list.At(i)
		v := crdVersion{text(e, "name"), at(e, "schema", "openAPIV3Schema"), status ||
			at(e, "subresources", "status").IsObject()}
		if v.schema.IsNull() {
			v.schema = shared
		}
		all = append(all, v)
	}
	if single := text(spec, "version"); single != "" && len(all) == 0 {
		all = append(all, crdVersion{single, shared, status})
	}
	if len(all) == 0 {
		return nil, errors.New("spec.versions is empty")
	}
	if slices.ContainsFunc(all, func(v crdVersion) bool { return !names().dns.MatchString(v.name) }) {
		return nil, errors.New("a name in spec.versions is no DNS label")
	}
	return all, nil
}

// define adds the kind of a definition, to a copy of the existing kind.
func (s *Set) define(c crd) error {
	key := groupKind{c.group, c.kind}
	was := s.kinds[key]
	if was != nil && !was.custom {
		return errors.New("the API server has this kind itself")
	}
	k := &kind{custom: true, namespaced: c.namespaced}
	if was != nil {
		k.versions = slices.Clone(was.versions)
	}
	meta := s.Find("", "v1", "ConfigMap").Field("metadata")
	for _, v := range c.versions {
		k.add(version{name: v.name, status: v.status, typ: sync.OnceValue(func() *Type {
			r := crdReader{meta: meta, open: c.open, left: maxTypes}
			return r.root(v.schema)
		})})
	}
	s.kinds[key] = k
	return nil
}

// at returns the value below keys, or null if there is none.
func at(v raw.Value, keys ...string) raw.Value {
	for _, k := range keys {
		v, _ = v.Get(k)
	}
	return v
}

// text returns the string below keys, or "" if there is none.
func text(v raw.Value, keys ...string) string {
	s, _ := raw.String(at(v, keys...))
	return s
}
