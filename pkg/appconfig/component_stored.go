package appconfig

import "encoding/json"

// storedV1 is the stored form of a component from before there were kinds other than Terraform.
type storedV1 struct {
	Kind     string            `json:"kind"`
	Version  string            `json:"terraform_version"`
	Vars     map[string]string `json:"vars"`
	VarFiles []string          `json:"var_files"`
}

// UnmarshalJSON also reads a component that an earlier release stored: stored app versions never
// change.
func (c *Component) UnmarshalJSON(data []byte) error {
	type plain Component
	read := struct {
		*plain
		storedV1
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if c.Kind == "" && read.storedV1.Kind != "" {
		c.Kind = read.storedV1.Kind
		c.Terraform = &Terraform{Version: read.Version, Vars: read.Vars, VarFiles: read.VarFiles}
	}
	return nil
}
