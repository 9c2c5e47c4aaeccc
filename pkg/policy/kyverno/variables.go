package kyverno

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/policy/source"
)

// builtinVariables returns the variables that Kyverno defines, in addition to those of a rule's context.
// element and elementIndex may be followed by a number.
func builtinVariables() []string {
	return []string{"request", "element", "elementIndex", "images", "image", "target", "serviceAccountName",
		"serviceAccountNamespace", "globalContext"}
}

// jmespathFunctions returns the functions of JMESPath itself, which are evaluated here.
func jmespathFunctions() []string {
	return strings.Fields("abs avg ceil contains ends_with floor join keys length map max max_by merge min min_by " +
		"not_null reverse sort sort_by starts_with sum to_array to_number to_string type values")
}

// kyvernoFunctions returns the functions that Kyverno adds, which are not evaluated here.
func kyvernoFunctions() []string {
	return strings.Fields("add base64_decode base64_encode compare divide equal_fold image_normalize is_external_url " +
		"items label_match lookup md5 modulo multiply object_from_lists " +
		"parse_json parse_yaml path_canonicalize pattern_match random regex_match regex_replace_all " +
		"regex_replace_all_literal replace replace_all round semver_compare sha1 sha256 split subtract " +
		"time_add time_after time_before time_between time_diff time_now time_now_utc time_parse time_since time_to_cron " +
		"time_truncate time_utc to_boolean to_lower to_upper trim trim_prefix truncate x509_decode zip")
}

// checkVariables checks Kyverno's variables in the texts of a policy. It reports each name that is
// not evaluated once.
func (r *reader) checkVariables() {
	reported := map[string]bool{}
	for _, v := range r.variables {
		n := v.node
		if source.HasPlaceholder(n.Value) || !strings.Contains(n.Value, "{{") && !strings.Contains(n.Value, "$(") {
			continue
		}
		if strings.Contains(n.Value, "$(") && !reported["$("] {
			reported["$("] = true
			r.reportNotEvaluated(n, "a reference such as $(…)")
		}
		found, ok := expressions(n.Value)
		if !ok {
			r.reportWarning(n, "kyverno-variable", "a variable is opened with {{ and not closed", "close it with }}")
		}
		for _, e := range found {
			r.checkExpression(v, e, reported)
		}
	}
}

// expressions returns the texts between {{ and }}. It matches inner braces, which JMESPath and
// nested variables use. ok is false if one is not closed.
func expressions(text string) (found []string, ok bool) {
	for {
		start := strings.Index(text, "{{")
		if start < 0 {
			return found, true
		}
		escaped := start > 0 && text[start-1] == '\\'
		end := expressionLength(text[start:])
		if end < 0 {
			return found, escaped
		}
		if !escaped {
			found = append(found, strings.TrimSpace(text[start+2:start+end-2]))
		}
		text = text[start+end:]
	}
}

// expressionLength returns the length of the expression at the start of s, or -1.
func expressionLength(s string) int {
	depth := 0
	for at := 0; at < len(s); at++ {
		switch s[at] {
		case '\'', '`':
			if end := strings.IndexByte(s[at+1:], s[at]); end >= 0 {
				at += end + 1
			}
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return -1
}

// word is a name in an expression that is not a field of what precedes it.
type word struct {
	text     string
	function bool
	rest     string // the text after it
}

// words returns the names of an expression, without those in quotes.
func words(expression string) []word {
	var all []word
	for at := 0; at < len(expression); {
		c := expression[at]
		switch {
		case c == '\'' || c == '`' || c == '"':
			end := strings.IndexByte(expression[at+1:], c)
			if end < 0 {
				return all
			}
			at += end + 2
		case isNameByte(c):
			end := at
			for end < len(expression) && (isNameByte(expression[end]) || expression[end] >= '0' && expression[end] <= '9') {
				end++
			}
			if at == 0 || expression[at-1] != '.' {
				rest := expression[end:]
				all = append(all, word{text: expression[at:end], function: strings.HasPrefix(rest, "("), rest: rest})
			}
			at = end
		default:
			at++
		}
	}
	return all
}

func isNameByte(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func (r *reader) checkExpression(v variable, expression string, reported map[string]bool) {
	if expression == "" {
		r.reportWarning(v.node, "kyverno-variable", "a variable without a name",
			"name it, such as {{ request.object.metadata.name }}")
		return
	}
	for i, w := range words(expression) {
		if reported[w.text] && w.text != "request" {
			continue
		}
		switch {
		case w.function:
			r.checkFunction(v.node, w.text, reported)
		case i == 0 && strings.HasPrefix(expression, w.text):
			r.checkRoot(v, w, reported)
		}
	}
}

func (r *reader) checkFunction(n *yaml.Node, name string, reported map[string]bool) {
	switch {
	case slices.Contains(jmespathFunctions(), name):
	case slices.Contains(kyvernoFunctions(), name):
		reported[name] = true
		r.reportNotEvaluated(n, "the function "+name)
	default:
		reported[name] = true
		hint := diagnostic.DidYouMean(name, slices.Concat(jmespathFunctions(), kyvernoFunctions()))
		if hint == "" {
			hint = "check the name; if it is a newer function of Kyverno's, the cluster's Kyverno decides"
		}
		r.reportWarning(n, "kyverno-variable", "there is no function "+source.Quote(name)+" that is known here", hint)
	}
}

// checkRoot checks the first name of an expression.
func (r *reader) checkRoot(v variable, w word, reported map[string]bool) {
	name := strings.TrimRight(w.text, "0123456789")
	if name != "element" && name != "elementIndex" {
		name = w.text
	}
	if v.scope.has(name) {
		return
	}
	switch name {
	case "element", "elementIndex":
	case "request":
		r.checkRequest(v.node, w.rest, reported)
	default:
		reported[name] = true
		if slices.Contains(builtinVariables(), name) {
			r.reportNotEvaluated(v.node, "the variable "+name)
			return
		}
		hint := diagnostic.DidYouMean(name, slices.Concat(builtinVariables(), v.scope.all()))
		if hint == "" {
			hint = "begin it with request.object, with element in a foreach, or with a name of the rule's context"
		}
		r.reportWarning(v.node, "kyverno-variable",
			fmt.Sprintf("nothing gives the variable %s a value", source.Quote(name)), hint)
	}
}

// checkRequest reports parts of a request that are unknown before the request is sent. Only the
// object and its identity are known then.
func (r *reader) checkRequest(n *yaml.Node, rest string, reported map[string]bool) {
	part := strings.TrimPrefix(rest, ".")
	for end := range len(part) {
		if !isNameByte(part[end]) {
			part = part[:end]
			break
		}
	}
	if part == rest || slices.Contains([]string{"object", "operation", "namespace", "name", "kind"},
		part) || reported["request."+part] {
		return
	}
	reported["request."+part] = true
	r.reportNotEvaluated(n, "the variable request."+source.Plain(part))
}
