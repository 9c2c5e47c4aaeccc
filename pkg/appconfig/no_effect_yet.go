package appconfig

import (
	"cmp"
	"slices"
	"strings"
)

// Prefixes of messages about keys and texts that have no effect yet.
const (
	noEffectYetPrefix = "accepted, no effect yet: "
	noValueYetPrefix  = "reads what has no value yet, so that it cannot be rendered: "
)

// mergeNoEffectYet merges all no-effect-yet warnings of a file into one at the first position, because one
// warning per key would be noise.
func mergeNoEffectYet(found Diagnostics) Diagnostics {
	idle := map[string][]Diagnostic{}
	merged := found[:0]
	for _, d := range found {
		if d.Rule == ruleNoEffectYet && d.Hint == "" {
			idle[d.File] = append(idle[d.File], d)
			continue
		}
		merged = append(merged, d)
	}
	for _, all := range idle {
		merged = append(merged, mergedNoEffectYet(all))
	}
	return merged
}

func mergedNoEffectYet(all []Diagnostic) Diagnostic {
	merged := slices.MinFunc(all, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(all) == 1 {
		return merged
	}
	var noValue, keys, other []string
	for _, d := range all {
		if names, ok := strings.CutPrefix(d.Message, noEffectYetPrefix); ok {
			keys = append(keys, strings.Split(names, ", ")...)
		} else if names, ok := strings.CutPrefix(d.Message, noValueYetPrefix); ok {
			noValue = append(noValue, names)
		} else {
			other = append(other, d.Message)
		}
	}
	slices.Sort(keys)
	sentences := other
	if len(keys) > 0 {
		sentences = append(sentences, noEffectYetPrefix+strings.Join(slices.Compact(keys), ", "))
	}
	if len(noValue) > 0 {
		sentences = append(sentences, noValueYetPrefix+strings.Join(noValue, ", "))
	}
	merged.Message = strings.Join(sentences, "; ")
	return merged
}
