package azure_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// reporter is what a deployment needs of a test.
type reporter interface {
	Helper()
	Fatalf(format string, a ...any)
}

// deployment is a template whose expressions were evaluated, for the part of the template language that this package
// writes. Source: learn.microsoft.com/azure/azure-resource-manager/templates/template-expressions.
type deployment struct {
	t        reporter
	template struct {
		Parameters map[string]struct {
			Type    string
			Default any   `json:"defaultValue"`
			Allowed []any `json:"allowedValues"`
		}
		Variables map[string]any
		Resources []map[string]any
		Outputs   map[string]struct {
			Type  string
			Value any
		}
	}
	entered   map[string]any
	resources []map[string]any // those whose condition is true
	outputs   map[string]any
}

const (
	scope = "/subscriptions/sub/resourceGroups/rg"
	now   = "2026-11-23T20:00:00Z" // the time of the deployment
)

// deploy evaluates a template with what a customer entered.
func deploy(t reporter, raw []byte, entered map[string]any) *deployment {
	t.Helper()
	d := &deployment{t: t, entered: entered, outputs: map[string]any{}}
	if err := json.Unmarshal(raw, &d.template); err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	known := map[string]bool{}
	var all []map[string]any
	for _, r := range d.template.Resources {
		r := d.value(r).(map[string]any)
		all = append(all, r)
		known[idOf(r["type"].(string), strings.Split(r["name"].(string), "/"))] = true
		if r["condition"] != false {
			d.resources = append(d.resources, r)
		}
	}
	for _, r := range all {
		depends, _ := r["dependsOn"].([]any)
		for _, on := range depends {
			if !known[on.(string)] {
				t.Fatalf("%v depends on %v, which is no resource of the template", r["name"], on)
			}
		}
	}
	for name, output := range d.template.Outputs {
		d.outputs[name] = d.value(output.Value)
		if kind := kindOf(d.outputs[name]); kind != output.Type {
			t.Fatalf("the output %s is a %s, not a %s", name, kind, output.Type)
		}
	}
	return d
}

// resource returns the only resource of a kind.
func (d *deployment) resource(kind string) map[string]any {
	d.t.Helper()
	var found []map[string]any
	for _, r := range d.resources {
		if r["type"] == kind {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		d.t.Fatalf("there are %d resources of the kind %s", len(found), kind)
	}
	return found[0]
}

func kindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case bool:
		return "bool"
	}
	return "string"
}

// idOf returns the id of a resource.
func idOf(kind string, names []string) string {
	provider, types, _ := strings.Cut(kind, "/")
	id := scope + "/providers/" + provider
	for i, t := range strings.Split(types, "/") {
		id += "/" + t + "/" + names[i]
	}
	return id
}

// value evaluates the expressions in a value.
func (d *deployment) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, item := range v {
			all[key] = d.value(item)
		}
		return all
	case []any:
		all := []any{}
		for _, item := range v {
			all = append(all, d.value(item))
		}
		return all
	case string:
		switch {
		case strings.HasPrefix(v, "[[") && strings.HasSuffix(v, "]"):
			return v[1:]
		case strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]"):
			p := &parser{d: d, rest: v[1 : len(v)-1], whole: v}
			got := p.expression()
			if p.rest != "" {
				d.t.Fatalf("%q is left of %s", p.rest, v)
			}
			return got
		}
	}
	return v
}

// parser evaluates an expression from left to right.
type parser struct {
	d           *deployment
	rest, whole string
}

func (p *parser) expression() any {
	if text, is := strings.CutPrefix(p.rest, "'"); is {
		return p.text(text)
	}
	name, rest, found := strings.Cut(p.rest, "(")
	if !found || strings.ContainsAny(name, " '),.") {
		p.d.t.Fatalf("no function at %.80q of %s", p.rest, p.whole)
	}
	p.rest = rest
	var arguments []any
	for !strings.HasPrefix(p.rest, ")") {
		arguments = append(arguments, p.expression())
		p.rest = strings.TrimPrefix(p.rest, ", ")
		if p.rest == "" {
			p.d.t.Fatalf("%s is not closed in %s", name, p.whole)
		}
	}
	p.rest = p.rest[1:]
	value := p.d.call(name, arguments)
	for strings.HasPrefix(p.rest, ".") {
		end := strings.IndexAny(p.rest[1:], ".,) ")
		if end < 0 {
			end = len(p.rest) - 1
		}
		value = p.d.property(name, value, p.rest[1:end+1])
		p.rest = p.rest[end+1:]
	}
	return value
}

// text reads a text up to its closing quote; two quotes are one.
func (p *parser) text(rest string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(rest, "'")
		if !found {
			p.d.t.Fatalf("a text is not closed in %s", p.whole)
		}
		out.WriteString(before)
		if !strings.HasPrefix(after, "'") {
			p.rest = after
			return out.String()
		}
		out.WriteByte('\'')
		rest = after[1:]
	}
}

// property returns a property of a value; what Azure knows only at run time becomes a text with its path.
func (d *deployment) property(function string, value any, name string) any {
	if object, is := value.(map[string]any); is {
		found, has := object[name]
		if !has {
			d.t.Fatalf("%s has no %s", function, name)
		}
		return found
	}
	if function != "reference" {
		d.t.Fatalf("%s has no properties", function)
	}
	return fmt.Sprint(value, ".", name)
}

func (d *deployment) call(name string, a []any) any {
	texts := make([]string, len(a))
	for i := range a {
		texts[i], _ = a[i].(string)
	}
	switch name {
	case "parameters":
		return d.parameter(texts[0])
	case "variables":
		v, has := d.template.Variables[texts[0]]
		if !has {
			d.t.Fatalf("there is no variable %q", texts[0])
		}
		return d.value(v)
	case "subscription":
		return map[string]any{"subscriptionId": "sub", "tenantId": "tenant"}
	case "resourceGroup":
		return map[string]any{"id": scope, "name": "rg", "location": "westeurope"}
	case "resourceId":
		if !strings.Contains(texts[0], "/") { // a resource group is named
			return strings.Replace(idOf(texts[1], texts[2:]), "/rg/", "/"+texts[0]+"/", 1)
		}
		if len(texts)-1 != strings.Count(texts[0], "/") {
			d.t.Fatalf("resourceId of %v has too many or too few names", texts)
		}
		return idOf(texts[0], texts[1:])
	case "subscriptionResourceId":
		return "/subscriptions/sub/providers/" + strings.Join(texts, "/")
	case "reference":
		return "reference " + texts[0]
	case "guid", "newGuid":
		return fmt.Sprintf("guid-%x", sha256.Sum256([]byte(strings.Join(texts, "\n"))))
	}
	return d.pure(name, a, texts)
}

func (d *deployment) pure(name string, a []any, texts []string) any {
	switch name {
	case "concat":
		return strings.Join(texts, "")
	case "replace":
		return strings.ReplaceAll(texts[0], texts[1], texts[2])
	case "base64":
		return base64.StdEncoding.EncodeToString([]byte(texts[0]))
	case "string":
		if text, is := a[0].(string); is {
			return text
		}
		raw, _ := json.Marshal(a[0])
		return string(raw)
	case "if":
		if truth, is := a[0].(bool); !is {
			d.t.Fatalf("if of %v", a[0])
		} else if truth {
			return a[1]
		}
		return a[2]
	case "not":
		return a[0] == false
	case "and":
		return a[0] == true && a[1] == true
	case "less":
		return texts[0] < texts[1]
	case "utcNow":
		if texts[0] != "yyyy-MM-ddTHH:mm:ssZ" {
			d.t.Fatalf("utcNow of the form %s", texts[0])
		}
		return now
	case "empty":
		object, _ := a[0].(map[string]any)
		return a[0] == "" || a[0] != "" && texts[0] == "" && len(object) == 0
	case "createArray":
		return a
	case "createObject":
		all := map[string]any{}
		for i := 0; i < len(a); i += 2 {
			all[texts[i]] = a[i+1]
		}
		return all
	case "union":
		all := map[string]any{}
		for _, item := range a {
			for key, value := range item.(map[string]any) {
				all[key] = value
			}
		}
		return all
	}
	d.t.Fatalf("%s is no function that the templates use", name)
	return nil
}

func (d *deployment) parameter(name string) any {
	declared, has := d.template.Parameters[name]
	if !has {
		d.t.Fatalf("there is no parameter %q", name)
	}
	if value, entered := d.entered[name]; entered {
		return value
	}
	if declared.Default == nil {
		d.t.Fatalf("nobody entered %s", name)
	}
	return d.value(declared.Default)
}
