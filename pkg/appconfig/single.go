package appconfig

import (
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
)

// maxSubstituted bounds the texts of a nuon.APP.toml after the substitution of config_vars, in
// bytes.
const maxSubstituted = 4 << 20

// sections reads a nuon.APP.toml as the documents that its tables replace.
func (l *loader) sections(file string) []document {
	root := l.parse(file)
	if root == nil {
		return nil
	}
	kind, _ := format.FindKind("full")
	if at, ok := root.Substitute(configVars(root), maxSubstituted); !ok {
		l.errorf(ruleTooMany, at, "", "the file with its config_vars is larger than %d bytes", maxSubstituted)
		return nil
	}
	all := []document{{file: file, section: "metadata",
		table: root.Only("version", "display_name", "description", "readme")}}
	for name, n := range root.Each {
		all = append(all, l.section(file, name, n, kind.Keys())...)
	}
	if root.Get("sandbox") == nil {
		l.errorf(ruleMissingKey, root.At, "every app has one", "[sandbox] is missing")
	}
	return all
}

func configVars(root *syntax.Table) map[string]string {
	vars := map[string]string{}
	for name, n := range root.Get("config_vars").Table().Each {
		if text, ok := n.Text(); ok {
			vars[name] = text
		}
	}
	return vars
}

// section returns the documents that one key of a nuon.APP.toml replaces.
func (l *loader) section(file, name string, n *syntax.Node, keys []format.Key) []document {
	i := slices.IndexFunc(keys, func(k format.Key) bool { return k.Name == name })
	switch {
	case i < 0 || keys[i].Type == format.Map:
		// An unknown key, or config_vars: only the shape is checked.
		var single format.SingleFile
		format.Decode((&syntax.Table{At: n.Key}).With(name, n), keys, &single, l.add)
		return nil
	case keys[i].Type == format.Table:
		if table := n.Table(); table != nil {
			return []document{{file: file, section: name, table: table}}
		}
	case keys[i].Type == format.Tables:
		return l.elements(file, name, n)
	default:
		return nil
	}
	l.errorf(format.RuleWrongType, n.At, "", "%q must be a table, not %s", name, n.Kind())
	return nil
}

// elements returns a document for each table of an array.
func (l *loader) elements(file, name string, n *syntax.Node) []document {
	items, ok := n.Items()
	if !ok {
		l.errorf(format.RuleWrongType, n.At, "write [["+name+"]]",
			"%q must be an array of tables, not %s", name, n.Kind())
		return nil
	}
	var all []document
	for _, item := range items {
		table := item.Table()
		if table == nil {
			l.errorf(format.RuleWrongType, item.At, "", "%q must be an array of tables", name)
			continue
		}
		if name == "components" {
			table = flattenKind(table)
		}
		all = append(all, document{file: file, section: name, single: true, table: table})
	}
	return all
}

// flattenKind moves the keys of a component's kind out of the nested table named after the kind.
func flattenKind(table *syntax.Table) *syntax.Table {
	kind, _ := table.Get("type").Text()
	if kindTable := table.Get(kind).Table(); kindTable != nil {
		flattened := table.Without(kind)
		flattened.Overlay(kindTable)
		return flattened
	}
	return table
}
