package diff

import (
	"sort"
	"strings"
)

// This file defines the order and the titles of the lists of a report once,
// so that all renderers agree.

// Section is one list of a report in its display form: changes, checks or policies.
type Section struct {
	// Name is the list's name in JSON, for example "drift".
	Name string
	// Title is its heading, without the count. It is empty for the first
	// list, which has no heading.
	Title string
	// Changes are the section's changes in the order of its parts. The first
	// list omits those that are noise: see Report.Noises.
	Changes []*Change
	Checks  []Check
	// Policies are the results of the app's policies.
	Policies []PolicyResult
	// Parts are the same changes by module, by namespace, or by hook event. A
	// section that is not divided has one part without a title.
	Parts []Part
	// Past means that the changes have already happened: see Change.Happened.
	Past bool
}

// Count returns the number of changes, checks or policies in the section.
func (s *Section) Count() int { return len(s.Changes) + len(s.Checks) + len(s.Policies) }

// Destroys reports whether a change of the section destroys or replaces something that exists.
func (s *Section) Destroys(c *Change) bool { return destroys(s.Name, c) }

// Headline describe what happens, or has happened, to an object of the section.
func (s *Section) Headline(c *Change) string {
	if s.Past {
		return c.PastHeadline()
	}
	return c.Headline()
}

// Part is a group of related changes in a section.
type Part struct {
	// Title names the part; empty when the section is not divided.
	Title   string
	Changes []*Change
	// Entries are the same changes for display: those that differ only in
	// their objects are one entry.
	Entries []Entry
}

// Counts describe the actions in the part, for example "2 to create, 1 to destroy".
func (p *Part) Counts() string {
	var t Totals
	for _, c := range p.Changes {
		t.add(c)
	}
	return strings.Join(t.nonZeroActions(), ", ")
}

// The names of the sections, which are the names of the lists in JSON.
const (
	SectionChanges  = "changes"
	SectionOutputs  = "outputs"
	SectionHooks    = "hooks"
	SectionTests    = "tests"
	SectionKept     = "kept"
	SectionDrift    = "drift"
	SectionDeferred = "deferred"
	SectionChecks   = "checks"
	SectionPolicies = "policies"
)

// sectionTitles are the headings of the lists.
var sectionTitles = map[string]string{
	SectionOutputs:  "Outputs",
	SectionHooks:    "Hooks, which Helm runs around the release",
	SectionTests:    "Tests, which run when somebody asks Helm for them",
	SectionKept:     "Leave the release, and stay where they are",
	SectionDrift:    "Changed by others since the last apply",
	SectionDeferred: "Left for a later plan",
	SectionChecks:   "Checks that do not hold, or are not known yet",
	SectionPolicies: "Policies",
}

// Sections returns the lists of the report that are not empty, in display order.
func (r *Report) Sections() []Section {
	var out []Section
	for _, l := range r.lists() {
		s := Section{Name: l.name, Title: sectionTitles[l.name], Past: l.name == SectionDrift}
		for i := range *l.changes {
			if c := &(*l.changes)[i]; l.name != SectionChanges || !c.IsNoise() {
				s.Changes = append(s.Changes, c)
			}
		}
		if len(s.Changes) == 0 {
			continue
		}
		s.splitIntoParts(r)
		out = append(out, s)
	}
	if checks := r.failedChecks(); len(checks) > 0 {
		out = append(out, Section{Name: SectionChecks, Title: sectionTitles[SectionChecks], Checks: checks})
	}
	if len(r.Policies) > 0 {
		out = append(out, Section{Name: SectionPolicies, Title: sectionTitles[SectionPolicies], Policies: r.Policies})
	}
	return out
}

// failedChecks returns the checks that did not pass.
func (r *Report) failedChecks() []Check {
	var out []Check
	for _, c := range r.Checks {
		if c.Status != CheckPass {
			out = append(out, c)
		}
	}
	return out
}

// splitIntoParts splits the changes of a section into parts, if there is more than one,
// and sorts the changes by part. Objects in no module or namespace come first.
func (s *Section) splitIntoParts(r *Report) {
	parts := map[string]*Part{}
	var names []string
	for _, c := range s.Changes {
		name := s.partOf(r.Kind, c)
		if parts[name] == nil {
			parts[name] = &Part{Title: s.partTitle(r.Kind, name)}
			names = append(names, name)
		}
		parts[name].Changes = append(parts[name].Changes, c)
	}
	one, many := r.objects()
	if len(names) == 1 && s.Name != SectionHooks {
		s.Parts = []Part{{Changes: s.Changes}}
		s.groupEntries(&s.Parts[0], one, many)
		return
	}
	sort.Strings(names)
	s.Changes = s.Changes[:0:0]
	for _, name := range names {
		s.groupEntries(parts[name], one, many)
		s.Parts = append(s.Parts, *parts[name])
		s.Changes = append(s.Changes, parts[name].Changes...)
	}
}

func (s *Section) partOf(kind string, c *Change) string {
	switch {
	case s.Name == SectionOutputs || s.Name == SectionTests:
		return ""
	case s.Name == SectionHooks:
		return c.Hook
	case kind == KindKubernetes:
		return c.Namespace
	}
	return c.Module
}

func (s *Section) partTitle(kind, name string) string {
	switch {
	case s.Name == SectionHooks && name == "":
		return "At an event of the release"
	case s.Name == SectionHooks:
		return "Helm runs at " + EscapeText(strings.Join(splitEvents(name), ", "))
	case kind == KindApp && name == "":
		return "the app"
	case kind == KindKubernetes && name == "":
		return "no namespace"
	case kind == KindKubernetes:
		return "namespace " + EscapeText(name)
	case name == "":
		return "the root module"
	}
	return EscapeText(name)
}

func splitEvents(hook string) []string {
	events := strings.Split(hook, ",")
	for i := range events {
		events[i] = strings.TrimSpace(events[i])
	}
	return events
}

// Noise is a set of changes whose fields are all folded by the same rules.
type Noise struct {
	// Text name what changes in them, for example "490 objects change only in chart labels".
	Text    string
	Changes []*Change
}

// Noises returns the changes that are noise, grouped by the rules that fold them, the largest set first.
func (r *Report) Noises() []Noise {
	byRules := map[string]*Noise{}
	var names []string
	for i := range r.Changes {
		c := &r.Changes[i]
		if !c.IsNoise() {
			continue
		}
		name := c.foldRules()
		if byRules[name] == nil {
			byRules[name] = &Noise{}
			names = append(names, name)
		}
		byRules[name].Changes = append(byRules[name].Changes, c)
	}
	sort.SliceStable(names, func(i, j int) bool {
		a, b := len(byRules[names[i]].Changes), len(byRules[names[j]].Changes)
		return a > b || a == b && names[i] < names[j]
	})
	var out []Noise
	for _, name := range names {
		q := byRules[name]
		one, many := r.objects()
		q.Text = Plural(len(q.Changes), one+" changes", many+" change") + " only in " + q.Changes[0].foldedOnlyIn()
		out = append(out, *q)
	}
	return out
}
