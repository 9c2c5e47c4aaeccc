package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Version is one version of a state. The zero Version means no state.
type Version struct {
	// Serial numbers the versions of one lineage; 0 when there is no state.
	Serial int64
	// Lineage identifies a state across its versions; empty when there is no state.
	Lineage string
	// Plain is the state as Terraform wrote it.
	Plain seal.Secret
}

// Output is one output of a root module in its state.
type Output struct {
	// Value is the value as JSON.
	Value seal.Secret
	// Sensitive is set when the module marks the output as sensitive.
	Sensitive bool
}

// parse reads the fields of a state that the product needs. Format 4 is the same in every
// Terraform since 0.12 and in OpenTofu.
func parse(plain []byte) (Version, error) {
	var head struct {
		Version int    `json:"version"`
		Serial  *int64 `json:"serial"`
		Lineage string `json:"lineage"`
	}
	if err := json.Unmarshal(plain, &head); err != nil {
		// The decoder's error could quote the state.
		return Version{}, fmt.Errorf("the state is not JSON; if it is encrypted by OpenTofu itself, switch that off: the " +
			"runner seals every state")
	}
	if head.Version != 4 || head.Serial == nil || head.Lineage == "" {
		return Version{}, fmt.Errorf("the state is of format %d, not 4, or has no serial and lineage; use Terraform "+
			"0.12 or newer", head.Version)
	}
	return Version{Serial: *head.Serial, Lineage: head.Lineage, Plain: seal.NewSecret(plain)}, nil
}

// Outputs returns the outputs by name; none for no state.
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

// ContextOf returns the seal context of the states of a spec's component.
func ContextOf(spec api.DeploySpec) seal.Context {
	return seal.Context{Install: spec.InstallID, Kind: seal.KindState, Component: spec.InstallComponent}
}

// OpenVersion opens a stored version, and checks that serial and lineage are as stated, that it
// belongs to the component of the context, and that a runner of its install wrote it.
func OpenVersion(kept api.State, key seal.Identity, context seal.Context) (Version, error) {
	plain, err := key.Open(kept.Sealed, context)
	if errors.Is(err, seal.ErrContext) {
		return Version{}, fmt.Errorf("open the state (serial %d): %w: the control plane sent it for another place "+
			"than it is sealed for; do not "+
			"apply, check the audit log", kept.Serial, err)
	}
	if err != nil {
		return Version{}, fmt.Errorf("open the state (serial %d): %w; give the runner the key file that it had before; if "+
			"that is lost, nobody can read this state any more: restore a version that was sealed to the key of now (nuon "+
			"state restore), or go on without a state (nuon state abandon)", kept.Serial, err)
	}
	version, err := parse(plain.Reveal())
	if err != nil {
		return Version{}, err
	}
	if version.Serial != kept.Serial || version.Lineage != kept.Lineage {
		return Version{}, fmt.Errorf("the control plane calls this state serial %d of %s, but it is serial %d of %s: it "+
			"was changed on the way; do not apply, look at the audit log", kept.Serial, kept.Lineage, version.Serial,
			version.Lineage)
	}
	if kept.Digest != version.digest(key, context) {
		// Anyone can seal to a public key; the hash needs the private key.
		return Version{}, fmt.Errorf("this state (serial %d) was not written by a runner of this install; do not apply, "+
			"look at the audit log", kept.Serial)
	}
	return version, nil
}

// SealVersion returns a version in the form that may leave this machine, bound to the
// component of the context.
func SealVersion(version Version, key seal.Identity, context seal.Context) (api.State, error) {
	return version.seal(key, context)
}

// ParseStateFile parses a state that Terraform wrote to a file. first is the lineage for a state that
// has none: Terraform sets a lineage only after it has checked that there is no earlier state,
// so a first state that it saves without a response has none. Where a state existed before,
// first is empty, and a state without a lineage is an error.
func ParseStateFile(plain []byte, first string) (Version, error) {
	version, err := parse(plain)
	if err == nil || first == "" {
		return version, err
	}
	var head struct {
		Version int    `json:"version"`
		Lineage string `json:"lineage"`
	}
	if json.Unmarshal(plain, &head) != nil || head.Version != 4 || head.Lineage != "" {
		return Version{}, err
	}
	return withHead(plain, 1, first)
}

// WithSerial returns the same content with another serial and lineage.
func (v Version) WithSerial(serial int64, lineage string) (Version, error) {
	return withHead(v.Plain.Reveal(), serial, lineage)
}

// withHead changes the head of a state and preserves the rest of its content.
func withHead(plain []byte, serial int64, lineage string) (Version, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(plain, &fields); err != nil {
		return Version{}, fmt.Errorf("the state is not JSON")
	}
	removeFields(fields, "serial", "lineage")
	var err error
	if fields["serial"], err = json.Marshal(serial); err != nil {
		return Version{}, fmt.Errorf("number the state: %w", err)
	}
	if fields["lineage"], err = json.Marshal(lineage); err != nil {
		return Version{}, fmt.Errorf("number the state: %w", err)
	}
	made, err := json.Marshal(fields)
	if err != nil {
		return Version{}, fmt.Errorf("number the state: %w", err)
	}
	return parse(made)
}

// removeFields removes fields in every spelling that a case-insensitive reader accepts.
func removeFields(fields map[string]json.RawMessage, names ...string) {
	for field := range fields {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, field) }) {
			delete(fields, field)
		}
	}
}

// seal returns the version in the form that may leave this process.
func (v Version) seal(key seal.Identity, context seal.Context) (api.State, error) {
	plain := v.Plain.Reveal()
	closed, err := key.Recipient().Seal(context, plain)
	if err != nil {
		return api.State{}, fmt.Errorf("seal the state: %w", err)
	}
	return api.State{Serial: v.Serial, Lineage: v.Lineage, Digest: v.digest(key, context), Sealed: closed}, nil
}

// digest returns a hash that only holders of the install key can compute.
func (v Version) digest(key seal.Identity, context seal.Context) string {
	return context.Hash(key, v.Plain.Reveal())
}
