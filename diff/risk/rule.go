package risk

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// Rule is one rule. It has at most one finding per change.
type Rule struct {
	// Name is stable and in kebab case: approval rules and ignore files refer to it.
	Name string
	// Source is the address of the published text that the rule follows.
	Source string
	// Engine is diff.KindKubernetes or diff.KindTerraform.
	Engine string
	// Kinds are globs over KIND[.GROUP], or over resource types for Terraform.
	Kinds []string
	// Actions lists the actions that the rule judges.
	Actions []diff.Action
	// Paths lists places, one of which must differ in an update or a replacement; none means the
	// object as a whole. See pattern for the syntax. A create or destroy affects every place, so
	// there the paths only select what the finding cites.
	Paths []string
	// Pods marks a rule about pods. It judges all kinds except built-in ones that create no pods.
	Pods bool
	// Except lists places below Paths that do not count.
	Except []string
	// When describes any further condition; empty means none.
	When string
	// Risk is the minimum risk of a change with this finding.
	Risk diff.Risk
	// Security marks a rule about who may do or reach what.
	Security bool
	// Replaces marks an update that the API server refuses, so that the object must be deleted and
	// created again.
	Replaces bool
	// Message is the sentence for the people who approve.
	Message string

	// holds, if set, must be true for the object. It runs at most once per change, so it may read
	// the whole object.
	holds func(subjectView) bool
	// matches, if set, returns a predicate that must also be true for a difference at Paths. The
	// predicate runs for each difference and therefore reads only the difference; anything that
	// needs the object is computed once, before.
	matches func(subjectView) func(field) bool
	// details returns fixed texts that describe the finding in detail; they follow Message after a
	// colon.
	details func(subjectView) []string
	// prefers, if set, returns a predicate for the differences that the finding should rather cite.
	prefers       func(subjectView) func(Difference) bool
	paths, except []pattern
	// judged lists the places whose values the rule needs: while one is unknown, the result of the
	// rule is unknown, too. If judgedIf is set, it must also be true for the object.
	judged   []string
	judgedIf func(subjectView) bool
	needs    []pattern
	// attribute is the test of a rule about attributes, with example values that it must find.
	attribute test
}

// subjectView is the view of the object, on both sides, that predicates get.
type subjectView struct {
	kind                  string
	before, after         raw.Value
	podsBefore, podsAfter []pod
	// renamed reports that an object with a new name replaces this object.
	renamed bool
	// revealed reports that some field was marked as sensitive and no longer is.
	revealed bool
	// unknown reports whether an attribute of a resource, or something in it, is known only after
	// apply.
	unknown func(attribute string) bool
	// keepsOld and programs are copied from the Subject.
	keepsOld bool
	programs []string
}

// field is the view of one difference that predicates get.
type field struct {
	Difference
	// regenerated reports that the value is generated again at each rendering.
	regenerated bool
	// unknown reports that the value is known only after apply.
	unknown bool
	// whole reports that the difference is the object itself, which is created or destroyed without
	// a difference at Paths.
	whole bool
}

// onDifference adapts a predicate that needs only the difference.
func onDifference(holds func(field) bool) func(subjectView) func(field) bool {
	return func(subjectView) func(field) bool { return holds }
}

// Rules returns all rules in the order of the documentation.
func Rules() []Rule {
	return slices.Concat(ruleSet(diff.KindKubernetes).all, ruleSet(diff.KindTerraform).all)
}

// Table writes the rules as a table in Markdown, for the documentation.
func Table(w io.Writer) error {
	var b strings.Builder
	for _, engine := range []struct{ name, title string }{{diff.KindKubernetes, "Kubernetes"},
		{diff.KindTerraform, "Terraform"}} {
		fmt.Fprintf(&b, "### %s\n\n| rule | for | risk | message |\n|---|---|---|---|\n", engine.title)
		for _, r := range ruleSet(engine.name).all {
			fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s | %s |\n", r.Name, r.Source, r.scope(), r.grade(), tableCell(r.Message))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

// scope describes which changes a rule judges.
func (r *Rule) scope() string {
	if r.Pods {
		return tableCell("every kind with a pod template: `" + strings.Join(r.Paths, "`, `") + "`, when " + r.When)
	}
	kinds := make([]string, len(r.Kinds))
	for i, k := range r.Kinds {
		kinds[i] = "`" + k + "`"
	}
	out := strings.Join(kinds, ", ")
	if len(r.Paths) > 0 {
		out += ": `" + strings.Join(r.Paths, "`, `") + "`"
	}
	if len(r.Except) > 0 {
		out += " but `" + strings.Join(r.Except, "`, `") + "`"
	}
	if r.When != "" {
		out += ", when " + r.When
	}
	return tableCell(out)
}

func (r *Rule) grade() string {
	out := strings.ReplaceAll(r.Risk.String(), "_", " ")
	if r.Security {
		out += ", security"
	}
	return out
}

func tableCell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// ruleIndex finds the rules of one engine for a kind without matching all of them.
type ruleIndex struct {
	all []Rule
	// exact maps a kind to rules. globs holds the rules with a wildcard in a kind. Both keep the
	// order of all.
	exact map[string][]*Rule
	globs []*Rule
	// cache caches the rules by kind, because matching globs takes longer than judging most objects.
	cache  sync.Map
	cached atomic.Int64
}

// The indexes of both engines are built when the first change is judged: one report needs only one.
var (
	kubernetesIndex = sync.OnceValue(func() *ruleIndex { return newRuleIndex(kubernetesRules()) })
	terraformIndex  = sync.OnceValue(func() *ruleIndex { return newRuleIndex(terraformRules()) })
)

// ruleSet returns the rules of an engine.
func ruleSet(engine string) *ruleIndex {
	if engine == diff.KindKubernetes {
		return kubernetesIndex()
	}
	return terraformIndex()
}

// newRuleIndex parses the patterns of rules and indexes the rules by their kinds.
func newRuleIndex(rules []Rule) *ruleIndex {
	b := &ruleIndex{all: rules, exact: map[string][]*Rule{}}
	for i := range b.all {
		r := &b.all[i]
		for _, p := range r.Paths {
			r.paths = append(r.paths, parsePattern(p))
		}
		for _, p := range r.Except {
			r.except = append(r.except, parsePattern(p))
		}
		for _, p := range r.judged {
			r.needs = append(r.needs, parsePattern(p))
		}
		globbed := false
		for _, k := range r.Kinds {
			if strings.ContainsAny(k, "*?[") {
				globbed = true
				continue
			}
			b.exact[k] = append(b.exact[k], r)
		}
		if globbed {
			b.globs = append(b.globs, r)
		}
	}
	return b
}

// rulesFor returns the rules for a kind.
func (b *ruleIndex) rulesFor(kind string) []*Rule {
	if rules, ok := b.cache.Load(kind); ok {
		return rules.([]*Rule)
	}
	rules := b.match(kind)
	if len(kind) <= maxKnownKind && b.cached.Add(1) <= maxKnownKinds {
		b.cache.Store(kind, rules)
	}
	return rules
}

// Bounds of the cache: an input may have any number of kinds.
const (
	maxKnownKinds = 4096
	maxKnownKind  = 256
)

func (b *ruleIndex) match(kind string) []*Rule {
	out := slices.Clone(b.exact[kind])
	if kind == kindOutput {
		// An output is not a resource: it lacks what a rule for all resources reads.
		return out
	}
	for _, r := range b.globs {
		if !slices.Contains(out, r) && r.Fits(kind) {
			out = append(out, r)
		}
	}
	return out
}

// Fits reports whether the rule judges a kind, written KIND[.GROUP], or a resource type.
func (r *Rule) Fits(kind string) bool {
	if r.Pods && podless(kind) {
		return false
	}
	for _, k := range r.Kinds {
		if ok, err := path.Match(k, kind); ok && err == nil {
			return true
		}
	}
	return false
}
