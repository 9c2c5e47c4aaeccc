package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
)

// summed lists the rules whose findings are counted, in the order in which the summary sentence
// names them.
var summed = []struct {
	rules []string
	words string
	noun  [2]string // singular and plural, after the number
}{
	{[]string{componentRebuilt, componentCode}, "rebuilds ", components},
	{[]string{componentBroken}, "cannot build ", components},
	{[]string{actionBroken}, "cannot build the code of ", [2]string{"action", "actions"}},
	{[]string{componentMoved}, "moves the code of ", components},
	{[]string{componentAgain}, "redeploys ", components},
	{[]string{componentAdded}, "adds ", components},
	{[]string{componentOn, componentForAll}, "enables ", components},
	{[]string{contextCluster}, "changes the cluster of ", [2]string{"context", "contexts"}},
	{[]string{inputAsked}, "adds ", [2]string{"required input", "required inputs"}},
	{[]string{inputDefault}, "changes the default of ", inputs},
	{[]string{inputType}, "changes the type of ", inputs},
	{[]string{inputRemoved}, "drops ", inputs},
	{[]string{installWished}, "declares ", [2]string{"install", "installs"}},
	{[]string{installValues}, "changes the inputs of ", [2]string{"install", "installs"}},
	{[]string{installOff}, "destroys disabled components on ", [2]string{"install", "installs"}},
	{[]string{componentRemoved, componentKind, componentRenamed, componentOff}, "destroys the resources of ",
		components},
}

var (
	components = [2]string{"component", "components"}
	inputs     = [2]string{"input", "inputs"}
)

// notYet maps the kinds of parts that nuon does not act on yet, as appconfig warns, to the text of
// the note about them.
var notYet = map[string]string{
	kindRunbook: "runbooks", kindInstaller: "the installer page", kindBranch: "branches",
	kindInstalls: "a repository of installs", kindTriggers: "triggers of branch runs",
}

// notes returns the sentence about all changes together, and notes on what is unknown.
func (b *builder) notes() []string {
	var all []string
	if len(b.report.Changes) > 0 {
		all = append(all, b.overallNotes())
	}
	if waiting := b.notDeployed(); len(waiting) > 0 {
		all = append(all, "nuon does not yet act on "+firstNames(waiting)+": findings about them apply once it does.")
	}
	if b.before.app.NotFetched() > 0 || b.after.app.NotFetched() > 0 {
		all = append(all, "Remote files were not read, so changes in them are unknown.")
	}
	return all
}

// overallNotes returns one or two sentences about all changes.
func (b *builder) overallNotes() string {
	stack := b.countFindings(stackAgain) > 0
	var parts []string
	for _, s := range summed {
		if n := b.countFindings(s.rules...); n > 0 {
			parts = append(parts, s.words+diff.Plural(n, s.noun[0], s.noun[1]))
		}
	}
	sentence := ""
	if len(parts) > 0 {
		sentence = b.subject + " " + strings.Join(parts, ", ") + "."
	}
	switch {
	case stack && sentence == "":
		return "The install stack changes: every customer must run it again."
	case stack:
		return sentence + " The install stack changes: every customer must run it again."
	case sentence == "":
		return "Nothing deployed changes automatically."
	}
	return sentence
}

// countFindings returns the number of changes with a finding of one of the rules.
func (b *builder) countFindings(rules ...string) (n int) {
	for i := range b.report.Changes {
		if slices.ContainsFunc(b.report.Changes[i].Findings, func(f diff.Finding) bool {
			return slices.Contains(rules,
				f.Rule)
		}) {
			n++
		}
	}
	return n
}

// notDeployed returns the changed parts that nuon does not act on yet: components by name, others by
// kind.
func (b *builder) notDeployed() []string {
	var names, kinds []string
	for i := range b.report.Changes {
		c := &b.report.Changes[i]
		words := notYet[c.ResourceKind]
		switch {
		case words != "" && !slices.Contains(kinds, words):
			kinds = append(kinds, words)
		case c.ResourceKind == kindComponent && !b.deploys(c.Name), c.ResourceKind == kindSandbox && !b.deploys(kindSandbox):
			names = append(names, c.Address)
		}
	}
	return append(names, kinds...)
}

// deploys reports whether nuon can deploy a component yet, judging by its new config or else its old
// one.
func (b *builder) deploys(name string) bool {
	c, there := b.after.component(name)
	if !there {
		c, there = b.before.component(name)
	}
	return there && c.Deployable()
}

// maxListed bounds the names in one note, in bytes.
const maxListed = 500

// firstNames returns the first names of a list and the number of the others.
func firstNames(names []string) string {
	n, size := 0, 0
	for n < len(names) && n < maxNames && size+len(names[n]) <= maxListed {
		size += len(names[n])
		n++
	}
	words := strings.Join(names[:n], ", ")
	if rest := len(names) - n; rest > 0 {
		words += fmt.Sprintf(" and %d more", rest)
	}
	return words
}
