package diff

import (
	"slices"
	"strings"
)

// This file describes what was folded.

// foldNouns are the singular and plural nouns for what a rule folds, where the rule's name is not
// enough.
var foldNouns = map[string][2]string{
	"chart label":  {"chart label", "chart labels"},
	"checksum":     {"checksum", "checksums"},
	"description":  {"description", "descriptions"},
	"default":      {"default value", "default values"},
	"server-owned": {"server-owned field", "server-owned fields"},
	"regenerated":  {"regenerated value", "regenerated values"},
	"repeated":     {"repeated change", "repeated changes"},
	"restart mark": {"restart mark", "restart marks"},
	"order":        {"list in another order", "lists in another order"},
	"formatting":   {"text in another format", "texts in another format"},
}

// participles start the names of rules that state what happened to something: "12 resources
// unchanged", "3 fields ignored by dates".
var participles = []string{"unchanged", "passed", "owned by ", "ignored by ", "gone ", "not read "}

// Text returns the count with its noun, for example "490 chart labels" or
// "12 resources unchanged".
func (f Fold) Text() string {
	noun, known := foldNouns[f.Rule]
	one, many := strings.TrimSuffix(f.What, "s"), f.What
	switch {
	case f.What != FoldFields && known:
		one, many = one+" ("+f.Rule+")", many+" ("+f.Rule+")"
	case known:
		one, many = noun[0], noun[1]
	case slices.ContainsFunc(participles, func(p string) bool { return strings.HasPrefix(f.Rule, p) }):
		one, many = one+" "+f.Rule, many+" "+f.Rule
	default:
		one, many = one+" ("+f.Rule+")", many+" ("+f.Rule+")"
	}
	return EscapeText(Plural(f.Count, one, many))
}

// FoldedSummary describes what was left out, for example "12 resources unchanged". It is empty when
// nothing was left out.
func (r *Report) FoldedSummary() string { return foldedText(r.Folded) }

func foldedText(folds []Fold) string {
	var parts []string
	for _, f := range folds {
		if f.Count > 0 {
			parts = append(parts, f.Text())
		}
	}
	return strings.Join(parts, ", ")
}

// FoldedSummary describes the folded fields of the change, for example "3 folded: 2 chart labels, 1
// checksum". It is empty when none is folded.
func (c *Change) FoldedSummary() string {
	folds := c.folds()
	n := 0
	for _, f := range folds {
		n += f.Count
	}
	switch len(folds) {
	case 0:
		return ""
	case 1:
		return folds[0].Text() + ", folded"
	}
	return Plural(n, "folded", "folded") + ": " + foldedText(folds)
}

// folds counts the folded fields by rule, in the order of their first fields.
func (c *Change) folds() []Fold {
	var r Report
	for i := range c.Fields {
		if rule := c.Fields[i].Fold; rule != "" {
			r.AddFold(rule, FoldFields, 1)
		}
	}
	return r.Folded
}

// foldRules returns a key of the rules that fold fields of the change, in a
// fixed order. It does not allocate in the usual case of one rule.
func (c *Change) foldRules() string {
	first, several := "", false
	for i := range c.Fields {
		switch rule := c.Fields[i].Fold; {
		case rule == "" || rule == first:
		case first == "":
			first = rule
		default:
			several = true
		}
	}
	if !several {
		return first
	}
	var rules []string
	for _, f := range c.folds() {
		rules = append(rules, f.Rule)
	}
	slices.Sort(rules)
	return strings.Join(rules, "\x00")
}

// foldedOnlyIn names the fields of a change that is noise, in the plural.
func (c *Change) foldedOnlyIn() string {
	folds := c.folds()
	slices.SortFunc(folds, func(a, b Fold) int { return strings.Compare(a.Rule, b.Rule) })
	var parts []string
	for _, f := range folds {
		f.Count = 2
		parts = append(parts, strings.TrimPrefix(f.Text(), "2 "))
	}
	return List(parts)
}
