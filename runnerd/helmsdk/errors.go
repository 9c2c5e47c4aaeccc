package helmsdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
)

var (
	// templateLocation matches the location of an error in the engine's messages:
	// "chart/templates/x.yaml:3:14".
	templateLocation = lazyregexp.New(`\(?([^\s():"]+/templates/[^\s():"]+):(\d+)(?::\d+)?\)?:?\s*`)
	// tplText matches the full text passed to the function tpl, including the values in it.
	tplText = lazyregexp.New(`(cannot parse template|error during tpl function execution for) "(?:[^"\\]|\\.)*"`)
	// engineWords matches prefixes that add nothing to the location.
	engineWords = lazyregexp.New(`^(?:execution error at|parse error at|parse error in|template:)\s*`)
)

// nestedCall matches where the engine names the next template of a call chain.
var nestedCall = lazyregexp.New(`error calling (?:include|tpl|template): `)

// templateError describes an error in a template, with its location and the remedy:
// the location in the rendered template, and in the innermost template that it calls.
func templateError(err error) error {
	text := tplText.ReplaceAllString(err.Error(), "$1 a text")
	where, _ := splitLocation(text)
	if through := nestedCall.Compiled().Split(text, -1); len(through) > 1 {
		text = through[len(through)-1]
	}
	inner, text := splitLocation(text)
	if inner != "" && inner != where {
		where += " (in " + inner + ")"
	}
	remedy := "correct the template, or the values that it reads"
	if strings.Contains(text, "nil pointer evaluating") {
		remedy = "a value that it reads is missing: set it, or let the template do without"
	}
	return fmt.Errorf("render %s: %s; %s", cmp.Or(boundedText(where, 600), "the chart"),
		boundedText(strings.TrimSuffix(text, "."), 1500), remedy)
}

// splitLocation removes the first location from a text, and returns both.
func splitLocation(text string) (where, rest string) {
	if at := templateLocation.Compiled().FindStringSubmatchIndex(text); at != nil {
		where = fmt.Sprintf("%s, line %s", text[at[2]:at[3]], text[at[4]:at[5]])
		text = text[:at[0]] + text[at[1]:]
	}
	return where, engineWords.ReplaceAllString(strings.TrimSpace(text), "")
}

// explain describes a refusal by the API server, or an expired deadline.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w while the cluster was asked: %s", cause, bounded(err))
	}
	return cluster.Explain(err)
}
