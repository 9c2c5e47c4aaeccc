package state

import (
	"encoding/json"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Version is one version of a state. The zero Version stands for no state.
type Version struct {
	// Serial counts the versions of one lineage; 0 when there is no state.
	Serial int64
	// Lineage names the state over its versions; empty when there is no state.
	Lineage string
	// Plain is the state as Terraform wrote it.
	Plain seal.Secret
}

// Output is one output of a root module, as its state has it.
type Output struct {
	// Value is JSON.
	Value seal.Secret
	// Sensitive is the module's own mark.
	Sensitive bool
}

// parse reads what the product needs of a state, whose format 4 is the same in every Terraform since 0.12 and in OpenTofu.
func parse(plain []byte) (Version, error) {
	var head struct {
		Version int    `json:"version"`
		Serial  *int64 `json:"serial"`
		Lineage string `json:"lineage"`
	}
	if err := json.Unmarshal(plain, &head); err != nil {
		// The decoder's words could quote the state.
		return Version{}, fmt.Errorf("the state is not JSON; if it is encrypted by OpenTofu itself, switch that off: the runner seals every state")
	}
	if head.Version != 4 || head.Serial == nil || head.Lineage == "" {
		return Version{}, fmt.Errorf("the state is of format %d, not 4, or has no serial and lineage; use Terraform 0.12 or newer", head.Version)
	}
	return Version{Serial: *head.Serial, Lineage: head.Lineage, Plain: seal.NewSecret(plain)}, nil
}

// Outputs gives the outputs by name; none for no state.
func (v Version) Outputs() (map[string]Output, error) {
	made := map[string]Output{}
	if v.Plain.IsZero() {
		return made, nil
	}
	var read struct {
		Outputs map[string]struct {
			Value     json.RawMessage `json:"value"`
			Sensitive bool            `json:"sensitive"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal(v.Plain.Reveal(), &read); err != nil {
		return nil, fmt.Errorf("the state's outputs cannot be read")
	}
	for name, output := range read.Outputs {
		value := output.Value
		if value == nil {
			value = json.RawMessage("null")
		}
		made[name] = Output{Value: seal.NewSecret(value), Sensitive: output.Sensitive}
	}
	return made, nil
}

// Sealed parses a state and gives it as it may leave this machine; context keeps the hashes of one component's states apart from
// another's.
func Sealed(plain []byte, key seal.Identity, context string) (api.State, error) {
	version, err := parse(plain)
	if err != nil {
		return api.State{}, err
	}
	return version.sealed(key, context)
}

// sealed gives the version as it may leave this process.
func (v Version) sealed(key seal.Identity, context string) (api.State, error) {
	plain := v.Plain.Reveal()
	closed, err := key.Recipient().Seal(plain)
	if err != nil {
		return api.State{}, fmt.Errorf("seal the state: %w", err)
	}
	return api.State{Serial: v.Serial, Lineage: v.Lineage, Digest: v.digest(key, context), Sealed: closed}, nil
}

// digest is a hash that only holders of the install key can make.
func (v Version) digest(key seal.Identity, context string) string {
	return key.Hash("state/"+context, v.Plain.Reveal())
}
