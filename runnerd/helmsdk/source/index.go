package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// entry is one version of a chart in an index.
type entry struct {
	Version string   `json:"version" yaml:"version"`
	URLs    []string `json:"urls" yaml:"urls"`
	Digest  string   `json:"digest" yaml:"digest"`
	Removed bool     `json:"removed" yaml:"removed"`
}

// entries returns the versions of one chart in a repository's index.
func (s *session) entries(from chartRepo, name string) ([]entry, error) {
	content, known := s.indexes[from.String()]
	if !known {
		var err error
		if content, err = s.get(from.index(), maxIndex); err != nil {
			return nil, fmt.Errorf("get its index %s: %w", redactedURL(from.index()), err)
		}
		s.indexes[from.String()] = content
	}
	found, names, err := entriesOf(content, name)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", redactedURL(from.index()), err)
	}
	if found == nil {
		return nil, fmt.Errorf("the repository has no chart of that name; %s", nearest(name, names))
	}
	return slices.DeleteFunc(found, func(e entry) bool { return e.Removed }), nil
}

// maxParsed bounds the bytes of YAML that are parsed as a whole. A larger index is parsed in part.
const maxParsed = 8 << 20

// maxNames bounds the chart names that are collected from an index for error messages.
const maxNames = 100_000

// entriesOf returns the versions of one chart in an index, or the names of all
// charts. In YAML as Helm writes it, only the lines of that chart are parsed: to
// parse a large index as a whole would take a gigabyte.
func entriesOf(content []byte, name string) (found []entry, names []string, err error) {
	if start := bytes.TrimSpace(content[:min(len(content), 512)]); bytes.HasPrefix(start, []byte("{")) {
		return jsonEntries(content, name)
	}
	if bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(content[:min(len(content), 512)])), []byte("<")) {
		return nil, nil, errors.New("it is a web page and no index; check the repository's address")
	}
	block, names := blockOf(content, name)
	if len(block) > maxParsed {
		return nil, nil, fmt.Errorf("chart %s has %d bytes of versions in it, at most %d are read; take old ones out",
			quote(name), len(block), maxParsed)
	}
	if block != nil {
		if found, err := yamlEntries(block, name); err == nil && len(found) > 0 {
			return found, names, nil
		}
	}
	if len(content) > maxParsed {
		if len(names) == 0 {
			return nil, nil,
				fmt.Errorf("it has %d bytes, and not the form that `helm repo index` gives it; create it again with that",
					len(content))
		}
		return nil, names, nil
	}
	return wholeEntries(content, name)
}

func jsonEntries(content []byte, name string) ([]entry, []string, error) {
	var index struct {
		Entries map[string]json.RawMessage `json:"entries"`
	}
	if err := json.Unmarshal(content, &index); err != nil {
		return nil, nil, fmt.Errorf("it is not JSON: %s; create it again with `helm repo index`", clean(err.Error()))
	}
	var names []string
	for key := range index.Entries {
		names = append(names, key)
	}
	raw, there := index.Entries[name]
	if !there {
		return nil, names, nil
	}
	found := []entry{}
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, nil, fmt.Errorf("chart %s: %s; create it again with `helm repo index`", quote(name), clean(err.Error()))
	}
	return found, names, nil
}

// wholeEntries parses all of an index.
func wholeEntries(content []byte, name string) ([]entry, []string, error) {
	var index struct {
		Entries map[string]yaml.Node `yaml:"entries"`
	}
	if err := yaml.Unmarshal(content, &index); err != nil {
		return nil, nil, fmt.Errorf("%s; create it again with `helm repo index`", clean(err.Error()))
	}
	if index.Entries == nil {
		return nil, nil, errors.New("it has no entries; check the repository's address")
	}
	var names []string
	for key := range index.Entries {
		names = append(names, key)
	}
	node, there := index.Entries[name]
	if !there {
		return nil, names, nil
	}
	found := []entry{}
	if err := node.Decode(&found); err != nil {
		return nil, nil, fmt.Errorf("chart %s: %s; create it again with `helm repo index`", quote(name), clean(err.Error()))
	}
	return found, names, nil
}

// yamlEntries parses the block that blockOf found.
func yamlEntries(block []byte, name string) ([]entry, error) {
	var index map[string][]entry
	if err := yaml.Unmarshal(block, &index); err != nil {
		return nil, err
	}
	return index[name], nil
}

// blockOf cuts the lines of one chart out of an index in block style, and returns the
// names of all charts.
func blockOf(content []byte, name string) (block []byte, names []string) {
	_, rest, found := bytes.Cut(append([]byte("\n"), content...), []byte("\nentries:\n"))
	if !found {
		return nil, nil
	}
	indent := -1
	begin, end := -1, -1
	for at := 0; at < len(rest); {
		line := rest[at:]
		if cut := bytes.IndexByte(line, '\n'); cut >= 0 {
			line = line[:cut+1]
		}
		text := strings.TrimRight(string(line[:min(len(line), 300)]), "\r\n ")
		depth := len(text) - len(strings.TrimLeft(text, " "))
		switch {
		case text == "":
		case indent < 0:
			indent = depth
		case depth == 0 && indent > 0 && !strings.HasPrefix(text, "#"):
			// the next key after entries
			if begin >= 0 && end < 0 {
				end = at
			}
			return cutBlock(rest, begin, end), names
		}
		if depth == indent && text != "" && strings.HasSuffix(text, ":") && !strings.HasPrefix(text[depth:], "-") {
			key := strings.Trim(strings.TrimSuffix(text[depth:], ":"), `"'`)
			if len(names) < maxNames {
				names = append(names, key)
			}
			if begin >= 0 && end < 0 {
				end = at
			}
			if key == name && begin < 0 {
				begin = at
			}
		}
		at += len(line)
	}
	return cutBlock(rest, begin, end), names
}

func cutBlock(rest []byte, begin, end int) []byte {
	switch {
	case begin < 0:
		return nil
	case end < 0:
		return rest[begin:]
	}
	return rest[begin:end]
}
