package rego

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// The language versions that a policy may be written in.
const (
	V1 = "v1" // if and contains are keywords
	V0 = "v0" // the language before OPA 1.0
)

// Package is the package whose rules are evaluated.
const Package = "nuon"

// Module describes what a policy declares.
type Module struct {
	Version string      // V1 or V0
	Rules   []string    // those of deny, warn and pass that it has, in this order
	Inputs  []Input     // what it reads below input, without duplicates, in the order of the text
	AST     *ast.Module // nil if the policy contains only comments
}

// Input is a value that a policy reads.
type Input struct {
	Root         string // the first name below input, "plan" of input.plan.x; empty if computed at run time
	Line, Column int
}

// Check returns all problems of a policy that can be found without running it. name becomes the
// File of the diagnostics; the result is nil if the policy can be used.
func Check(name, text string) []diagnostic.Diagnostic { return CheckFor(name, text, nil) }

// CheckFor is Check for a policy to which only these names below input are visible (see Inputs). A
// read of another name is a warning, because the name never exists. Nil means that the visible
// names are unknown.
func CheckFor(name, text string, inputs []string) []diagnostic.Diagnostic {
	_, found := Read(name, text, inputs)
	return found
}

// Read is CheckFor, and also returns what the policy declares, or nil if it has errors.
func Read(name, text string, inputs []string) (*Module, []diagnostic.Diagnostic) {
	t, ok := source.New(name, text)
	if !ok {
		return nil, t.Diagnostics()
	}
	p := &policy{Text: t}
	steps := []func(){p.checkEmpty, p.checkDepth, p.parse, p.checkPackage, p.checkCost, p.checkCalls,
		p.compile, p.checkRules}
	for _, step := range steps {
		if p.recoverPanics(step); p.halted {
			break
		}
	}
	if t.Failed() {
		return nil, t.Diagnostics()
	}
	if p.module.AST != nil {
		p.readInputs(inputs)
	}
	return &p.module, t.Diagnostics()
}

// policy is a policy that is being checked.
type policy struct {
	*source.Text
	module   Module
	compiler *ast.Compiler
	halted   bool // further checks would be unreliable
}

func (p *policy) halt() { p.halted = true }

// recoverPanics runs a step, and reports an error if the language's parser or compiler panics.
func (p *policy) recoverPanics(step func()) {
	defer func() {
		if recover() != nil {
			p.Error(0, 0, "rego-syntax",
				"the policy cannot be read: its form is one that the reader did not expect", "write it more simply")
			p.halt()
		}
	}()
	step()
}

// checkEmpty accepts a policy that contains only comments, because people store such files for
// later, but reports it.
func (p *policy) checkEmpty() {
	const hint = "write `package " + Package + "` and a rule such as `deny contains msg if { … }`"
	text := strings.TrimPrefix(p.Bytes, "\uFEFF")
	if strings.TrimSpace(text) == "" {
		p.Error(0, 0, "rego-empty", "the policy is empty", hint)
		p.halt()
		return
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return
		}
	}
	p.module.Version = V1
	p.Warning(0, 0, "rego-empty", "the policy has nothing but comments, so it never says anything", hint)
	p.halt()
}

// parse parses the text as v1 and, if that fails, as v0, the older version.
func (p *policy) parse() {
	module, err := parseAs(p.Bytes, ast.RegoV1)
	p.module.Version = V1
	if err != nil {
		if old, failed := parseAs(p.Bytes, ast.RegoV0); failed == nil {
			module, p.module.Version = old, V0
		} else {
			p.reportAll("rego-syntax", err)
			p.halt()
			return
		}
	}
	p.module.AST = module
	if p.module.Version == V0 {
		p.warnOfOldVersion()
	}
}

func parseAs(text string, version ast.RegoVersion) (*ast.Module, error) {
	return ast.ParseModuleWithOpts("",
		text, ast.ParserOptions{RegoVersion: version, Capabilities: capabilities(version)})
}

// warnOfOldVersion reports which keywords would make a v0 policy a v1 policy, at the first rule
// that lacks one.
func (p *policy) warnOfOldVersion() {
	for _, rule := range p.module.AST.Rules {
		if errs := ast.CheckRegoV1(rule); len(errs) > 0 {
			p.warnOldKeyword(rule.Location)
			return
		}
	}
	p.warnOldKeyword(p.module.AST.Package.Location)
}

func (p *policy) warnOldKeyword(where *ast.Location) {
	p.Warning(offset(where), width(where), "rego-v0", "the policy is in the language as it was before OPA 1.0 (v0)",
		"write `deny contains msg if { … }` for `deny[msg] { … }` and `name if { … }` for `name { … }`")
}

func (p *policy) checkPackage() {
	pkg := p.module.AST.Package
	if got := packageName(pkg); got != Package {
		p.Error(offset(pkg.Location), width(pkg.Location), "rego-package",
			fmt.Sprintf("no rules in package %s: the policy is in package %s, which is not read", Package, got),
			"write `package "+Package+"`")
	}
}

// packageName returns the package name as it is written after the keyword.
func packageName(pkg *ast.Package) string {
	return strings.TrimPrefix(pkg.Path.String(), "data.")
}

func (p *policy) compile() {
	p.compiler = ast.NewCompiler().WithCapabilities(capabilities(ast.RegoV1))
	if p.module.Version == V0 {
		p.compiler = ast.NewCompiler().WithCapabilities(capabilities(ast.RegoV0)).WithDefaultRegoVersion(ast.RegoV0)
	}
	p.compiler.Compile(map[string]*ast.Module{"": p.module.AST})
	if !p.compiler.Failed() {
		return
	}
	p.reportAll("rego-compile", p.compiler.Errors)
	p.halt()
}

// reportAll reports the errors of the parser or the compiler, with clearer messages where
// available.
func (p *policy) reportAll(rule string, err error) {
	var all ast.Errors
	if parseErr := (*ast.Error)(nil); errors.As(err, &parseErr) {
		all = ast.Errors{parseErr}
	} else if !errors.As(err, &all) {
		p.Error(0, 0, rule, "the policy cannot be read", "write it more simply")
		return
	}
	for _, e := range all {
		if isForbiddenCall(e) || e.Message == "error limit reached" && len(all) > 1 { // already reported
			continue
		}
		message, hint := explain(e)
		p.Error(offset(e.Location), width(e.Location), rule, message, hint)
	}
}

// offset returns the start of a location, in bytes from the start of the text.
func offset(l *ast.Location) int {
	if l == nil {
		return 0
	}
	return l.Offset
}

// width returns the length of the first line of the location.
func width(l *ast.Location) int {
	if l == nil {
		return 0
	}
	first, _, _ := strings.Cut(string(l.Text), "\n")
	return len(strings.TrimRight(first, " \t\r"))
}
