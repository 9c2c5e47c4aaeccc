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

// Rule is one rule. It finds at most one thing in a change.
type Rule struct {
	// Name is stable, in kebab case: approval rules and ignore files name it.
	Name string
	// Source is the address of the published text that the rule follows.
	Source string
	// Engine is diff.KindKubernetes or diff.KindTerraform.
	Engine string
	// Kinds are globs over KIND[.GROUP], or over the resource type for Terraform.
	Kinds []string
	// Actions are those that the rule looks at.
	Actions []diff.Action
	// Paths are the places of which one must differ in an update or a replacement; none means the object as a whole. See pattern for
	// how they are written. A create or a destroy has everything, and so its paths only say what the finding points at.
	Paths []string
	// Pods says that the rule is about pods: it looks at every kind but those of the API itself that make none.
	Pods bool
	// Except are places below Paths that do not count.
	Except []string
	// When says in words what must hold besides; empty when there is nothing.
	When string
	// Risk is what the change then is at least.
	Risk diff.Risk
	// Security says that it is about who may do or reach what.
	Security bool
	// Replaces says that the API server refuses the update, so that the object must be deleted and made anew.
	Replaces bool
	// Words are for the people who approve.
	Words string

	// holds, if it is set, must hold of the object. It is asked at most once for a change, so it may read all of the object.
	holds func(look) bool
	// each, if it is set, makes a predicate that must hold of a difference at Paths, too. The predicate is asked of each of them, so it
	// reads no more than the difference; what needs the object is worked out once, before.
	each func(look) func(field) bool
	// details say in fixed words what exactly the rule found; they follow Words after a colon.
	details func(look) []string
	// cites, if it is set, prefers some of the differences for the finding to point at.
	cites         func(look) func(Touched) bool
	paths, except []pattern
	// judged are the places whose values the rule needs: while one is unknown, nobody can tell what the rule would find. Of judgedIf, if it
	// is set, the object must hold, too.
	judged   []string
	judgedIf func(look) bool
	needs    []pattern
	// attribute is the test of a rule that is about attributes, with values that it must find.
	attribute test
}

// look is what a predicate sees of the object on both sides.
type look struct {
	kind          string
	before, after raw.Value
	was, is       []pod
	// renamed says that the object goes for another one of a new name.
	renamed bool
	// revealed says that some field was marked as sensitive and no longer is.
	revealed bool
	// unknown reports whether an attribute of a resource, or something in it, is known only after apply.
	unknown func(attribute string) bool
	// keepsOld and programs are those of the Subject.
	keepsOld bool
	programs []string
}

// field is what a predicate sees of one difference.
type field struct {
	Touched
	// regenerated says that the value is made anew at each rendering.
	regenerated bool
	// unknown says that the value is known only after apply.
	unknown bool
	// whole says that the difference is the object, which comes or goes without a difference at Paths.
	whole bool
}

// at makes a predicate of a rule that needs nothing but the difference.
func at(holds func(field) bool) func(look) func(field) bool {
	return func(look) func(field) bool { return holds }
}

// Rules are all rules in the order of the documentation.
func Rules() []Rule { return slices.Clone(compiled().all) }

// Table writes the rules as a table in Markdown, for the documentation.
func Table(w io.Writer) error {
	var b strings.Builder
	for _, engine := range []struct{ name, title string }{{diff.KindKubernetes, "Kubernetes"}, {diff.KindTerraform, "Terraform"}} {
		fmt.Fprintf(&b, "### %s\n\n| rule | for | risk | what it says |\n|---|---|---|---|\n", engine.title)
		for _, r := range compiled().all {
			if r.Engine == engine.name {
				fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s | %s |\n", r.Name, r.Source, r.scope(), r.grade(), cell(r.Words))
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

// scope says in words which changes a rule looks at.
func (r *Rule) scope() string {
	if r.Pods {
		return cell("every kind with a pod template: `" + strings.Join(r.Paths, "`, `") + "`, when " + r.When)
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
	return cell(out)
}

func (r *Rule) grade() string {
	out := strings.ReplaceAll(r.Risk.String(), "_", " ")
	if r.Security {
		out += ", security"
	}
	return out
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// rulebook finds the rules of a kind without asking them all.
type rulebook struct {
	all []Rule
	// exact are rules by engine and kind, globs those whose kind has a wildcard, by engine; both in order of all.
	exact, globs map[string][]*Rule
	// unjudged is the rule for values that others cannot judge.
	unjudged *Rule
	// known are the rules of the kinds that were asked for: globs take longer to match than most objects to judge.
	known sync.Map
	kinds atomic.Int64
}

// compiled is made when the first change is judged.
var compiled = sync.OnceValue(func() *rulebook {
	b := &rulebook{all: slices.Concat(kubernetesRules(), terraformRules()), exact: map[string][]*Rule{}, globs: map[string][]*Rule{}}
	for i := range b.all {
		r := &b.all[i]
		if r.Name == unjudged {
			b.unjudged = r
		}
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
			b.exact[r.Engine+" "+k] = append(b.exact[r.Engine+" "+k], r)
		}
		if globbed {
			b.globs[r.Engine] = append(b.globs[r.Engine], r)
		}
	}
	return b
})

// of are the rules for a kind.
func (b *rulebook) of(engine, kind string) []*Rule {
	key := [2]string{engine, kind}
	if rules, ok := b.known.Load(key); ok {
		return rules.([]*Rule)
	}
	rules := b.match(engine, kind)
	if len(kind) <= maxKnownKind && b.kinds.Add(1) <= maxKnownKinds {
		b.known.Store(key, rules)
	}
	return rules
}

// Bounds of what is remembered: an input may have any number of kinds.
const (
	maxKnownKinds = 4096
	maxKnownKind  = 256
)

func (b *rulebook) match(engine, kind string) []*Rule {
	out := slices.Clone(b.exact[engine+" "+kind])
	if kind == kindOutput {
		// An output is no resource: what a rule for all of them reads is not there.
		return out
	}
	for _, r := range b.globs[engine] {
		if !slices.Contains(out, r) && r.Fits(kind) {
			out = append(out, r)
		}
	}
	return out
}

// Fits says that the rule looks at a kind, written KIND[.GROUP], or at a resource type.
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
