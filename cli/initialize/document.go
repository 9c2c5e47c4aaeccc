package initialize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// maxDocuments is the maximum number of documents that are read of one file.
const maxDocuments = 500

// documents parses the YAML documents of a file into node trees, in which aliases are
// not expanded. It converts a panic of the parser into an error.
func documents(text []byte) (all []*yaml.Node, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("invalid YAML: %v", caught)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for len(all) < maxDocuments {
		var n yaml.Node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("invalid YAML: %s", plain(err.Error()))
		}
		all = append(all, &n)
	}
	return all, nil
}

// nodeAt returns the value at a path of keys and list indexes, or nil if there is none.
// It does not follow aliases.
func nodeAt(n *yaml.Node, keys ...string) *yaml.Node {
	for n != nil && n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil
		}
		n = n.Content[0]
	}
	if n == nil || len(keys) == 0 {
		return n
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == keys[0] {
				return nodeAt(n.Content[i+1], keys[1:]...)
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(keys[0]); err == nil && i < len(n.Content) {
			return nodeAt(n.Content[i], keys[1:]...)
		}
	}
	return nil
}

// scalarAt returns the scalar at a path on one line, or "" if there is none.
func scalarAt(n *yaml.Node, keys ...string) string {
	if n = nodeAt(n, keys...); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return plain(n.Value)
}
