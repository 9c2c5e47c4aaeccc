package appconfig

import (
	"cmp"
	"slices"
	"strings"
)

// Prefixes of messages about keys and texts that have no effect yet.
const (
	idleWords    = "accepted, no effect yet: "
	withoutWords = "reads what has no value yet, so that it cannot be rendered: "
)

// mergeIdle merges all no-effect-yet warnings of a file into one at the first position, because one
// warning per key would be noise.
func mergeIdle(found Diagnostics) Diagnostics {
	idle := map[string][]Diagnostic{}
	kept := found[:0]
	for _, one := range found {
		if one.Rule == ruleIdle && one.Hint == "" {
			idle[one.File] = append(idle[one.File], one)
			continue
		}
		kept = append(kept, one)
	}
	for _, all := range idle {
		kept = append(kept, mergedIdle(all))
	}
	return kept
}

func mergedIdle(all []Diagnostic) Diagnostic {
	merged := slices.MinFunc(all, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(all) == 1 {
		return merged
	}
	var without, keys, other []string
	for _, one := range all {
		if names, ok := strings.CutPrefix(one.Message, idleWords); ok {
			keys = append(keys, strings.Split(names, ", ")...)
		} else if names, ok := strings.CutPrefix(one.Message, withoutWords); ok {
			without = append(without, names)
		} else {
			other = append(other, one.Message)
		}
	}
	slices.Sort(keys)
	sentences := other
	if len(keys) > 0 {
		sentences = append(sentences, idleWords+strings.Join(slices.Compact(keys), ", "))
	}
	if len(without) > 0 {
		sentences = append(sentences, withoutWords+strings.Join(without, ", "))
	}
	merged.Message = strings.Join(sentences, "; ")
	return merged
}
