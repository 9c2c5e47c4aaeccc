package rollout

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// digestValues returns the parts of the desired digest for the values that refs read, by
// path. A ref that goes deeper than a plain value counts with the value at that
// depth, so another key of the same output makes nothing behind.
func (s *snapshot) digestValues(refs []render.Path) []valueDigest {
	byPath := map[string]string{}
	for _, ref := range refs {
		found := false
		for _, l := range s.leaves(ref) {
			found = true
			if l.inDigest {
				path, digest := l.digestFor(ref)
				byPath[path] = digest
			}
		}
		if !found {
			byPath[ref.String()] = absentDigest
		}
	}
	all := []valueDigest{}
	for path, digest := range byPath {
		all = append(all, valueDigest{Path: path, Digest: digest})
	}
	slices.SortFunc(all, func(a, b valueDigest) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// digestFor returns the path and digest with which a leaf counts for a ref.
func (l leaf) digestFor(ref render.Path) (path, digest string) {
	switch {
	case l.secret != nil:
		return l.path.String(), sha256digest.Of([]byte("version " + l.version))
	case l.sealed != nil:
		return l.path.String(), l.hash
	case len(ref) <= len(l.path):
		return l.path.String(), sha256digest.Of(canonicalJSON(l.plain))
	}
	var whole any
	if err := json.Unmarshal(l.plain, &whole); err != nil {
		return ref.String(), absentDigest
	}
	inner, ok := render.Tree{"v": whole}.Get(append(render.Path{"v"}, ref[len(l.path):]...))
	if !ok {
		return ref.String(), absentDigest
	}
	raw, err := json.Marshal(inner)
	if err != nil {
		return ref.String(), absentDigest
	}
	return ref.String(), sha256digest.Of(raw)
}

// canonicalJSON returns JSON with sorted keys and without spaces: jsonb does not preserve
// the original form.
func canonicalJSON(raw json.RawMessage) []byte {
	if isCanonicalText(raw) {
		return raw
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

// isCanonicalText reports whether raw is a text that encoding/json writes as it is, which is what most values are.
func isCanonicalText(raw json.RawMessage) bool {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
