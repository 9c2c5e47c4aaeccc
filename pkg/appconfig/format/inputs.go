package format

// Inputs is inputs.toml: the values that each install can or must set.
type Inputs struct {
	// Groups in which inputs are shown, in this order.
	Groups []InputGroup `toml:"group" json:"group,omitempty"`
	// The inputs, in this order.
	Inputs []Input `toml:"input" json:"input,omitempty"`
	// A second TOML file whose groups and inputs are added.
	Source string `toml:"source" json:"source,omitempty" example:"./shared.toml"`
	// More TOML files whose groups and inputs are added.
	Sources []string `toml:"sources" json:"sources,omitempty" example:"./sizing.toml"`
}

// InputGroup is a group of inputs; a file below input_groups/ contains a single one.
type InputGroup struct {
	// Name, by which inputs refer to the group.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"sizing"`
	// Name that people see.
	DisplayName string `toml:"display_name" json:"display_name,omitempty" example:"Sizing"`
	// What the inputs of the group are for.
	Description string `toml:"description" json:"description,omitempty" config:"required" example:"How big the install is"`

	Group Unsupported `toml:"group" json:"-" hint:"remove it: a group is in no group"`
}

// Input is a value that each install sets; a file below inputs/ contains a single one. In templates
// it is always a string.
type Input struct {
	// Name, by which templates read it: .nuon.inputs.inputs.NAME.
	Name string `toml:"name" json:"name,omitempty" config:"required" example:"min_nodes"`
	// Name that people see.
	DisplayName string `toml:"display_name" json:"display_name,omitempty" config:"required" example:"Minimum nodes"`
	// What it does.
	Description string `toml:"description" json:"description,omitempty" config:"required" example:"Smallest size of the cluster"`
	// Name of the group under which it is shown.
	Group string `toml:"group" json:"group,omitempty" config:"required" example:"sizing"`
	// Type of the value.
	Type string `toml:"type" json:"type,omitempty" config:"one=string|number|bool|list|json|yaml|hcl,default=string"`
	// Value of installs that do not set it.
	Default *string `toml:"default" json:"default,omitempty" example:"2"`
	// Every install must set it.
	Required bool `toml:"required" json:"required,omitempty"`
	// Only the install can decrypt the value; it is never written to a file and never shown.
	Sensitive bool `toml:"sensitive" json:"sensitive,omitempty"`
	// Only the vendor can set it.
	Internal bool `toml:"internal" json:"internal,omitempty" config:"idle"`
	// The customer sets it, as a parameter of the stack.
	UserConfigurable bool `toml:"user_configurable" json:"user_configurable,omitempty" config:"idle"`
}
