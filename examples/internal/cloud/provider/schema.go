package main

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

//go:embed schemas/*.json
var schemaFiles embed.FS

// schemaFile is the schema of a provider, in the form of `terraform providers schema -json` with
// two additions: provider_meta, and computed on blocks that the provider fills.
type schemaFile struct {
	Provider  *rootBlock `json:"provider"`
	Meta      *rootBlock `json:"provider_meta"`
	Resources schemas    `json:"resource_schemas"`
	Data      schemas    `json:"data_source_schemas"`
}

// schemas are the schemas of resource types or of data sources. Each is parsed when it is first used:
// Terraform starts many processes of a provider, and most of them need few of hundreds of types.
type schemas struct {
	mu     sync.Mutex
	texts  map[string]json.RawMessage
	parsed map[string]*rootBlock
}

// UnmarshalJSON splits the text into those of the schemas.
func (s *schemas) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, &s.texts) }

// names returns the names of all types, sorted.
func (s *schemas) names() []string { return sortedKeys(s.texts) }

// get returns the schema of a type, or nil if there is none.
func (s *schemas) get(name string) *rootBlock {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.parsed[name]; found != nil {
		return found
	}
	text := s.texts[name]
	if text == nil {
		return nil
	}
	made := &rootBlock{}
	err := json.Unmarshal(text, made)
	if err == nil {
		err = made.Block.parse()
	}
	if err != nil {
		panic(fmt.Sprintf("the recorded schema of %s: %v", name, err)) // TestEveryType parses all of them
	}
	if s.parsed == nil {
		s.parsed = map[string]*rootBlock{}
	}
	s.parsed[name] = made
	return made
}

// rootBlock is the schema of a provider, a resource type or a data source.
type rootBlock struct {
	Version int64  `json:"version"`
	Block   *block `json:"block"`
}

// block has attributes and nested blocks. A nested attribute type is a block without blocks.
type block struct {
	Attributes map[string]*attribute   `json:"attributes"`
	Blocks     map[string]*nestedBlock `json:"block_types"`

	object *tftypes.Object
}

type attribute struct {
	Type      json.RawMessage `json:"type"`
	Nested    *nestedType     `json:"nested_type"`
	Required  bool            `json:"required"`
	Optional  bool            `json:"optional"`
	Computed  bool            `json:"computed"`
	Sensitive bool            `json:"sensitive"`
	WriteOnly bool            `json:"write_only"`

	parsed tftypes.Type
}

type nestedType struct {
	block
	Mode string `json:"nesting_mode"`
}

type nestedBlock struct {
	Block    *block `json:"block"`
	Mode     string `json:"nesting_mode"`
	MinItems int64  `json:"min_items"`
	MaxItems int64  `json:"max_items"`
	Computed bool   `json:"computed"`
}

// loadSchema returns the schema of a provider: that of its major version if there is one, otherwise
// the only one.
func loadSchema(provider, version string) (*schemaFile, error) {
	major, _, _ := strings.Cut(version, ".")
	content, err := schemaFiles.ReadFile("schemas/" + provider + "-" + major + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		content, err = schemaFiles.ReadFile("schemas/" + provider + ".json")
	}
	if err != nil {
		return nil, fmt.Errorf("no schema of provider %s %s: %w", provider, version, err)
	}
	var file schemaFile
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("schema of provider %s %s: %w", provider, version, err)
	}
	if file.Provider == nil {
		file.Provider = &rootBlock{Block: &block{}}
	}
	for _, root := range []*rootBlock{file.Provider, file.Meta} {
		if root == nil {
			continue
		}
		if err := root.Block.parse(); err != nil {
			return nil, fmt.Errorf("schema of provider %s %s: %w", provider, version, err)
		}
	}
	return &file, nil
}

// parse parses the types of all attributes, so that later reads cannot fail.
func (b *block) parse() (err error) {
	types := map[string]tftypes.Type{}
	for name, a := range b.Attributes {
		if a.Nested != nil {
			if err := a.Nested.parse(); err != nil {
				return err
			}
			a.parsed = nest(a.Nested.Mode, *a.Nested.object)
		} else if a.parsed, err = parseType(a.Type); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		types[name] = a.parsed
	}
	for name, n := range b.Blocks {
		if err := n.Block.parse(); err != nil {
			return err
		}
		types[name] = nest(n.Mode, *n.Block.object)
	}
	b.object = &tftypes.Object{AttributeTypes: types}
	return nil
}

// parseType parses a type as Terraform writes it in JSON.
func parseType(text json.RawMessage) (tftypes.Type, error) {
	return tftypes.ParseJSONType(text) //nolint:staticcheck // there is no other parser of this form
}

// nest returns the type of a nested object in a nesting mode.
func nest(mode string, object tftypes.Type) tftypes.Type {
	switch mode {
	case "list":
		return tftypes.List{ElementType: object}
	case "set":
		return tftypes.Set{ElementType: object}
	case "map":
		return tftypes.Map{ElementType: object}
	}
	return object
}

var attributeNesting = map[string]tfprotov6.SchemaObjectNestingMode{
	"single": tfprotov6.SchemaObjectNestingModeSingle, "list": tfprotov6.SchemaObjectNestingModeList,
	"set": tfprotov6.SchemaObjectNestingModeSet, "map": tfprotov6.SchemaObjectNestingModeMap,
}

var blockNesting = map[string]tfprotov6.SchemaNestedBlockNestingMode{
	"single": tfprotov6.SchemaNestedBlockNestingModeSingle, "list": tfprotov6.SchemaNestedBlockNestingModeList,
	"set": tfprotov6.SchemaNestedBlockNestingModeSet, "map": tfprotov6.SchemaNestedBlockNestingModeMap,
	"group": tfprotov6.SchemaNestedBlockNestingModeGroup,
}

// proto returns the schema as the protocol has it, nil for nil.
func (r *rootBlock) proto() *tfprotov6.Schema {
	if r == nil {
		return nil
	}
	made := r.Block.proto()
	made.Version = r.Version
	return &tfprotov6.Schema{Version: r.Version, Block: made}
}

func (b *block) proto() *tfprotov6.SchemaBlock {
	made := &tfprotov6.SchemaBlock{Attributes: b.protoAttributes()}
	for _, name := range sortedKeys(b.Blocks) {
		n := b.Blocks[name]
		made.BlockTypes = append(made.BlockTypes, &tfprotov6.SchemaNestedBlock{TypeName: name, Block: n.Block.proto(),
			Nesting: blockNesting[n.Mode], MinItems: n.MinItems, MaxItems: n.MaxItems})
	}
	return made
}

func (b *block) protoAttributes() (made []*tfprotov6.SchemaAttribute) {
	for _, name := range sortedKeys(b.Attributes) {
		a := b.Attributes[name]
		one := &tfprotov6.SchemaAttribute{Name: name, Required: a.Required, Optional: a.Optional, Computed: a.Computed,
			Sensitive: a.Sensitive, WriteOnly: a.WriteOnly}
		if a.Nested != nil {
			one.NestedType = &tfprotov6.SchemaObject{Attributes: a.Nested.protoAttributes(),
				Nesting: attributeNesting[a.Nested.Mode]}
		} else {
			one.Type = a.parsed
		}
		made = append(made, one)
	}
	return made
}

func protoSchemas(names []string, get func(string) *rootBlock) map[string]*tfprotov6.Schema {
	made := map[string]*tfprotov6.Schema{}
	for _, name := range names {
		made[name] = get(name).proto()
	}
	return made
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
