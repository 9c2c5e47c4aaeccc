package explain

import (
	"reflect"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

const (
	singleFile = "full"      // contains all other kinds, so every key would be found in it too
	component  = "component" // the keys that all kinds of components have
)

// answer is the result of a lookup.
type answer struct {
	Kinds []kindAnswer `json:"kinds,omitempty"`
	Keys  []keyAnswer  `json:"keys,omitempty"`
}

// kindAnswer is a kind of file with its keys.
type kindAnswer struct {
	format.Kind
	Keys []format.Key `json:"keys,omitempty"`
	TOML string       `json:"toml"` // a complete example file
}

// keyAnswer is a key, with all locations at which it has the same meaning.
type keyAnswer struct {
	At    []string `json:"at"` // the kinds that have it, each with the path in it; the first one is described
	Files []string `json:"files"`
	format.Key
	TOML string `json:"toml,omitempty"` // the key with a value, in its tables

	kind format.Kind
}

func (a answer) empty() bool { return len(a.Kinds)+len(a.Keys) == 0 }

// longestName is longer than any name of a key, in bytes.
const longestName = 200

// lookUp finds kinds and keys by name: a kind, a key of a kind, or a key of any kind.
func lookUp(query string) answer {
	var a answer
	if len(query) > longestName {
		return a
	}
	query = withoutIndexes(query)
	if k, ok := format.FindKind(query); ok {
		a.Kinds = append(a.Kinds, kindAnswer{Kind: k, Keys: k.Keys(), TOML: k.ExampleFile()})
	}
	if name, path, ok := strings.Cut(query, "."); ok {
		if k, ok := format.FindKind(name); ok {
			a.Keys = keysOf(familyOf(k), func(p string) bool { return p == path })
		}
	}
	if a.Keys == nil {
		a.Keys = keysOf(format.Kinds(), func(p string) bool { return p == query || strings.HasSuffix(p, "."+query) })
	}
	if above, _, ok := cutLast(query); ok && a.empty() {
		a = lookUp(above)
		a.Kinds = nil
		a.Keys = slices.DeleteFunc(a.Keys, func(k keyAnswer) bool { return !hasFreeKeys(k.Type) })
	}
	return a
}

// hasFreeKeys reports whether the vendor chooses the keys below a key of this type, so that
// looking up one of them finds the key above it.
func hasFreeKeys(t format.ValueType) bool {
	return t == format.Map || t == format.MergedMap || t == format.Flags || t == format.TypedMap || t == format.AnyValue
}

// withoutIndexes removes array indexes from a path: steps[0].name becomes steps.name. A quoted
// part counts as one name.
func withoutIndexes(query string) string {
	var b strings.Builder
	brackets, quoted := 0, false
	for _, r := range strings.TrimSpace(query) {
		switch {
		case r == '"' || r == '\'':
			quoted = !quoted
		case quoted && r == '.':
			b.WriteByte('_')
		case r == '[':
			brackets++
		case r == ']':
			brackets--
		case brackets == 0:
			b.WriteRune(r)
		}
	}
	return strings.Trim(b.String(), ".")
}

func cutLast(path string) (above, name string, ok bool) {
	i := strings.LastIndex(path, ".")
	if i < 0 {
		return "", "", false
	}
	return path[:i], path[i+1:], true
}

// familyOf returns the kinds that the name of a kind can mean: for component, every
// kind of component as well.
func familyOf(k format.Kind) []format.Kind {
	if k.Name != component {
		return []format.Kind{k}
	}
	return slices.DeleteFunc(slices.Clone(format.Kinds()), func(other format.Kind) bool {
		return other.Component == "" && other.Name != component
	})
}

// keysOf finds keys of several kinds by their current or an older path. Identical keys
// are one answer.
func keysOf(kinds []format.Kind, wanted func(path string) bool) []keyAnswer {
	var all []keyAnswer
	common, _ := format.FindKind(component)
	for _, k := range kinds {
		if k.Name == singleFile && len(kinds) > 1 {
			continue
		}
		walk(k.Keys(), func(key format.Key) {
			if !slices.ContainsFunc(pathsOf(key), wanted) {
				return
			}
			if _, ok := common.Key(key.Path); ok && k.Component != "" && len(kinds) > 1 && key.Path != "type" {
				return // the kind component has the same key
			}
			all = addAnswer(all, k, key)
		})
	}
	return all
}

// pathsOf returns the paths of a key: the current one, and those with its older names.
func pathsOf(key format.Key) []string {
	paths, above := []string{key.Path}, strings.TrimSuffix(key.Path, key.Name)
	for _, old := range key.OldNames {
		paths = append(paths, above+old)
	}
	return paths
}

// addAnswer adds a key to the answer with the same key, or as a new answer.
func addAnswer(all []keyAnswer, k format.Kind, key format.Key) []keyAnswer {
	at := k.Name + "." + key.Path
	for i, other := range all {
		if sameKey(other.Key, key) {
			all[i].At = append(all[i].At, at)
			for _, file := range k.Paths {
				if !slices.Contains(all[i].Files, file) {
					all[i].Files = append(all[i].Files, file)
				}
			}
			return all
		}
	}
	return append(all, keyAnswer{At: []string{at}, Files: slices.Clone(k.Paths), Key: key,
		TOML: k.Snippet(key.Path), kind: k})
}

// sameKey reports whether two keys are identical except for their location.
func sameKey(a, b format.Key) bool {
	for _, k := range []*format.Key{&a, &b} {
		k.Path, k.Index, k.Keys = "", nil, nil
	}
	return reflect.DeepEqual(a, b)
}
