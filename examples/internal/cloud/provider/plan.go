package main

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// PlanResourceChange plans like providers that are built on the plugin SDK: what the provider will
// determine is unknown, what it had determined stays, and no change returns the prior state.
func (s *server) PlanResourceChange(ctx context.Context, q *tfprotov6.PlanResourceChangeRequest) (
	*tfprotov6.PlanResourceChangeResponse, error) {
	schema := s.schema.resource(q.TypeName)
	// Blocks that the provider fills do not follow the rules of the newer type system.
	made := &tfprotov6.PlanResourceChangeResponse{PlannedState: q.ProposedNewState, PlannedPrivate: q.PriorPrivate,
		UnsafeToUseLegacyTypeSystem: true}
	planned, err := read(q.ProposedNewState, schema)
	if err != nil || planned == nil {
		return made, err
	}
	prior, err := read(q.PriorState, schema)
	if err != nil {
		return nil, err
	}
	if err := s.meetFaults(ctx, q.TypeName, "plan"); err != nil {
		made.Diagnostics = failure("planning "+q.TypeName, err)
		return made, nil
	}
	for name, a := range schema.Block.Attributes {
		if a.WriteOnly {
			planned[name] = nil
		}
	}
	if prior != nil {
		keepComputedBlocks(schema.Block, prior, planned)
		s.setTagsAll(schema.Block, planned)
		if same(prior, planned) {
			made.PlannedState = q.PriorState
			return made, nil
		}
		made.RequiresReplace = replaced(q.TypeName, schema.Block, prior, planned)
	}
	namesKnown := !hasUnknown(planned["subject_alternative_names"])
	s.markUnknown(schema.Block, planned)
	if prior != nil {
		for _, name := range changesOnUpdate[q.TypeName] {
			planned[name] = unknown
		}
	}
	s.setTagsAll(schema.Block, planned)
	if q.TypeName == "aws_acm_certificate" && namesKnown {
		planValidationOptions(planned)
	}
	made.PlannedState, err = write(planned, schema)
	return made, err
}

// markUnknown sets to unknown what the configuration leaves to the provider.
func (s *server) markUnknown(b *block, v object) {
	for name, a := range b.Attributes {
		if v[name] == nil && a.Computed && !a.WriteOnly {
			v[name] = unknown
		} else if a.Nested != nil {
			for _, item := range items(v[name], a.Nested.Mode) {
				s.markUnknown(&a.Nested.block, item)
			}
		}
	}
	for name, n := range b.Blocks {
		if list, is := v[name].([]any); n.Computed && is && len(list) == 0 {
			v[name] = unknown
			continue
		}
		for _, item := range items(v[name], n.Mode) {
			s.markUnknown(n.Block, item)
		}
	}
}

// keepComputedBlocks keeps what the provider put into blocks that the configuration leaves out.
func keepComputedBlocks(b *block, prior, planned object) {
	for name, n := range b.Blocks {
		now, isList := planned[name].([]any)
		before := asList(prior[name])
		switch {
		case !isList:
		case n.Computed && len(now) == 0:
			planned[name] = clone(before)
		case n.Mode == "list" && len(now) == len(before):
			for i := range now {
				keepComputedBlocks(n.Block, asObject(before[i]), asObject(now[i]))
			}
		}
	}
}

// setTagsAll sets tags_all to the provider's default tags and those of the resource, which the aws
// provider does when it plans; that of Google does it with labels.
func (s *server) setTagsAll(b *block, v object) {
	all := object{}
	switch {
	case b.Attributes["tags_all"] != nil && b.Attributes["tags"] != nil:
		for _, defaults := range asList(s.config["default_tags"]) {
			mergeTags(all, asObject(defaults)["tags"])
		}
		mergeTags(all, v["tags"])
	case b.Attributes["effective_labels"] != nil && b.Attributes["labels"] != nil:
		mergeTags(all, s.config["default_labels"])
		mergeTags(all, v["labels"])
	}
	for _, name := range []string{"tags_all", "effective_labels", "terraform_labels"} {
		switch {
		case b.Attributes[name] == nil:
		case all[""] == unknown:
			v[name] = unknown
		default:
			v[name] = all
		}
	}
}

// mergeTags adds tags. Unknown tags add a tag without a name.
func mergeTags(all object, tags any) {
	if tags == unknown {
		all[""] = unknown
	}
	for name, value := range asObject(tags) {
		all[name] = value
	}
}

// replaced returns the attributes whose change replaces the object. Recorded schemas do not have
// this property of an attribute; see replace.go.
func replaced(typ string, b *block, prior, planned object) (made []*tftypes.AttributePath) {
	for _, name := range sortedKeys(b.Attributes) {
		a := b.Attributes[name]
		if !a.Required && !a.Optional || same(prior[name], planned[name]) || !replaces(typ, name) {
			continue
		}
		// An argument that is set for the first time is often one that an update of the provider added.
		if prior[name] != nil || immutable(typ) && !strings.HasPrefix(typ, "random_") {
			made = append(made, tftypes.NewAttributePath().WithAttributeName(name))
		}
	}
	if strings.HasPrefix(typ, "kubernetes_") {
		return append(made, replacedMetadata(prior, planned)...)
	}
	return made
}

// replacedMetadata returns the name and the namespace of a Kubernetes object if they change.
func replacedMetadata(prior, planned object) (made []*tftypes.AttributePath) {
	before, now := asList(prior["metadata"]), asList(planned["metadata"])
	if len(before) != 1 || len(now) != 1 {
		return nil
	}
	for _, name := range []string{"name", "namespace", "generate_name"} {
		if was := asObject(before[0])[name]; was != nil && !same(was, asObject(now[0])[name]) {
			made = append(made, tftypes.NewAttributePath().WithAttributeName("metadata").WithElementKeyInt(0).
				WithAttributeName(name))
		}
	}
	return made
}

func replaces(typ, name string) bool {
	if name == "tags" || name == "tags_all" || name == "timeouts" || slices.Contains(keeps[typ], name) {
		return false
	}
	return slices.Contains(replacesOf[""], name) || slices.Contains(replacesOf[typ], name) || immutable(typ)
}
