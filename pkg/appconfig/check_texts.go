package appconfig

import (
	"cmp"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// stage is when a text is rendered. It determines which paths have a value: section 3.3 of the
// format.
type stage int

const (
	atDeploy  stage = iota // of a component
	atSandbox              // before all components
	atRun                  // of an action or a runbook, or when the role of an operation is chosen
	atStack                // before the sandbox: the customer's stack, with roles and secrets
	atNested               // a parameter of a nested stack, which can read even fewer paths
	atRunner               // settings of the runner
	inProse                // shown to people; if it cannot be resolved, it is shown as written
)

// text is one value that is rendered.
type text struct {
	fragment
	stage stage
	name  string // the component that has the text, or SandboxName; else empty
	idle  bool   // the owner has no effect yet, so missing values are not reported

	template *render.Template // nil if it reads nothing or does not parse
	refused  error
}

// readTexts collects every text that is rendered.
func (c *checker) readTexts() {
	if c.metadata != nil {
		c.addTexts(inProse, "", true, entryTexts(c, c.metadata, "metadata"))
	}
	if c.sandbox != nil {
		c.addTexts(atSandbox, SandboxName, c.sandbox.value.Type == "pulumi", entryTexts(c, c.sandbox, SandboxName))
	}
	if c.runner != nil {
		c.addTexts(atRunner, "", true, entryTexts(c, c.runner, "runner"))
	}
	if c.stack != nil {
		c.addTexts(atStack, "", true, entryTexts(c, c.stack, "stack"))
	}
	for _, one := range c.components {
		c.tellUnrendered(fragments("component "+one.Name, one.table, one.keys, one.kind(), one.texts, unrendered))
		found := fragments("component "+one.Name, one.table, one.keys, one.kind(), one.texts, templated)
		c.addTexts(atDeploy, one.Name, !one.deployable(), found)
	}
	for _, one := range c.actions {
		c.addTexts(atRun, "", false, entryTexts(c, one, "action "+one.value.Name))
	}
	for _, one := range c.roles {
		c.addTexts(atStack, "", true, entryTexts(c, one, "role"))
	}
	for _, one := range c.breakGlass {
		c.addTexts(atStack, "", true, entryTexts(c, one, "break-glass role"))
	}
	for _, one := range c.secrets {
		c.addTexts(atStack, "", true, entryTexts(c, one, "secret "+one.value.Name))
	}
	for _, one := range c.policies {
		c.addTexts(atRun, "", true, entryTexts(c, one, "policy"))
	}
	for _, one := range c.runbooks {
		c.addTexts(atRun, "", true, entryTexts(c, one, "runbook "+one.value.Name))
	}
	if c.operationRoles != nil {
		c.addTexts(atRun, "", true, entryTexts(c, c.operationRoles, "operation roles"))
	}
	c.parseTexts()
}

func entryTexts[T any](c *checker, e *entry[T], owner string) []fragment {
	c.tellUnrendered(fragments(owner, e.table, e.keys, &e.value, e.texts, unrendered))
	return fragments(owner, e.table, e.keys, &e.value, e.texts, templated)
}

func (c *checker) addTexts(stage stage, name string, idle bool, found []fragment) {
	for _, f := range found {
		t := &text{fragment: f, stage: stage, name: name, idle: idle}
		switch {
		case f.key.Name == "readme":
			t.stage = inProse
		case f.key.Path == "custom_nested_stacks.parameters":
			t.stage = atNested
		}
		if strings.Contains(f.text, ".nuon") || strings.Contains(f.text, "nuon.") {
			c.texts = append(c.texts, t)
		}
	}
}

// parseTexts parses the texts that read something, equal ones once, on all processors.
func (c *checker) parseTexts() {
	const worth = 16 // the number of texts that justifies another processor
	equal := make(map[string][]*text, len(c.texts))
	var distinct []string
	for _, t := range c.texts {
		if strings.Contains(t.text, ".nuon") {
			if equal[t.text] == nil {
				distinct = append(distinct, t.text)
			}
			equal[t.text] = append(equal[t.text], t)
		}
	}
	var next atomic.Int64
	var waiting sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(distinct)+worth-1)/worth) {
		waiting.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(distinct); i = int(next.Add(1)) - 1 {
				parseEqual(equal[distinct[i]])
			}
		})
	}
	waiting.Wait()
}

// parseEqual parses equal texts. They share one template, but an error names each text's own path.
func parseEqual(texts []*text) {
	for _, t := range texts {
		if t.template = texts[0].template; t.template == nil {
			t.template, t.refused = render.Parse(t.path, t.text)
		}
	}
}

// unrendered selects the text keys that nothing renders.
func unrendered(k *format.Key) bool {
	return !k.Template && !k.File && (k.Type == format.String || k.Type == format.Map || k.Type == format.Strings)
}

// tellUnrendered warns about expressions in texts that nothing renders.
func (c *checker) tellUnrendered(found []fragment) {
	for _, f := range found {
		if at := strings.Index(f.text, "{{"); at >= 0 && strings.Contains(f.text[at:], ".nuon") {
			line := 1 + strings.Count(f.text[:at], "\n")
			c.warnf(ruleUnrendered, f.place(line, at-strings.LastIndexByte(f.text[:at], '\n'), 2), "write it out",
				"%s is not rendered, so that {{ }} stays as it is written", f.path)
		}
	}
}

// checkTexts reports invalid templates and invalid paths that they read.
func (c *checker) checkTexts() {
	for _, t := range c.texts {
		switch {
		case c.full():
			return
		case t.refused != nil:
			c.badTemplate(t)
		case t.template != nil:
			for _, use := range t.template.Uses() {
				if c.full() {
					return
				}
				c.tellUse(t, use)
			}
		default:
			c.tellUndotted(t)
		}
	}
	c.tellIdle()
}

// badTemplate reports a text that does not parse. A text for people is shown as written, so there
// it is a warning.
func (c *checker) badTemplate(t *text) {
	at, message, hint := t.place(1, 1, 0), t.refused.Error(), ""
	var refused *render.Error
	if errors.As(t.refused, &refused) {
		at, message, hint = t.place(refused.Line, refused.Column, refused.Width), refused.Message, refused.Hint
	}
	c.say(t.severity(false), ruleTemplateSyntax, at, hint, "%s: %s", t.path, message)
}

// severity returns the severity of a problem in the text.
func (t *text) severity(warns bool) diagnostic.Severity {
	if warns || t.stage == inProse {
		return diagnostic.Warning
	}
	return diagnostic.Error
}

// tellUse reports a problem with one use, or notes that it reads a path without a value yet.
func (c *checker) tellUse(t *text, use render.Use) {
	at := t.place(use.Line, use.Column, use.Width)
	if found := c.checkUse(t, use.Path); found != nil {
		c.say(t.severity(found.warns), found.rule, at, found.hint, "%s: %s", t.path, found.message)
		return
	}
	if t.idle || t.stage == inProse {
		return
	}
	if what := c.withoutValue(use.Path); what != "" {
		c.noteIdle(at, what)
	}
}

// withoutValue returns what a path reads if that has no value yet, only because what provides it
// has no effect yet.
func (c *checker) withoutValue(ref render.Path) string {
	if slices.Contains(rootsWithoutValues, ref[0]) {
		return ".nuon." + ref[0]
	}
	if ref[0] == "components" && len(ref) > 1 {
		if one := c.names.readable[ref[1]]; one != nil && !one.deployable() {
			return "component " + one.Name
		}
	}
	return ""
}

// noteIdle records something without a value that a file reads, with its first position.
func (c *checker) noteIdle(at syntax.Position, what string) {
	if c.without == nil {
		c.without = map[string]map[string]syntax.Position{}
	}
	if c.without[at.File] == nil {
		c.without[at.File] = map[string]syntax.Position{}
	}
	if _, noted := c.without[at.File][what]; !noted {
		c.without[at.File][what] = at
	}
}

// tellIdle reports the records of noteIdle, one warning per file.
func (c *checker) tellIdle() {
	for _, idle := range c.without {
		names := slices.Sorted(maps.Keys(idle))
		first := slices.SortedFunc(maps.Values(idle), func(a, b syntax.Position) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})[0]
		c.warnf(ruleIdle, first, "", withoutWords+"%s", strings.Join(names, ", "))
	}
}

// tellUndotted warns about expressions without the leading dot, in a text that nothing else
// renders.
func (c *checker) tellUndotted(t *text) {
	for _, use := range render.MissingDots(t.text) {
		c.warnf(ruleUndotted, t.place(use.Line, use.Column, use.Width), "write {{."+use.Written+"}}",
			"%s: %s has no leading dot, so it stays as it is written", t.path, use.Written)
	}
}
