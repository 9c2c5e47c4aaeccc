package appconfig

import (
	"runtime"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	policydocument "github.com/nuon-toolkit/nuon/pkg/policy/document"
	"github.com/nuon-toolkit/nuon/pkg/policy/kyverno"
	"github.com/nuon-toolkit/nuon/pkg/policy/rego"
)

// embeddedDocument is a text in another language, with the function that checks it.
type embeddedDocument struct {
	*fragment
	language string // equal texts in one language share one result
	check    func(name, text string) []diagnostic.Diagnostic
}

// policyDocument returns the text of a policy with its check.
func policyDocument(policy *format.Policy, text *fragment) embeddedDocument {
	if policy.Engine == engineOPA {
		inputs := rego.Inputs(policy.Type)
		return embeddedDocument{text, "rego for " + policy.Type,
			func(name, text string) []diagnostic.Diagnostic { return rego.CheckFor(name, text, inputs) }}
	}
	return embeddedDocument{text, engineKyverno, kyverno.Check}
}

// roleDocument returns a JSON document of a role on a cloud, its permissions or its boundary,
// with its check.
func roleDocument(text *fragment, cloud string) embeddedDocument {
	return embeddedDocument{text, "policy document of " + cloud,
		func(name, text string) []diagnostic.Diagnostic { return policydocument.CheckFor(name, text, cloud) }}
}

// maxDocumentBytes bounds the total size of policies and policy documents: checking a megabyte
// takes up to a second or two.
const maxDocumentBytes = 4 << 20

// startDocuments starts to check all policies and policy documents, equal texts once, in parallel
// to the other checks, because they take longest. finish waits for the results and reports them;
// the caller must call it.
func (c *checker) startDocuments() (finish func()) {
	type result struct {
		embeddedDocument
		found []diagnostic.Diagnostic
	}
	results := map[string]*result{}
	next := make(chan *result, len(c.documents))
	size := 0
	for _, d := range c.documents {
		key := d.language + "\x00" + d.text
		if results[key] != nil {
			continue
		}
		if size += len(d.text); size > maxDocumentBytes {
			c.errorf(ruleTooMany, d.position(1, 1, 0), "split the app, or write less",
				"policies and policy documents are larger than %d bytes together", maxDocumentBytes)
			break
		}
		results[key] = &result{embeddedDocument: d}
		next <- results[key]
	}
	close(next)
	var waiting sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(results)) {
		waiting.Go(func() {
			for r := range next {
				r.found = r.check("", r.text)
			}
		})
	}
	return func() {
		waiting.Wait()
		for _, d := range c.documents {
			if checked := results[d.language+"\x00"+d.text]; checked != nil {
				c.reportDocument(d, checked.found)
			}
		}
	}
}

// reportDocument reports what was found in a text, at its positions in the file.
func (c *checker) reportDocument(d embeddedDocument, found []diagnostic.Diagnostic) {
	for _, problem := range found {
		c.report(problem.Severity, problem.Rule, d.position(problem.Line, problem.Column, problem.Width), problem.Hint, "%s",
			problem.Message)
	}
}
