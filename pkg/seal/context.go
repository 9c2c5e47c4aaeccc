package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Format is the version of the plaintext format: a line of JSON with the format and the Context,
// followed by the value. Format 1 was the value alone.
const Format = 2

// The kinds of sealed values. They are stored, so they must never change.
const (
	// KindInput is a sensitive input of an install; Path is its path below .nuon.
	KindInput = "input"
	// KindVariable is a sensitive variable of an app; Path is its path below .nuon. Sealed to the
	// control plane's key, Component is the id of the app.
	KindVariable = "variable"
	// KindOutput is an output of a component or an action; Path is its path below .nuon.
	KindOutput = "output"
	// KindState is one version of a Terraform state.
	KindState = "state"
	// KindPartialState is a state file that a killed Terraform left behind and that is incomplete.
	KindPartialState = "stray state"
	// KindBundle is a plan bundle.
	KindBundle = "bundle"
	// KindRegistration is the nonce that a runner decrypts when it registers. Path is its
	// recipient.
	KindRegistration = "registration"
	// KindCredential is a password for a git server. Component is the id of its row; it is empty
	// before the row exists, and Path is then the name of the credential. For a job of a build runner,
	// Component is the job and Path the address that the credential is for.
	KindCredential = "credential"
	// KindWebhook is the secret of a webhook. Component is the id of its row; it is empty while a
	// client sends the secret.
	KindWebhook = "webhook"
	// KindResponse is a response of the control API that is stored to be repeated. Path is the
	// idempotency key.
	KindResponse = "answer"
)

// ErrContext is wrapped by Open when the value was sealed under another context.
var ErrContext = errors.New("sealed for another use")

// ErrFormat is wrapped by Open when the plaintext does not state a context.
var ErrFormat = errors.New(
	"sealed by an older version of nuon, which did not record what for; enter the value again or plan again")

// Context identifies a sealed value and the place where it may be used. All fields are immutable
// ids or names. A value opens only under the context that it was sealed under.
type Context struct {
	// Org is the id of the organization, for values that are sealed to the control plane's key. It
	// is empty for values of an install: the install's id is unique, and the install has its own
	// key.
	Org string `json:"org,omitempty"`
	// Install is the id of the install.
	Install string `json:"install,omitempty"`
	// Kind is one of the Kind constants.
	Kind string `json:"kind"`
	// Component is the id of the install component that the value comes from; empty for inputs and
	// actions.
	Component string `json:"component,omitempty"`
	// Path is the place of the value; its Kind defines the format.
	Path string `json:"path,omitempty"`
}

// InputContext returns the context of a sensitive input of an install.
func InputContext(install, name string) Context {
	return Context{Install: install, Kind: KindInput, Path: "inputs.inputs." + name}
}

// AppVariableContext returns the context of a sensitive variable of an app, which is sealed to the
// control plane's key.
func AppVariableContext(org, app, name string) Context {
	return Context{Org: org, Kind: KindVariable, Component: app, Path: "app.variables." + name}
}

// InstallVariableContext returns the context of a sensitive variable of an app in a job of an
// install, where it is sealed to the install key.
func InstallVariableContext(install, name string) Context {
	return Context{Install: install, Kind: KindVariable, Path: "app.variables." + name}
}

// RegistrationContext returns the context of the nonce that the holder of a key decrypts when it
// registers. When a control plane asks a runner to prove that it has its key, the runner opens only
// values with this context, so that the proof cannot be used to decrypt other values.
func RegistrationContext(to Recipient) Context {
	return Context{Kind: KindRegistration, Path: to.String()}
}

// CredentialContext returns the context under which a client seals the password of a new
// credential.
func CredentialContext(org, name string) Context {
	return Context{Org: org, Kind: KindCredential, Path: name}
}

// ModuleCredentialContext returns the context under which a job gets a credential for an address of
// Terraform modules, sealed to a key that it has made for that.
func ModuleCredentialContext(org, job, address string) Context {
	return Context{Org: org, Kind: KindCredential, Component: job, Path: address}
}

// WebhookContext returns the context under which a client seals the secret of a webhook.
func WebhookContext(org string) Context { return Context{Org: org, Kind: KindWebhook} }

// String describes the context for messages: `output components.db.outputs.url (component inc_1) of
// install ins_1`.
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

// header returns the first line of a plaintext of format 2, with its line end.
func (c Context) header() []byte {
	encoded, err := json.Marshal(contextHeader{Format: Format, Context: c})
	if err != nil {
		// Strings always encode.
		panic("encode the context of a sealed value: " + err.Error())
	}
	return append(encoded, '\n')
}

// Hash returns the keyed hash of a value under a context; see Identity.Hash. Only a holder of the
// private key can compute it, so unlike a ciphertext it proves that the value came from a holder of
// that key.
func (c Context) Hash(key Identity, value []byte) string {
	return key.Hash(strings.TrimSuffix(string(c.header()), "\n"), value)
}

type contextHeader struct {
	Format int `json:"nuon_sealed"`
	Context
}

// maxHeader bounds how many bytes of a plaintext are searched for the end of its first line.
const maxHeader = 64 << 10

// unwrap returns the value that follows the context line.
func (c Context) unwrap(plain []byte) ([]byte, error) {
	if value, matches := bytes.CutPrefix(plain, c.header()); matches {
		return value, nil
	}
	first, _, terminated := bytes.Cut(plain[:min(len(plain), maxHeader)], []byte("\n"))
	var found contextHeader
	if !terminated || json.Unmarshal(first, &found) != nil || found.Format < 1 {
		return nil, ErrFormat
	}
	if found.Format != Format {
		return nil, fmt.Errorf("sealed in format %d, and this version of nuon reads format %d; update it",
			found.Format, Format)
	}
	return nil, fmt.Errorf("%w: it was sealed as %s, and it stands where %s belongs", ErrContext, found.Context, c)
}
