package azure

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nuon-toolkit/nuon/reconciler/installstack"
)

type (
	object = map[string]any
	list   = []any
)

// expression is an expression of the template language, without the brackets around it.
type expression string

// MarshalJSON writes the expression in the brackets that tell it from text.
func (e expression) MarshalJSON() ([]byte, error) { return json.Marshal("[" + string(e) + "]") }

// literal returns a text that Azure does not read as an expression.
func literal(text string) string {
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return "[" + text
	}
	return text
}

// quoted returns a text as a part of an expression.
func quoted(text string) expression {
	return expression("'" + strings.ReplaceAll(text, "'", "''") + "'")
}

// call returns a call of a function of the template language.
func call(function string, arguments ...expression) expression {
	texts := make([]string, len(arguments))
	for i, a := range arguments {
		texts[i] = string(a)
	}
	return expression(function + "(" + strings.Join(texts, ", ") + ")")
}

func parameter(name string) expression { return call("parameters", quoted(name)) }

func variable(name string) expression { return call("variables", quoted(name)) }

// resourceID returns the id of a resource of the deployment's resource group.
func resourceID(kind string, names ...expression) expression {
	return call("resourceId", append([]expression{quoted(kind)}, names...)...)
}

// property returns a property of the value of an expression.
func property(of expression, path string) expression { return of + expression("."+path) }

// withPlaceholders returns a text of the config as a value of the template: its placeholders become expressions.
func withPlaceholders(text string) any {
	parts := installstack.Split(text)
	if len(parts) == 1 && parts[0].Placeholder == installstack.NoPlaceholder {
		return literal(text)
	}
	if len(parts) == 0 {
		return ""
	}
	var all []expression
	for _, part := range parts {
		switch part.Placeholder {
		case installstack.Region:
			all = append(all, parameter("location"))
		case installstack.Account:
			all = append(all, "subscription().subscriptionId")
		default:
			all = append(all, quoted(part.Text))
		}
	}
	return call("concat", all...)
}

// encodeObject returns an expression with the value of an object of expressions, by its keys in order.
func encodeObject(keys []string, values map[string]expression) expression {
	var all []expression
	for _, key := range keys {
		all = append(all, quoted(key), values[key])
	}
	return call("createObject", all...)
}

// reference returns a property of a resource at run time.
func reference(id expression, version, path string) expression {
	return property(call("reference", id, quoted(version)), path)
}

func literalf(format string, a ...any) string { return literal(fmt.Sprintf(format, a...)) }
