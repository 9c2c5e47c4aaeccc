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
	stageDeploy      stage = iota // of a component
	stageSandbox                  // before all components
	stageRun                      // of an action or a runbook, or when the role of an operation is chosen
	stageStack                    // before the sandbox: the customer's stack, with roles and secrets
	stageNestedStack              // a parameter of a nested stack, which can read even fewer paths
	stageRunner                   // settings of the runner
	stageProse                    // shown to people; if it cannot be resolved, it is shown as written
)

// renderedText is one value that is rendered.
type renderedText struct {
	fragment
	stage       stage
	name        string // the component that has the text, or SandboxName; else empty
	noEffectYet bool   // the owner has no effect yet, so missing values are not reported

	template *render.Template // nil if it reads nothing or does not parse
	err      error
}

// readTexts collects every text that is rendered.
func (c *checker) readTexts() {
	if c.metadata != nil {
		c.addTexts(stageProse, "", true, entryTexts(c, c.metadata, "metadata"))
	}
	if c.sandbox != nil {
		c.addTexts(stageSandbox, SandboxName, c.sandbox.value.Type == "pulumi", entryTexts(c, c.sandbox, SandboxName))
	}
	if c.runner != nil {
		c.addTexts(stageRunner, "", true, entryTexts(c, c.runner, "runner"))
	}
	if c.stack != nil {
		c.addTexts(stageStack, "", true, entryTexts(c, c.stack, "stack"))
	}
	for _, e := range c.components {
		c.reportUnrendered(fragments("component "+e.Name, e.table, e.keys, e.kind(), e.texts, unrendered))
		found := fragments("component "+e.Name, e.table, e.keys, e.kind(), e.texts, templated)
		c.addTexts(stageDeploy, e.Name, !e.deployable(), found)
	}
	for _, e := range c.installs {
		for comp, f := range c.overridesIn(e) {
			c.addTexts(stageDeploy, comp.Name, false, []fragment{f})
		}
	}
	for _, e := range c.actions {
		c.addTexts(stageRun, "", false, entryTexts(c, e, "action "+e.value.Name))
	}
	for _, e := range c.roles {
		c.addTexts(stageStack, "", true, entryTexts(c, e, "role"))
	}
	for _, e := range c.breakGlass {
		c.addTexts(stageStack, "", true, entryTexts(c, e, "break-glass role"))
	}
	for _, e := range c.secrets {
		c.addTexts(stageStack, "", false, entryTexts(c, e, "secret "+e.value.Name))
	}
	for _, e := range c.policies {
		if isClusterPolicy(&e.value) {
			c.addTexts(stageSandbox, SandboxName, false, entryTexts(c, e, "policy"))
			continue
		}
		c.addTexts(stageRun, "", true, entryTexts(c, e, "policy"))
	}
	for _, e := range c.runbooks {
		c.addTexts(stageRun, "", true, entryTexts(c, e, "runbook "+e.value.Name))
	}
	if c.operationRoles != nil {
		c.addTexts(stageRun, "", true, entryTexts(c, c.operationRoles, "operation roles"))
	}
	c.parseTexts()
}

func entryTexts[T any](c *checker, e *entry[T], owner string) []fragment {
	c.reportUnrendered(fragments(owner, e.table, e.keys, &e.value, e.texts, unrendered))
	return fragments(owner, e.table, e.keys, &e.value, e.texts, templated)
}

func (c *checker) addTexts(stage stage, name string, noEffectYet bool, found []fragment) {
	for _, f := range found {
		t := &renderedText{fragment: f, stage: stage, name: name, noEffectYet: noEffectYet}
		switch {
		case f.key == nil: // of an override, which is no key of the format
		case f.key.Name == "address" && strings.HasPrefix(f.owner, "secret "):
			t.stage = stageRun
		case f.key.Name == "readme":
			t.stage = stageProse
		case f.key.Path == "custom_nested_stacks.parameters":
			t.stage = stageNestedStack
		}
		if strings.Contains(f.text, ".nuon") || strings.Contains(f.text, "nuon.") {
			c.texts = append(c.texts, t)
		}
	}
}

// parseTexts parses the texts that read something, equal ones once, on all processors.
func (c *checker) parseTexts() {
	const worth = 16 // the number of texts that justifies another processor
	equal := make(map[string][]*renderedText, len(c.texts))
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
func parseEqual(texts []*renderedText) {
	for _, t := range texts {
		if t.template = texts[0].template; t.template == nil {
			t.template, t.err = render.Parse(t.path, t.text)
		}
	}
}

// unrendered selects the text keys that nothing renders.
func unrendered(k *format.Key) bool {
	return !k.Template && !k.File && (k.Type == format.String || k.Type == format.Map || k.Type == format.Strings)
}

// reportUnrendered warns about expressions in texts that nothing renders.
func (c *checker) reportUnrendered(found []fragment) {
	for _, f := range found {
		if at := strings.Index(f.text, "{{"); at >= 0 && strings.Contains(f.text[at:], ".nuon") {
			line := 1 + strings.Count(f.text[:at], "\n")
			c.warnf(ruleUnrendered, f.position(line, at-strings.LastIndexByte(f.text[:at], '\n'), 2), "write it out",
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
		case t.err != nil:
			c.reportTemplate(t)
		case t.template != nil:
			for _, use := range t.template.Uses() {
				if c.full() {
					return
				}
				c.reportUse(t, use)
			}
		default:
			c.reportMissingDots(t)
		}
	}
	c.reportNoValueYet()
}

// reportTemplate reports a text that does not parse. A text for people is shown as written, so there
// it is a warning.
func (c *checker) reportTemplate(t *renderedText) {
	at, message, hint := t.position(1, 1, 0), t.err.Error(), ""
	var templateErr *render.Error
	if errors.As(t.err, &templateErr) {
		at, message, hint = t.position(templateErr.Line, templateErr.Column, templateErr.Width), templateErr.Message,
			templateErr.Hint
	}
	c.report(t.severity(false), ruleTemplateSyntax, at, hint, "%s: %s", t.path, message)
}

// severity returns the severity of a problem in the text.
func (t *renderedText) severity(warns bool) diagnostic.Severity {
	if warns || t.stage == stageProse {
		return diagnostic.Warning
	}
	return diagnostic.Error
}

// reportUse reports a problem with one use, or notes that it reads a path without a value yet.
func (c *checker) reportUse(t *renderedText, use render.Use) {
	at := t.position(use.Line, use.Column, use.Width)
	if found := c.checkUse(t, use.Path); found != nil {
		c.report(t.severity(found.warns), found.rule, at, found.hint, "%s: %s", t.path, found.message)
		return
	}
	if t.noEffectYet || t.stage == stageProse {
		return
	}
	if what := c.noValueReason(use.Path); what != "" {
		c.noteNoValueYet(at, what)
	}
}

// noValueReason returns what a path reads if that has no value yet, only because what provides it
// has no effect yet.
func (c *checker) noValueReason(ref render.Path) string {
	if !slices.ContainsFunc(PathsOf(ref), TemplatePath.filled) {
		if !slices.ContainsFunc(pathsByRoot()[ref[0]], TemplatePath.filled) {
			return ".nuon." + ref[0]
		}
		return ".nuon." + ref.String()
	}
	if ref[0] == "components" && len(ref) > 1 {
		if comp := c.names.readable[ref[1]]; comp != nil && !comp.deployable() {
			return "component " + comp.Name
		}
	}
	return ""
}

// noteNoValueYet records something without a value that a file reads, with its first position.
func (c *checker) noteNoValueYet(at syntax.Position, what string) {
	if c.noValueYet == nil {
		c.noValueYet = map[string]map[string]syntax.Position{}
	}
	if c.noValueYet[at.File] == nil {
		c.noValueYet[at.File] = map[string]syntax.Position{}
	}
	if _, noted := c.noValueYet[at.File][what]; !noted {
		c.noValueYet[at.File][what] = at
	}
}

// reportNoValueYet reports the records of noteNoValueYet, one warning per file.
func (c *checker) reportNoValueYet() {
	for _, idle := range c.noValueYet {
		names := slices.Sorted(maps.Keys(idle))
		first := slices.SortedFunc(maps.Values(idle), func(a, b syntax.Position) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})[0]
		c.warnf(ruleNoEffectYet, first, "", noValueYetPrefix+"%s", strings.Join(names, ", "))
	}
}

// reportMissingDots warns about expressions without the leading dot, in a text that nothing else
// renders.
func (c *checker) reportMissingDots(t *renderedText) {
	for _, use := range render.MissingDots(t.text) {
		c.warnf(ruleUndotted, t.position(use.Line, use.Column, use.Width), "write {{."+use.Written+"}}",
			"%s: %s has no leading dot, so it stays as it is written", t.path, use.Written)
	}
}
