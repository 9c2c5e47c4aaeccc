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

// embedded is a text in another language, with the function that checks it.
type embedded struct {
	*fragment
	language string // equal texts in one language share one result
	check    func(name, text string) []diagnostic.Diagnostic
}

// policyDocument returns the text of a policy with its check.
func policyDocument(policy *format.Policy, held *fragment) embedded {
	if policy.Engine == engineOPA {
		inputs := rego.Inputs(policy.Type)
		return embedded{held, "rego for " + policy.Type,
			func(name, text string) []diagnostic.Diagnostic { return rego.CheckFor(name, text, inputs) }}
	}
	return embedded{held, engineKyverno, kyverno.Check}
}

// roleDocument returns a JSON document of a role on a cloud, its permissions or its boundary,
// with its check.
func roleDocument(held *fragment, cloud string) embedded {
	return embedded{held, "policy document of " + cloud,
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
		embedded
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
			c.errorf(ruleTooMany, d.place(1, 1, 0), "split the app, or write less",
				"policies and policy documents are larger than %d bytes together", maxDocumentBytes)
			break
		}
		results[key] = &result{embedded: d}
		next <- results[key]
	}
	close(next)
	var waiting sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(results)) {
		waiting.Go(func() {
			for one := range next {
				one.found = one.check("", one.text)
			}
		})
	}
	return func() {
		waiting.Wait()
		for _, d := range c.documents {
			if checked := results[d.language+"\x00"+d.text]; checked != nil {
				c.tellDocument(d, checked.found)
			}
		}
	}
}

// tellDocument reports what was found in a text, at its positions in the file.
func (c *checker) tellDocument(d embedded, found []diagnostic.Diagnostic) {
	for _, one := range found {
		c.say(one.Severity, one.Rule, d.place(one.Line, one.Column, one.Width), one.Hint, "%s", one.Message)
	}
}
