package planpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/policy/rego"
)

// maxTime bounds the evaluation of one policy on a whole plan.
const maxTime = 20 * time.Second

// Input is what policies read of a plan.
type Input struct {
	// Plan is the output of `terraform show -json`, for a component with a Terraform module.
	Plan []byte
	// Objects are the Kubernetes objects that the plan applies.
	Objects []map[string]any
	// Registry is the address of the install's registry, with the path below which its repositories are.
	Registry string
	// Redact replaces known secrets in a text.
	Redact func(string) string
}

// document is one input of a policy, the plan or one object, in two forms: messages come from shown, in which secrets
// are replaced, and exact is what the plan would apply.
type document struct {
	object       string // for messages
	shown, exact ast.Value
	differs      bool // whether the two differ
}

// Evaluate returns the results of the policies on a plan, in their order. It never fails: what it
// cannot evaluate is a result, too.
func Evaluate(ctx context.Context, policies []api.PolicySpec, in Input) []diff.PolicyResult {
	if len(policies) == 0 {
		return nil
	}
	documents, err := in.documents()
	var results []diff.PolicyResult
	evaluated := make([]evaluation, min(len(policies), diff.MaxPolicies))
	for i := range evaluated {
		e, p := &evaluated[i], policies[i]
		switch {
		case err != nil:
			e.messages = notEvaluated("the plan cannot be read: " + err.Error())
		case i == diff.MaxPolicies-1 && len(policies) > diff.MaxPolicies:
			e.messages = notEvaluated(fmt.Sprintf("the component has %d policies; at most %d are evaluated",
				len(policies), diff.MaxPolicies-1))
		case p.Engine == api.BuiltIn:
			e.messages = builtIn(p, in)
		case p.Engine != api.Opa:
			e.messages = notEvaluated("only Kyverno in the cluster evaluates this policy")
		default:
			*e = evaluate(ctx, p, documents, in.Redact)
		}
	}
	reportHidden(policies, evaluated)
	for i, e := range evaluated {
		for j := range e.messages {
			m := &e.messages[j]
			m.Text, m.Object = shorten(in.Redact(m.Text)), shorten(in.Redact(m.Object))
		}
		results = append(results, diff.NewPolicyResult(shorten(policies[i].Name), e.messages))
	}
	return results
}

func notEvaluated(why string) []diff.PolicyMessage {
	return []diff.PolicyMessage{{Status: diff.PolicyNotEvaluated, Text: why}}
}

// evaluate runs one policy on every document.
func evaluate(ctx context.Context, p api.PolicySpec, documents []document,
	redact func(string) string) (e evaluation) {
	compiler, module, err := compile(p)
	if err != nil {
		e.messages = notEvaluated(err.Error())
		return e
	}
	policy := evaluator{compiler: compiler, rules: module.Rules, redact: redact}
	limited, stop := context.WithTimeout(ctx, maxTime)
	defer stop()
	shown := make([]map[string][]diff.PolicyMessage, len(documents))
	for i, d := range documents {
		shown[i] = policy.run(limited, d.shown)
		for _, rule := range module.Rules {
			for _, m := range shown[i][rule] {
				m.Object = d.object
				e.messages = append(e.messages, m)
			}
		}
		if limited.Err() != nil {
			e.messages = append(e.messages, notEvaluated(fmt.Sprintf("the policy takes longer than %s", maxTime))...)
			return e
		}
	}
	e.opa, e.hidden = true, policy.hidden(ctx, documents, shown)
	return e
}

// compile checks a policy again, because its text comes from the control plane, and compiles it.
func compile(p api.PolicySpec) (*ast.Compiler, *rego.Module, error) {
	module, problems := rego.Read(p.Name, p.Contents, nil)
	switch {
	case module == nil:
		return nil, nil, fmt.Errorf("the policy has errors: %s", problems[0].Message)
	case module.AST == nil || len(module.Rules) == 0:
		return nil, nil, errors.New("the policy has no rules")
	}
	version := ast.RegoV1
	if module.Version == rego.V0 {
		version = ast.RegoV0
	}
	compiler := ast.NewCompiler().WithCapabilities(rego.Capabilities(module.Version)).WithDefaultRegoVersion(version)
	compiler.Compile(map[string]*ast.Module{"": module.AST})
	if compiler.Failed() {
		return nil, nil, fmt.Errorf("the policy has errors: %w", compiler.Errors)
	}
	return compiler, module, nil
}

// evaluator runs the rules of one policy.
type evaluator struct {
	compiler *ast.Compiler
	rules    []string
	redact   func(string) string
}

// run evaluates the rules deny, warn and pass on an input, and returns the messages of each.
func (e evaluator) run(ctx context.Context, input ast.Value) map[string][]diff.PolicyMessage {
	messages := map[string][]diff.PolicyMessage{}
	for _, rule := range e.rules {
		messages[rule] = e.runRule(ctx, rule, input)
	}
	return messages
}

// runRule evaluates one rule. A function that fails on a value makes its rule undefined, which looks as if the rule did
// not apply: a second, strict evaluation finds that, and reports the policy as not evaluated.
func (e evaluator) runRule(ctx context.Context, rule string, input ast.Value) []diff.PolicyMessage {
	found, err := query(ctx, e.compiler, rule, input, false)
	if err == nil {
		_, err = query(ctx, e.compiler, rule, input, true)
	}
	messages := messagesOf(diff.PolicyStatus(rule), found)
	if err != nil && ctx.Err() == nil {
		messages = append(messages, notEvaluated(rule+" could not be evaluated: "+errorText(err))...)
	}
	return messages
}

// errorText returns the message of an evaluation error without its position.
func errorText(err error) string {
	if failed := (*topdown.Error)(nil); errors.As(err, &failed) {
		return failed.Message
	}
	return err.Error()
}

// query returns the value of data.nuon.RULE, or nil if it is undefined.
func query(ctx context.Context, compiler *ast.Compiler, rule string, input ast.Value,
	strict bool) (found ast.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the evaluator failed")
		}
	}()
	cancel := topdown.NewCancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-ctx.Done():
			cancel.Cancel()
		case <-done:
		}
	}()
	const result = ast.Var("result")
	body := ast.NewBody(ast.Equality.Expr(ast.NewTerm(result), ast.RefTerm(
		ast.DefaultRootDocument, ast.StringTerm(rego.Package), ast.StringTerm(rule))))
	compiled, err := compiler.QueryCompiler().Compile(body)
	if err != nil {
		return nil, err
	}
	answers, err := topdown.NewQuery(compiled).WithCompiler(compiler).WithInput(ast.NewTerm(input)).
		WithCancel(cancel).WithStrictBuiltinErrors(strict).Run(ctx)
	if err != nil || len(answers) == 0 {
		return nil, err
	}
	return answers[0][result].Value, nil
}

// messagesOf returns the messages in the value of a rule: true, a text, an object with a text under
// msg or message, or a collection of them. Another value is a message without words, because a rule
// that has a value fired.
func messagesOf(status diff.PolicyStatus, value ast.Value) []diff.PolicyMessage {
	var messages []diff.PolicyMessage
	add := func(t *ast.Term) {
		if text, fired := textOf(t.Value); fired {
			messages = append(messages, diff.PolicyMessage{Status: status, Text: cmp.Or(text, "(without a message)")})
		}
	}
	switch value := value.(type) {
	case nil:
	case ast.Set:
		value.Foreach(add)
	case *ast.Array:
		value.Foreach(add)
	default:
		add(ast.NewTerm(value))
	}
	return messages
}

func textOf(value ast.Value) (text string, fired bool) {
	switch value := value.(type) {
	case ast.Boolean:
		return "", bool(value)
	case ast.Null:
		return "", false
	case ast.String:
		return string(value), true
	case ast.Object:
		for _, name := range []string{"msg", "message"} {
			if found := value.Get(ast.StringTerm(name)); found != nil {
				if s, ok := found.Value.(ast.String); ok {
					return string(s), true
				}
			}
		}
		return "", value.Len() > 0
	}
	return "", true
}

// shorten returns a text that fits in a report.
func shorten(text string) string {
	const more = "…"
	if len(text) <= diff.MaxPolicyText {
		return text
	}
	runes := []rune(text[:diff.MaxPolicyText-len(more)])
	if i := len(runes) - 1; i >= 0 && runes[i] == '\uFFFD' { // a character that was cut
		runes = slices.Delete(runes, i, i+1)
	}
	short := string(runes)
	for len(short) > diff.MaxPolicyText-len(more) { // invalid bytes became longer
		runes = runes[:len(runes)-1]
		short = string(runes)
	}
	return short + more
}
