package manifest

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

const (
	// maxDepth is how deep values may nest; the deepest schemas of custom
	// resources have about a hundred levels.
	maxDepth = 500
	// aliasFloor and aliasFactor bound the number of values of a document
	// after its aliases are expanded: the floor, and the factor times its
	// size in bytes, but never more than aliasCeiling.
	aliasFloor   = 100_000
	aliasFactor  = 20
	aliasCeiling = 10_000_000
)

// parse parses a text.
func (t text) parse() (raw.Value, error) { return t.parseWith(func(*converter) {}) }

// parseWith parses a text with a converter that how has configured.
func (t text) parseWith(how func(*converter)) (raw.Value, error) {
	if t.form == jsonForm {
		return t.parseJSON()
	}
	c := &converter{text: t, limit: min(aliasFloor+aliasFactor*len(t.data), aliasCeiling)}
	how(c)
	if v, ok := t.direct(c.oldWord != nil); ok {
		return v, nil
	}
	return c.document()
}

// document parses the whole text.
func (c *converter) document() (raw.Value, error) {
	t := c.text
	node, err := t.node()
	if err != nil {
		return raw.Value{}, err
	}
	if node == nil {
		return raw.Value{}, nil
	}
	if t.form == elementForm {
		if node.Kind != yaml.SequenceNode || len(node.Content) != 1 {
			return raw.Value{},
				t.errorAt(place{}, "this element of a list is something else to a YAML parser; indent the list's elements alike")
		}
		node = node.Content[0]
	}
	v, _, err := c.value(node, 1)
	if err != nil {
		return raw.Value{}, err
	}
	return v, nil
}

// node returns the only document of the text, or nil if it is empty.
func (t text) node() (node *yaml.Node, err error) {
	// If the library panics on a hostile document, that must not end the program.
	defer func() {
		if recover() != nil {
			node, err = nil, t.errorAt(place{}, "the YAML library cannot read this document; write it in a simpler way")
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(t.data))
	var document, more yaml.Node
	switch err := dec.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, t.syntaxError(err)
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, t.syntaxError(err)
	default:
		return nil, t.errorAt(place{more.Line, more.Column},
			"more text after the end of the document; put '---' on a separate line between documents")
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		return nil, t.errorAt(place{}, "this is no YAML document; check it with a YAML linter")
	}
	return document.Content[0], nil
}
