package planpolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// masked replaces a value that a message must not show.
const masked = "(sensitive value)"

// documents returns the inputs of policies.
func (p Input) documents() ([]document, error) {
	var documents []document
	if p.Plan != nil {
		d, err := p.plan()
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	} else {
		for _, object := range p.Objects {
			d, err := p.object(object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", titleOf(object), err)
			}
			documents = append(documents, d)
		}
	}
	for i := range documents {
		d := &documents[i]
		d.differs = d.exact.Compare(d.shown) != 0
	}
	return documents, nil
}

// plan returns the input of a Terraform plan: {"plan": …}.
func (p Input) plan() (document, error) {
	var plan map[string]any
	decoder := json.NewDecoder(bytes.NewReader(p.Plan))
	decoder.UseNumber()
	if err := decoder.Decode(&plan); err != nil {
		return document{}, err
	}
	exact, err := ast.InterfaceToValue(map[string]any{"plan": plan})
	if err != nil {
		return document{}, err
	}
	maskPlan(plan)
	shown, err := ast.InterfaceToValue(map[string]any{"plan": p.redact(maskSecrets(plan))})
	return document{shown: shown, exact: exact}, err
}

// object returns the input of a Kubernetes object in the form of an admission review. Neither of its forms has the
// values of Secrets: they decide nothing about the cluster, and may be secrets of the customer.
func (p Input) object(object map[string]any) (document, error) {
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, v, grouped := strings.Cut(version, "/")
	if !grouped {
		group, v = "", version
	}
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	fields := map[string]any{
		"kind":      map[string]any{"group": group, "version": v, "kind": kind},
		"name":      nameOf(object),
		"namespace": namespace,
		"object":    maskSecrets(object),
	}
	exact, err := ast.InterfaceToValue(map[string]any{"review": fields})
	if err != nil {
		return document{}, err
	}
	for name := range fields {
		fields[name] = p.redact(fields[name])
	}
	shown, err := ast.InterfaceToValue(map[string]any{"review": fields})
	return document{object: titleOf(object), shown: shown, exact: exact}, err
}

func nameOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// titleOf returns the kind and the name of an object.
func titleOf(object map[string]any) string {
	kind, _ := object["kind"].(string)
	return strings.TrimSpace(kind + " " + nameOf(object))
}

// lastApplied is the annotation in which kubectl repeats a whole object as a text, that of a Secret with its values.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// maskSecrets returns a copy in which the values of Secrets at any depth are masked: other objects and Terraform
// resources contain Secrets, too.
func maskSecrets(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = maskSecrets(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			switch {
			case v["kind"] == "Secret" && (key == "data" || key == "stringData"):
				out[key] = maskValuesOf(value)
			case key == lastApplied:
				out[key] = masked
			default:
				out[key] = maskSecrets(value)
			}
		}
		return out
	}
	return v
}

// redact returns a copy in which known secrets are replaced in all texts and keys.
func (p Input) redact(v any) any {
	switch v := v.(type) {
	case string:
		return p.Redact(v)
	case json.Number:
		if text := p.Redact(v.String()); text != v.String() {
			return text
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = p.redact(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[p.Redact(key)] = p.redact(value)
		}
		return out
	}
	return v
}

// maskPlan masks in a Terraform plan what it marks as sensitive.
func maskPlan(plan map[string]any) {
	for _, list := range []string{"resource_changes", "resource_drift"} {
		for _, r := range items(plan[list]) {
			maskChange(r["change"])
		}
	}
	outputs, _ := plan["output_changes"].(map[string]any)
	for _, o := range outputs {
		maskChange(o)
	}
	maskValues(plan["planned_values"])
	if state, ok := plan["prior_state"].(map[string]any); ok {
		maskValues(state["values"])
	}
	maskVariables(plan)
}

func maskChange(v any) {
	change, _ := v.(map[string]any)
	for _, side := range []string{"before", "after"} {
		if value, ok := change[side]; ok {
			change[side] = mask(value, change[side+"_sensitive"])
		}
	}
}

// maskValues masks the values of a state, or of what will be one.
func maskValues(v any) {
	values, _ := v.(map[string]any)
	outputs, _ := values["outputs"].(map[string]any)
	for _, o := range outputs {
		if output, ok := o.(map[string]any); ok && output["sensitive"] == true {
			output["value"] = masked
		}
	}
	maskModule(values["root_module"])
}

func maskModule(v any) {
	module, _ := v.(map[string]any)
	for _, r := range items(module["resources"]) {
		r["values"] = mask(r["values"], r["sensitive_values"])
	}
	for _, child := range items(module["child_modules"]) {
		maskModule(child)
	}
}

// maskVariables masks the values of variables that the module declares as sensitive.
func maskVariables(plan map[string]any) {
	variables, _ := plan["variables"].(map[string]any)
	configuration, _ := plan["configuration"].(map[string]any)
	root, _ := configuration["root_module"].(map[string]any)
	declared, _ := root["variables"].(map[string]any)
	for name, v := range variables {
		d, known := declared[name].(map[string]any)
		if variable, ok := v.(map[string]any); ok && (!known || d["sensitive"] == true) {
			variable["value"] = masked
		}
	}
}

// items returns the objects of a list.
func items(v any) []map[string]any {
	list, _ := v.([]any)
	var objects []map[string]any
	for _, one := range list {
		if object, ok := one.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// mask returns a value in which the parts that marks mark are masked: true marks everything below
// it, and an object or a list has a mark for each part.
func mask(value, marks any) any {
	if marks == true && value != nil {
		return masked
	}
	switch value := value.(type) {
	case map[string]any:
		parts, _ := marks.(map[string]any)
		for key, part := range value {
			value[key] = mask(part, parts[key])
		}
	case []any:
		parts, _ := marks.([]any)
		for i := range value {
			if i < len(parts) {
				value[i] = mask(value[i], parts[i])
			}
		}
	}
	return value
}

// maskValuesOf masks the values of an object and leaves its keys. It masks anything else but null as a whole.
func maskValuesOf(v any) any {
	values, ok := v.(map[string]any)
	switch {
	case v == nil:
		return nil
	case !ok:
		return masked
	}
	out := make(map[string]any, len(values))
	for key := range values {
		out[key] = masked
	}
	return out
}
