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

// Rule is one rule about the consequences of a config change. It has at most one finding per change.
type Rule struct {
	// Name is stable and in kebab case: ignore files and programs refer to it.
	Name string
	// Kinds lists the kinds of parts that the rule judges; none means all.
	Kinds []string
	// Actions lists the actions that the rule judges.
	Actions []diff.Action
	// When describes any further condition; empty means none.
	When string
	// Risk is the minimum risk of a change with this finding.
	Risk diff.Risk
	// Security marks a rule about who may do or reach what.
	Security bool
	// Message describes the consequence to the person who will sync the config.
	Message string

	matches func(*changeView) bool
	names   func(*changeView) []string // names that follow the message; nil if the rule has none
}

// source is the page that explains the rules. They describe nuon, so no other text defines them.
const source = "diff.md#configs-of-apps"

// changeView is the view of a change that rules get.
type changeView struct {
	configBefore, configAfter       *readers
	change                          *diff.Change
	before, after                   raw.Value // the part; null on a side without it
	componentBefore, componentAfter *appconfig.Component
	effect                          Effect // for a component on both sides
	// for a component on both sides; nil if its code is equal or not compared
	code *appcode.Change
}

// changed reports whether one of the keys differs.
func (v *changeView) changed(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		was, had := v.before.Get(key)
		is, has := v.after.Get(key)
		return had != has || !was.Equal(is)
	})
}

// turnsOn reports whether a boolean becomes true.
func (v *changeView) turnsOn(key string) bool {
	was, _ := v.before.Get(key)
	is, _ := v.after.Get(key)
	return is.IsTrue() && !was.IsTrue()
}

// turnsOff reports whether a boolean is no longer true.
func (v *changeView) turnsOff(key string) bool {
	was, _ := v.before.Get(key)
	is, _ := v.after.Get(key)
	return was.IsTrue() && !is.IsTrue()
}

// Rules returns all rules in the order of the documentation.
func Rules() []Rule { return slices.Clone(allRules()) }

var allRules = sync.OnceValue(func() []Rule {
	return slices.Concat(componentRules(), inputRules(), stackRules(), roleRules(), policyRules(), otherRules())
})

// ruleNamed returns the rule with a name, which must exist.
func ruleNamed(name string) *Rule {
	all := allRules()
	return &all[slices.IndexFunc(all, func(r Rule) bool { return r.Name == name })]
}

// judge adds the findings of the rules. The rule nothing-deployed applies if no other rule has a
// finding.
func (b *builder) judge(c *diff.Change, p pair, code *appcode.Change) {
	v := &changeView{configBefore: &b.before, configAfter: &b.after, change: c, code: code}
	if p.before != nil {
		v.before, v.componentBefore = p.before.value, p.before.component
	}
	if p.after != nil {
		v.after, v.componentAfter = p.after.value, p.after.component
	}
	if v.componentBefore != nil && v.componentAfter != nil {
		v.effect = EffectOf(v.componentBefore, v.componentAfter)
	}
	kind := c.ResourceKind
	var findings []diff.Finding
	for i := range allRules() {
		r := &allRules()[i]
		fits := (len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind)) && slices.Contains(r.Actions, c.Action)
		if !fits || r.Name == nothingDeployed && len(findings) > 0 || r.matches != nil && !r.matches(v) {
			continue
		}
		var names []string
		if r.names != nil {
			for _, name := range r.names(v) {
				names = append(names, nameOf(b.masker, name))
			}
		}
		findings = append(findings, r.finding(names))
	}
	c.AddFindings(findings...)
}

// maxNames bounds the names in one finding.
const maxNames = 8

func (r *Rule) finding(names []string) diff.Finding {
	words := r.Message
	if n := len(names) - maxNames; n > 0 {
		names = append(slices.Clone(names[:maxNames]), fmt.Sprintf("%d more", n))
	}
	if len(names) > 0 {
		words += ": " + strings.Join(names, ", ")
	}
	return diff.Finding{Rule: r.Name, Source: source, Risk: r.Risk, Security: r.Security, Message: words}
}

// Table writes the rules as a table in Markdown, for the documentation.
func Table(w io.Writer) error {
	var b strings.Builder
	b.WriteString("### Configs of apps\n\n| rule | for | risk | message |\n|---|---|---|---|\n")
	for _, r := range allRules() {
		fmt.Fprintf(&b, "| [`%s`](%s) | %s | %s | %s |\n", r.Name, source, r.scope(), r.grade(), r.Message)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// scope describes which changes a rule judges.
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
	words := r.Risk.Label()
	if r.Security {
		words += ", security"
	}
	return words
}
