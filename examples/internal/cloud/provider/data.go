package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// ReadDataSource answers a data source: by its reader if it has one, from an object of the cloud that
// fits, or with plausible values.
func (s *server) ReadDataSource(ctx context.Context, q *tfprotov6.ReadDataSourceRequest) (
	*tfprotov6.ReadDataSourceResponse, error) {
	schema := s.schema.data(q.TypeName)
	config, err := read(q.Config, schema)
	if err != nil {
		return nil, err
	}
	if err := s.meetFaults(ctx, q.TypeName, "read"); err != nil {
		return &tfprotov6.ReadDataSourceResponse{Diagnostics: failure("reading "+q.TypeName, err)}, nil
	}
	given, err := json.Marshal(toJSON(config))
	if err != nil {
		return nil, err
	}
	f := &filler{server: s, typ: q.TypeName, schema: schema.Block, top: config, data: true,
		seed: hash("data", q.TypeName, string(given))}
	if err := f.readData(); err != nil {
		return &tfprotov6.ReadDataSourceResponse{Diagnostics: failure("reading "+q.TypeName, err)}, nil
	}
	state, err := write(config, schema)
	return &tfprotov6.ReadDataSourceResponse{State: state}, err
}

// mustExist are the data sources that fail if nobody created the object.
var mustExist = []string{"aws_eks_cluster", "google_container_cluster", "azurerm_kubernetes_cluster"}

func (f *filler) readData() error {
	if reader := readers[f.typ]; reader != nil {
		if err := reader(f); err != nil {
			return err
		}
		f.fill()
		return nil
	}
	if plural := plurals[f.typ]; plural != "" {
		found, err := f.find(plural)
		if err != nil {
			return err
		}
		for _, o := range found {
			f.top["ids"] = append(asList(f.top["ids"]), o["id"])
		}
		f.fill()
		return nil
	}
	found, err := f.find(f.typ)
	if err != nil {
		return err
	}
	if len(found) == 0 && slices.Contains(mustExist, f.typ) {
		return fmt.Errorf("couldn't find resource: the simulated cloud has no %s %s", f.typ, f.text("name"))
	}
	if len(found) > 0 {
		f.copyFrom(found[len(found)-1])
	}
	f.fill()
	return nil
}

// plurals are the data sources that list the ids of objects, with the type of these.
var plurals = map[string]string{"aws_subnets": "aws_subnet", "aws_security_groups": "aws_security_group"}

// copyFrom copies the attributes of an object that the data source does not set.
func (f *filler) copyFrom(o object) {
	for name, a := range f.schema.Attributes {
		value := o[name]
		if name == "tags" && o["tags_all"] != nil {
			value = o["tags_all"]
		}
		if a.Computed && f.top[name] == nil && value != nil {
			f.top[name] = fromJSON(value, a.parsed)
		}
	}
	for name, n := range f.schema.Blocks {
		if n.Computed && len(asList(f.top[name])) == 0 && o[name] != nil {
			f.top[name] = fromJSON(o[name], f.schema.object.AttributeTypes[name])
		}
	}
}

// find returns the objects of a type that fit the arguments of the data source, the oldest first.
func (f *filler) find(typ string) (made []object, err error) {
	err = f.server.store.update(func(t *transaction) error {
		for _, o := range t.ordered(typ) {
			if f.fits(o.attributes()) {
				made = append(made, o.attributes())
			}
		}
		return nil
	})
	return made, err
}

// fits reports whether an object has the texts, the tags and what the filters of the data source
// name. A data source without any of them fits nothing.
func (f *filler) fits(o object) bool {
	compared := 0
	for name, want := range f.top {
		text, isText := want.(string)
		has, hasIt := o[name].(string)
		if !isText || !hasIt || name == "region" {
			continue
		}
		compared++
		if strings.TrimSuffix(text, ".") != strings.TrimSuffix(has, ".") {
			return false
		}
	}
	tags := asObject(o["tags_all"])
	for name, want := range asObject(f.top["tags"]) {
		compared++
		if tags[name] != want {
			return false
		}
	}
	for _, filter := range items(f.top["filter"], "set") {
		has, known := filtered(o, asText(filter["name"]))
		if !known {
			continue
		}
		compared++
		if !slices.ContainsFunc(asTexts(filter["values"]), func(pattern string) bool {
			matches, _ := path.Match(strings.ReplaceAll(pattern, "[", `\[`), strings.ReplaceAll(has, "/", "|"))
			return matches || pattern == has
		}) {
			return false
		}
	}
	return compared > 0
}

// filtered returns what a filter of the EC2 API compares: a tag or an attribute.
func filtered(o object, name string) (has string, known bool) {
	if tag, is := strings.CutPrefix(name, "tag:"); is {
		return asText(asObject(o["tags_all"])[tag]), true
	}
	attribute := strings.ReplaceAll(name, "-", "_")
	switch name {
	case "group-name":
		attribute = "name"
	case "subnet-id", "group-id":
		attribute = "id"
	case "cidr-block", "cidr":
		attribute = "cidr_block"
	}
	text, is := o[attribute].(string)
	return text, is
}
