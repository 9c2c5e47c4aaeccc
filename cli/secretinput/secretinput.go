// Package secretinput implements `nuon credentials` and `nuon webhooks`, and reads and seals
// secrets for all commands. A secret is read from a file, the environment or a prompt,
// never from an argument, and is sealed before it is sent.
package secretinput

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/apiclient"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Read reads a secret from env:NAME, from @FILE or, if from is empty, from a prompt on
// the terminal.
func Read(ctx context.Context, c *console.Console, what, from string) (seal.Secret, error) {
	switch {
	case strings.HasPrefix(from, "env:"):
		v, ok := os.LookupEnv(strings.TrimPrefix(from, "env:"))
		if !ok {
			return seal.Secret{}, exitcode.Usagef("%s: environment variable %s is not set", what,
				strings.TrimPrefix(from, "env:"))
		}
		return seal.NewSecret([]byte(v)), nil
	case strings.HasPrefix(from, "@"):
		b, err := os.ReadFile(strings.TrimPrefix(from, "@"))
		if err != nil {
			return seal.Secret{}, exitcode.With(exitcode.Usage, fmt.Errorf("%s: %w", what, err))
		}
		// a final newline added by an editor is not part of the secret
		if line, ended := bytes.CutSuffix(b, []byte("\n")); ended {
			b = bytes.TrimSuffix(line, []byte("\r"))
		}
		return seal.NewSecret(b), nil
	case from != "":
		return seal.Secret{}, exitcode.Usagef("%s: use env:NAME or @FILE; others can see a secret in an argument", what)
	}
	if !c.Asks() {
		return seal.Secret{}, exitcode.With(exitcode.Usage,
			errors.New(what+": no terminal to prompt on; use env:NAME or @FILE"))
	}
	text, err := c.AskHidden(ctx, what+" (hidden): ")
	if err != nil {
		return seal.Secret{}, fmt.Errorf("read %s: %w", what, err)
	}
	return seal.NewSecret([]byte(text)), nil
}

// Key is a key that secrets are sealed to before they are sent.
type Key struct {
	api.SealingKey
	recipient seal.Recipient
}

// FetchKey requests a key from the control plane: that of an install or, without parameters, its own.
func FetchKey(ctx context.Context, client *apiclient.Client, params api.GetSealingKeyParams) (Key, error) {
	key, err := apiclient.Decode[api.SealingKey](client.GetSealingKey(ctx, &params))
	if err != nil {
		return Key{}, err
	}
	to, err := seal.ParseRecipient(key.Recipient)
	if err != nil {
		return Key{}, fmt.Errorf("read the sealing key: %w", err)
	}
	return Key{SealingKey: key, recipient: to}, nil
}

// Fingerprint returns the fingerprint computed from the key itself, not the one in the response.
func (k Key) Fingerprint() string { return k.recipient.Fingerprint() }

// Seal seals a secret for one use.
func (k Key) Seal(use seal.Context, secret seal.Secret) (seal.Sealed, error) {
	return k.recipient.Seal(use, secret.Reveal())
}
