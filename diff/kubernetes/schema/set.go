package schema

import (
	_ "embed" // for the table
	"maps"
	"slices"
	"sync"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

//go:embed kubernetes.bin
var builtinTable []byte

// Set holds the types of kinds. It is read-only and safe for concurrent use.
type Set struct {
	release string
	kinds   map[groupKind]*kind
}

type groupKind struct{ group, kind string }

// kind holds the versions of one kind, oldest first.
type kind struct {
	namespaced bool
	custom     bool
	versions   []version
}

// version is one version of a kind. Types of custom resources are built on first
// use: a CRD of a megabyte often exists for one small object, or for none.
type version struct {
	name string
	typ  func() *Type
	// status means that a custom resource has a status subresource.
	status bool
}

var builtin = sync.OnceValue(func() *Set {
	s, err := load(builtinTable)
	if err != nil {
		// The table is part of the program and a test reads it. Without it,
		// everything is compared as if no schema were known.
		return &Set{}
	}
	return s
})

// Builtin returns the kinds of the API server itself, decoded on first use.
func Builtin() *Set { return builtin() }

func load(data []byte) (*Set, error) {
	d, err := decode(data)
	if err != nil {
		return nil, err
	}
	addDefaults(d)
	addAssigned(d)
	s := &Set{release: d.kubernetes, kinds: make(map[groupKind]*kind, len(d.kinds))}
	for _, k := range d.kinds {
		at := groupKind{k.Group, k.Kind}
		if s.kinds[at] == nil {
			s.kinds[at] = &kind{namespaced: k.Namespaced}
		}
		t := &d.types[k.Type]
		s.kinds[at].add(version{name: k.Version, typ: func() *Type { return t }})
	}
	return s, nil
}

// add inserts a version; it replaces one of the same name.
func (k *kind) add(v version) {
	i, found := slices.BinarySearchFunc(k.versions, v.name, func(w version, name string) int {
		return compareVersions(w.name, name)
	})
	if found {
		k.versions[i] = v
		return
	}
	k.versions = slices.Insert(k.versions, i, v)
}

// Release returns the Kubernetes release of the published API in the set: v1.36.3.
func (s *Set) Release() string { return s.release }

// Find returns the type of a kind, or nil if the kind is unknown. For an unknown version it
// returns the closest known one: the next newer, otherwise the newest. The core group is "".
func (s *Set) Find(group, version, kind string) *Type {
	k := s.kinds[groupKind{group, kind}]
	if k == nil || len(k.versions) == 0 {
		return nil
	}
	for _, v := range k.versions {
		if compareVersions(v.name, version) >= 0 {
			return v.typ()
		}
	}
	return k.versions[len(k.versions)-1].typ()
}

// DropsStatus reports whether the API server drops the status in a manifest
// of a kind. Of its own kinds it keeps only that of a new Node.
func (s *Set) DropsStatus(group, version, kind string) bool {
	k := s.kinds[groupKind{group, kind}]
	if k == nil || !k.custom {
		return k != nil && kind != "Node"
	}
	for _, v := range k.versions {
		if v.name == version {
			return v.status
		}
	}
	return false
}

// Namespaced reports whether objects of a kind are namespaced, and whether that is known.
func (s *Set) Namespaced(group, kind string) (namespaced, known bool) {
	k := s.kinds[groupKind{group, kind}]
	return k != nil && k.namespaced, k != nil
}

// With returns s with the kinds that CustomResourceDefinitions define (whole objects,
// apiextensions.k8s.io/v1 or v1beta1), and notes about those that cannot be used. If two
// define the same version of a kind, the later one counts; a version that only the
// earlier one has stays. It does not change s; the values must not be changed afterwards.
func (s *Set) With(crds []raw.Value) (*Set, []string) {
	if len(crds) == 0 {
		return s, nil
	}
	to := &Set{release: s.release, kinds: maps.Clone(s.kinds)}
	if to.kinds == nil {
		to.kinds = map[groupKind]*kind{}
	}
	var notes []string
	for _, c := range crds {
		def, err := readCRD(c)
		if err == nil {
			err = to.define(def)
		}
		if err != nil {
			notes = append(notes, def.title()+" is not used: "+err.Error())
		}
	}
	return to, notes
}
