package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Format is the number of the form in which a plaintext is sealed: a line of JSON that names the format and the Context, then the
// value. Format 1 was the value alone.
const Format = 2

// The kinds of sealed values. They are stored, so they never change.
const (
	// KindInput is a sensitive input of an install; Path is its place below .nuon.
	KindInput = "input"
	// KindOutput is an output of a component or an action; Path is its place below .nuon.
	KindOutput = "output"
	// KindState is a version of a Terraform state.
	KindState = "state"
	// KindStrayState is what Terraform left of a state that was not whole.
	KindStrayState = "stray state"
	// KindBundle is a plan bundle.
	KindBundle = "bundle"
	// KindRegistration is the nonce that a runner decrypts when it registers. Path is its recipient.
	KindRegistration = "registration"
	// KindCredential is a password for a git server. Component is its row, or empty while Path, its name, is all that is known.
	KindCredential = "credential"
	// KindWebhook is the secret of a webhook. Component is its row, or empty while a client sends it.
	KindWebhook = "webhook"
	// KindAnswer is an answer of the control API that is kept to be repeated. Path is the idempotency key.
	KindAnswer = "answer"
)

// ErrContext is wrapped by Open when the value was sealed for another use than that of the caller.
var ErrContext = errors.New("sealed for another use")

// ErrFormat is wrapped by Open when the plaintext does not state what it was sealed for.
var ErrFormat = errors.New("sealed by an older version of nuon, which did not record what for; enter the value again or plan again")

// Context states what a sealed value is and where it may be used. All fields are immutable ids or names; a value opens only under
// the context that it was sealed under.
type Context struct {
	// Org is the id of the organization, of values under the control plane's own key. Values of an install leave it empty: the
	// install's id is unique, and its key is not the control plane's.
	Org string `json:"org,omitempty"`
	// Install is the id of the install.
	Install string `json:"install,omitempty"`
	// Kind is one of the Kind constants.
	Kind string `json:"kind"`
	// Component is the id of the install component that the value comes from; empty for inputs and actions.
	Component string `json:"component,omitempty"`
	// Path is where the value belongs, as its Kind states it.
	Path string `json:"path,omitempty"`
}

// InputContext returns the context of a sensitive input of an install.
func InputContext(install, name string) Context {
	return Context{Install: install, Kind: KindInput, Path: "inputs.inputs." + name}
}

// RegistrationContext returns the context of the nonce that the holder of a key decrypts when it registers. A runner opens nothing else
// for a control plane that asks it to prove its key, so that this proof reads no other value out.
func RegistrationContext(to Recipient) Context {
	return Context{Kind: KindRegistration, Path: to.String()}
}

// CredentialContext returns the context under which a client seals the password of a credential that is to be created.
func CredentialContext(org, name string) Context {
	return Context{Org: org, Kind: KindCredential, Path: name}
}

// WebhookContext returns the context under which a client seals the secret of a webhook.
func WebhookContext(org string) Context { return Context{Org: org, Kind: KindWebhook} }

// String names the use for people: `output components.db.outputs.url (component inc_1) of install ins_1`.
func (c Context) String() string {
	text := c.Kind
	if text == "" {
		text = "nothing"
	}
	if c.Path != "" {
		text += " " + c.Path
	}
	if c.Component != "" {
		text += " (component " + c.Component + ")"
	}
	switch {
	case c.Install != "":
		text += " of install " + c.Install
	case c.Org != "":
		text += " of org " + c.Org
	}
	return text
}

// line is the first line of a plaintext of format 2, with its line end.
func (c Context) line() []byte {
	encoded, err := json.Marshal(header{Format: Format, Context: c})
	if err != nil {
		// Strings always encode.
		panic("encode the context of a sealed value: " + err.Error())
	}
	return append(encoded, '\n')
}

// Hash returns the keyed hash of a value under a context: see Identity.Hash. Only a holder of the private key can make or check it,
// so it proves what a ciphertext does not: that the value came from such a holder.
func (c Context) Hash(key Identity, value []byte) string {
	return key.Hash(strings.TrimSuffix(string(c.line()), "\n"), value)
}

type header struct {
	Format int `json:"nuon_sealed"`
	Context
}

// longestHeader bounds what is read of a plaintext to find the end of its first line.
const longestHeader = 64 << 10

// unwrap returns the value behind the line that states the context.
func (c Context) unwrap(plain []byte) ([]byte, error) {
	if value, matches := bytes.CutPrefix(plain, c.line()); matches {
		return value, nil
	}
	first, _, ends := bytes.Cut(plain[:min(len(plain), longestHeader)], []byte("\n"))
	var found header
	if !ends || json.Unmarshal(first, &found) != nil || found.Format < 1 {
		return nil, ErrFormat
	}
	if found.Format != Format {
		return nil, fmt.Errorf("sealed in format %d, and this version of nuon reads format %d; update it", found.Format, Format)
	}
	return nil, fmt.Errorf("%w: it was sealed as %s, and it stands where %s belongs", ErrContext, found.Context, c)
}
