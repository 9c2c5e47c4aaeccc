package jsonschema

// Draft is the version of JSON Schema that the schemas use.
const Draft = "http://json-schema.org/draft-07/schema#"

// Schema is a JSON Schema, as far as this package uses it. The zero value allows everything.
type Schema struct {
	Draft                string             `json:"$schema,omitempty"`
	Title                string             `json:"title,omitempty"`
	Description          string             `json:"description,omitempty"`
	Deprecated           bool               `json:"deprecated,omitempty"`
	Type                 any                `json:"type,omitempty"` // string or []string
	Enum                 []string           `json:"enum,omitempty"`
	Pattern              string             `json:"pattern,omitempty"`
	MinLength            int                `json:"minLength,omitempty"`
	Default              any                `json:"default,omitempty"` // string, bool or int
	Examples             []any              `json:"examples,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	MinItems             int                `json:"minItems,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"`
	AnyOf                []*Schema          `json:"anyOf,omitempty"`
	Not                  *Schema            `json:"not,omitempty"`
	If                   *Schema            `json:"if,omitempty"`
	Then                 *Schema            `json:"then,omitempty"`
	Else                 *Schema            `json:"else,omitempty"`
	Taplo                *Taplo             `json:"x-taplo,omitempty"`
}

// Taplo has the extensions of the Taplo language server.
type Taplo struct {
	// Hidden excludes a key from completion.
	Hidden bool `json:"hidden,omitempty"`
}

func hidden() *Taplo { return &Taplo{Hidden: true} }

// rejected returns a schema that rejects every value. Some editors show the title of the schema
// that a value must not match, so why is the title there too.
func rejected(why string) *Schema { return &Schema{Description: why, Not: &Schema{Title: why}} }

// unknownKey rejects a key that is not in the format. It is not the schema false, because editors
// then mark the whole table.
func unknownKey() *Schema { return rejected("No key of the format.") }

// scalarTypes returns the types that are allowed where a string is expected: existing files rely on it.
func scalarTypes() []string { return []string{"string", "number", "boolean"} }
