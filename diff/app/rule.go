package app

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/pkg/appcode"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// Rule is one rule about what a change of a config causes. It finds at most one thing in a change.
type Rule struct {
	// Name is stable, in kebab case: ignore files and programs name it.
	Name string
	// Kinds are those of the parts that it looks at; none means all.
	Kinds []string
	// Actions are those that it looks at.
	Actions []diff.Action
	// When says in words what must hold besides; empty when there is nothing.
	When string
	// Risk is what the change then is at least.
	Risk diff.Risk
	// Security says that it is about who may do or reach what.
	Security bool
	// Words say what happens, to those who will sync the config.
	Words string

	holds func(*look) bool
	names func(*look) []string // what it is about, which follows the words; nil when there is nothing to name
}

// source is where the rules are explained: nobody else's text says what nuon does.
const source = "diff.md#configs-of-apps"

// look is what a rule sees.
type look struct {
	was, is       *readers
	change        *diff.Change
	before, after raw.Value // of the part; null where there is none
	old, now      *appconfig.Component
	effect        Effect          // of a component that is on both sides
	code          *appcode.Change // of a component that is on both sides; nil when its code is the same or is not compared
}

// changed says that one of some keys differs.
func (l *look) changed(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		was, had := l.before.Get(key)
		is, has := l.after.Get(key)
		return had != has || !was.Equal(is)
	})
}

// turns says that a flag is set that was not.
func (l *look) turns(key string) bool {
	was, _ := l.before.Get(key)
	is, _ := l.after.Get(key)
	return is.IsTrue() && !was.IsTrue()
}

// turnsOff is the other way round.
func (l *look) turnsOff(key string) bool {
	was, _ := l.before.Get(key)
	is, _ := l.after.Get(key)
	return was.IsTrue() && !is.IsTrue()
}

// Rules are all rules in the order of the documentation.
func Rules() []Rule { return slices.Clone(allRules()) }

var allRules = sync.OnceValue(func() []Rule {
	return slices.Concat(componentRules(), inputRules(), stackRules(), roleRules(), policyRules(), otherRules())
})

// ruleNamed gives one of the rules.
func ruleNamed(name string) *Rule {
	all := allRules()
	return &all[slices.IndexFunc(all, func(r Rule) bool { return r.Name == name })]
}

// judge adds what the rules find. Where none finds anything, nothing that is deployed changes.
func (b *builder) judge(c *diff.Change, p pair, code *appcode.Change) {
	l := &look{was: &b.was, is: &b.is, change: c, code: code}
	if p.before != nil {
		l.before, l.old = p.before.value, p.before.component
	}
	if p.after != nil {
		l.after, l.now = p.after.value, p.after.component
	}
	if l.old != nil && l.now != nil {
		l.effect = EffectOf(l.old, l.now)
	}
	kind := c.ResourceKind
	var findings []diff.Finding
	for i := range allRules() {
		r := &allRules()[i]
		fits := (len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind)) && slices.Contains(r.Actions, c.Action)
		if !fits || r.Name == nothingDeployed && len(findings) > 0 || r.holds != nil && !r.holds(l) {
			continue
		}
		var names []string
		if r.names != nil {
			for _, name := range r.names(l) {
				names = append(names, nameOf(b.masker, name))
			}
		}
		findings = append(findings, r.finding(names))
	}
	c.Judge(findings...)
}

// maxNames is how many names one finding has.
const maxNames = 8

func (r *Rule) finding(names []string) diff.Finding {
	words := r.Words
	if n := len(names) - maxNames; n > 0 {
		names = append(slices.Clone(names[:maxNames]), fmt.Sprintf("%d more", n))
	}
	if len(names) > 0 {
		words += ": " + strings.Join(names, ", ")
	}
	return diff.Finding{Rule: r.Name, Source: source, Risk: r.Risk, Security: r.Security, Words: words}
}

// Table writes the rules as a table in Markdown, for the documentation.
func Table(w io.Writer) error {
	var b strings.Builder
	b.WriteString("### Configs of apps\n\n| rule | for | risk | what it says |\n|---|---|---|---|\n")
	for _, r := range allRules() {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s | %s |\n", r.Name, source, r.scope(), r.grade(), r.Words)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// scope says in words which changes a rule looks at.
func (r *Rule) scope() string {
	words := "everything"
	if len(r.Kinds) > 0 {
		words = "`" + strings.Join(r.Kinds, "`, `") + "`"
	}
	if r.When != "" {
		words += ", when " + r.When
	}
	return words
}

func (r *Rule) grade() string {
	words := r.Risk.Words()
	if r.Security {
		words += ", security"
	}
	return words
}
