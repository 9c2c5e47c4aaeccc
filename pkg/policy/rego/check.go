package rego

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// The languages that a policy may be written in.
const (
	V1 = "v1" // if and contains are keywords
	V0 = "v0" // what was written before OPA 1.0
)

// Package is the package whose rules are read.
const Package = "nuon"

// Module is what a policy declares.
type Module struct {
	Version string      // V1 or V0
	Rules   []string    // those of deny, warn and pass that it has, in this order
	Inputs  []Input     // what it reads below input, each once, in the order of the text
	AST     *ast.Module // nil if the policy has nothing but comments
}

// Input is something that a policy reads.
type Input struct {
	Root         string // the first name below input, "plan" of input.plan.x; empty if it is worked out when the policy runs
	Line, Column int
}

// Check gives all that can be told about a policy without running it. File is name; nil means that the policy can be used.
func Check(name, text string) []diagnostic.Diagnostic { return CheckFor(name, text, nil) }

// CheckFor is Check for a policy that sees only these names below input (Inputs gives them); reading another one is a warning, as
// it is never there. Nil means that it is not known what the policy sees.
func CheckFor(name, text string, inputs []string) []diagnostic.Diagnostic {
	_, found := Read(name, text, inputs)
	return found
}

// Read is CheckFor that also gives what the policy declares; nil if it has errors.
func Read(name, text string, inputs []string) (*Module, []diagnostic.Diagnostic) {
	t, ok := source.New(name, text)
	if !ok {
		return nil, t.Diagnostics()
	}
	p := &policy{Text: t}
	steps := []func(){p.checkEmpty, p.checkDepth, p.parse, p.checkPackage, p.checkCost, p.checkCalls, p.compile, p.checkRules}
	for _, step := range steps {
		if p.guard(step); p.halted {
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

// policy is a policy while it is checked.
type policy struct {
	*source.Text
	module   Module
	compiler *ast.Compiler
	halted   bool // nothing that follows could be told for sure
}

func (p *policy) halt() { p.halted = true }

// guard keeps a mistake of the language's own parser or compiler from ending the program.
func (p *policy) guard(step func()) {
	defer func() {
		if recover() != nil {
			p.Error(0, 0, "rego-syntax", "the policy cannot be read: its form is one that the reader did not expect", "write it more simply")
			p.halt()
		}
	}()
	step()
}

// checkEmpty lets a policy of nothing but comments pass, as people keep such files for later, but says so.
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

// parse reads the text as v1, and if that fails as v0, which is what people wrote before.
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
	return ast.ParseModuleWithOpts("", text, ast.ParserOptions{RegoVersion: version, Capabilities: capabilities(version)})
}

// warnOfOldVersion says which keywords would make a v0 policy a v1 policy, at the first rule that lacks one.
func (p *policy) warnOfOldVersion() {
	for _, rule := range p.module.AST.Rules {
		if errs := ast.CheckRegoV1(rule); len(errs) > 0 {
			p.warnOld(rule.Location)
			return
		}
	}
	p.warnOld(p.module.AST.Package.Location)
}

func (p *policy) warnOld(where *ast.Location) {
	p.Warning(offset(where), width(where), "rego-v0", "the policy is in the language as it was before OPA 1.0 (v0)",
		"write `deny contains msg if { … }` for `deny[msg] { … }` and `name if { … }` for `name { … }`")
}

func (p *policy) checkPackage() {
	pkg := p.module.AST.Package
	if got := packageName(pkg); got != Package {
		p.Error(offset(pkg.Location), width(pkg.Location), "rego-package", fmt.Sprintf("no rules in package %s: the policy is in package %s, which is not read", Package, got),
			"write `package "+Package+"`")
	}
}

// packageName gives the name as it is written after the keyword.
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

// reportAll reports what the parser or the compiler said, in our words where we know better ones.
func (p *policy) reportAll(rule string, err error) {
	var all ast.Errors
	if one := (*ast.Error)(nil); errors.As(err, &one) {
		all = ast.Errors{one}
	} else if !errors.As(err, &all) {
		p.Error(0, 0, rule, "the policy cannot be read", "write it more simply")
		return
	}
	for _, e := range all {
		if forbiddenCall(e) || e.Message == "error limit reached" && len(all) > 1 { // said already
			continue
		}
		message, hint := explain(e)
		p.Error(offset(e.Location), width(e.Location), rule, message, hint)
	}
}

// offset is where a location begins, in bytes from the start of the text.
func offset(l *ast.Location) int {
	if l == nil {
		return 0
	}
	return l.Offset
}

// width is how much of the location's first line is meant.
func width(l *ast.Location) int {
	if l == nil {
		return 0
	}
	first, _, _ := strings.Cut(string(l.Text), "\n")
	return len(strings.TrimRight(first, " \t\r"))
}
