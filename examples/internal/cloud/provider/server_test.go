package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// newServer returns a server of a provider on a new cloud.
func newServer(t *testing.T, name, version string) *server {
	t.Helper()
	s := &store{directory: t.TempDir()}
	if err := createAuthority(s.directory); err != nil {
		t.Fatal(err)
	}
	schema, err := loadSchema(name, version)
	if err != nil {
		t.Fatal(err)
	}
	return &server{name: name, schema: schema, store: s, config: object{}}
}

// resource is what Terraform remembers of a resource.
type resource struct {
	typ     string
	state   *tfprotov6.DynamicValue
	private []byte
}

// config returns a configuration with all attributes and blocks of a schema, of which the given ones
// are set.
func config(b *block, given object) object {
	made := asObject(fromJSON(given, *b.object))
	for name, n := range b.Blocks {
		switch {
		case made[name] == nil && n.Mode != "single":
			made[name] = []any{}
		case made[name] != nil:
			for i, item := range items(made[name], n.Mode) {
				filled := config(n.Block, item)
				if list, is := made[name].([]any); is {
					list[i] = filled
				} else {
					made[name] = filled
				}
			}
		}
	}
	return made
}

// proposed returns what Terraform proposes: the configuration, and the prior state for computed
// attributes that it leaves out.
func proposed(b *block, prior, given object) object {
	made := asObject(clone(given))
	for name, a := range b.Attributes {
		if a.Computed && made[name] == nil {
			made[name] = prior[name]
		}
	}
	for name, n := range b.Blocks {
		before := items(prior[name], n.Mode)
		for i, item := range items(made[name], n.Mode) {
			if list, is := made[name].([]any); is && i < len(before) {
				list[i] = proposed(n.Block, before[i], item)
			}
		}
	}
	return made
}

// plan plans a configuration, nil for a destroy.
func (r *resource) plan(t *testing.T, s *server, given object) *tfprotov6.PlanResourceChangeResponse {
	t.Helper()
	schema := s.schema.resource(r.typ)
	if schema == nil {
		t.Fatalf("no resource %s", r.typ)
	}
	if r.state == nil {
		r.state = must(write(nil, schema))
	}
	want := given
	if given != nil {
		want = proposed(schema.Block, must(read(r.state, schema)), config(schema.Block, given))
	}
	response, err := s.PlanResourceChange(context.Background(), &tfprotov6.PlanResourceChangeRequest{TypeName: r.typ,
		PriorState: r.state, ProposedNewState: must(write(want, schema)), PriorPrivate: r.private})
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// apply plans and applies a configuration, and returns the new state or the error.
func (r *resource) apply(t *testing.T, s *server, given object) (object, error) {
	t.Helper()
	planned := r.plan(t, s, given)
	if len(planned.Diagnostics) > 0 {
		return nil, fmt.Errorf("%s: %s", planned.Diagnostics[0].Summary, planned.Diagnostics[0].Detail)
	}
	response, err := s.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{TypeName: r.typ,
		PriorState: r.state, PlannedState: planned.PlannedState, PlannedPrivate: planned.PlannedPrivate})
	if err != nil {
		t.Fatal(err)
	}
	r.state, r.private = response.NewState, response.Private
	state := must(read(r.state, s.schema.resource(r.typ)))
	if hasUnknown(state) {
		t.Errorf("the state of %s has unknown values: %v", r.typ, state)
	}
	if len(response.Diagnostics) > 0 {
		return state, fmt.Errorf("%s: %s", response.Diagnostics[0].Summary, response.Diagnostics[0].Detail)
	}
	return state, nil
}

// refresh reads the object, and returns nil if it has vanished.
func (r *resource) refresh(t *testing.T, s *server) object {
	t.Helper()
	response, err := s.ReadResource(context.Background(), &tfprotov6.ReadResourceRequest{TypeName: r.typ,
		CurrentState: r.state, Private: r.private})
	if err != nil {
		t.Fatal(err)
	}
	r.state, r.private = response.NewState, response.Private
	return must(read(r.state, s.schema.resource(r.typ)))
}

func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// objects returns the keys of all objects.
func (s *store) keys(t *testing.T) (made []string) {
	t.Helper()
	if err := s.update(func(tx *transaction) error {
		made = sortedKeys(tx.objects)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return made
}

// minimal returns a configuration of a block with only what is required.
func minimal(b *block) object {
	made := object{}
	for name, a := range b.Attributes {
		if a.Required {
			made[name] = sample(name, a)
		}
	}
	for name, n := range b.Blocks {
		if n.MinItems > 0 {
			made[name] = []any{minimal(n.Block)}
		}
	}
	return made
}

// sample returns a valid value of a required attribute.
func sample(name string, a *attribute) any {
	switch {
	case name == "policy", name == "assume_role_policy":
		return "{}"
	case strings.HasSuffix(name, "_arn"):
		return "arn:aws:iam::123456789012:role/sample"
	case strings.HasSuffix(name, "cidr_block"), strings.HasSuffix(name, "cidr_range"):
		return "10.0.0.0/16"
	}
	var typ any
	if err := json.Unmarshal(a.Type, &typ); err != nil {
		return nil
	}
	switch typ {
	case "string":
		return "sample"
	case "number":
		return json.Number("3")
	case "bool":
		return true
	}
	switch parts, _ := typ.([]any); {
	case len(parts) == 2 && parts[0] == "map":
		return object{}
	case len(parts) == 2 && parts[1] == "string":
		return asAnys("sample")
	}
	return []any{}
}

// TestEveryType creates an object of every resource type with only the required arguments: the state
// has no unknown values, a second plan returns it as it is, a refresh finds the same, and a delete
// leaves nothing.
func TestEveryType(t *testing.T) {
	count := 0
	for _, provider := range []string{"aws-5", "aws-6", "google-6", "azurerm-4", "azapi-2", "kubernetes-2", "helm-2",
		"helm-3", "kubectl-2", "null-3"} {
		name, version, _ := strings.Cut(provider, "-")
		s := newServer(t, name, version+".0.0")
		for _, typ := range s.schema.Resources.names() {
			count++
			given := minimal(s.schema.resource(typ).Block)
			for name, value := range map[string]any{"deletion_protection": false, "skip_final_snapshot": true} {
				if s.schema.resource(typ).Block.Attributes[name] != nil {
					given[name] = value
				}
			}
			r := &resource{typ: typ}
			created, err := r.apply(t, s, given)
			if err != nil {
				t.Errorf("%s: %v", typ, err)
				continue
			}
			if again := r.plan(t, s, given); again.PlannedState != r.state || len(again.RequiresReplace) > 0 {
				t.Errorf("%s: a second plan changes %v", typ, must(read(again.PlannedState, s.schema.resource(typ))))
			}
			if found := r.refresh(t, s); !same(found, created) {
				t.Errorf("%s: a refresh finds %v, not %v", typ, found, created)
			}
			if _, err := r.apply(t, s, nil); err != nil {
				t.Errorf("%s: %v", typ, err)
			}
			if left := s.store.keys(t); len(left) > 0 {
				t.Fatalf("%s: a delete leaves %v", typ, left)
			}
		}
	}
	if count < 400 {
		t.Errorf("only %d types were checked", count)
	}
}
