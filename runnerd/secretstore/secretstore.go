// Package secretstore reads and writes the customer's secrets: values that exist only in the customer's account and
// that nobody sends to the control plane.
//
// It owns the names under which an install's secrets are stored, the limits of a value, and the errors by which a
// missing secret differs from one that may not be read. One folder below it implements Store for each kind of
// store. The runner's owner chooses the store (the section [secrets] of the runner file); the control plane cannot.
package secretstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/seal"
)

// Store is a store of secrets. Errors wrap ErrMissing or ErrNotPermitted where these apply, and contain no value.
type Store interface {
	// Version returns the id of the current version of a secret. It reads no value.
	Version(ctx context.Context, name Name) (string, error)
	// Get returns the current value.
	Get(ctx context.Context, name Name) (Value, error)
	// Set stores a new version, and creates the secret if it does not exist.
	Set(ctx context.Context, name Name, value seal.Secret) error
	// Delete deletes a secret with all its versions.
	Delete(ctx context.Context, name Name) error
	// Location returns where people find a secret in this store.
	Location(name Name) string
}

// Name names a secret of an install. Address is empty, or the address of a secret that the store did not name,
// such as the one of a database that manages its own password.
type Name struct{ Install, Secret, Address string }

// Value is the value of a secret and the id of its version.
type Value struct {
	Secret  seal.Secret
	Version string
}

var (
	// ErrMissing is the error for a secret that does not exist, or that has no value.
	ErrMissing = errors.New("it does not exist")
	// ErrNotPermitted is the error of a store that denies access.
	ErrNotPermitted = errors.New("access is denied")
)

// MaxValueBytes is the largest value that all stores accept.
const MaxValueBytes = 25000

var (
	installID  = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	secretName = lazyregexp.New(`^[a-z0-9_]([a-z0-9_.]{0,126}[a-z0-9_])?$`)
)

// Check returns an error for a name that could lead to a secret of another install.
func (n Name) Check() error {
	switch {
	case !installID.MatchString(n.Install):
		return fmt.Errorf("%.80q is no id of an install", n.Install)
	case !secretName.MatchString(n.Secret):
		return fmt.Errorf("%.80q is no name of a secret; use lower-case letters, digits, dots and underscores", n.Secret)
	}
	return nil
}

// CheckValue returns an error for a value that not every store accepts.
func CheckValue(value []byte) error {
	switch {
	case len(value) == 0:
		return errors.New("the value is empty")
	case len(value) > MaxValueBytes:
		return fmt.Errorf("the value has %d bytes, and a secret at most %d", len(value), MaxValueBytes)
	}
	return nil
}

// generatedLength is the length of a generated secret, as in install stacks.
const generatedLength = 63

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Generate returns a random value of letters and digits.
func Generate() seal.Secret {
	made := make([]byte, 0, generatedLength)
	var random [1]byte
	for len(made) < generatedLength {
		_, _ = rand.Read(random[:])                   // it never fails
		if n := int(random[0]); n < 4*len(alphabet) { // so that each is equally likely
			made = append(made, alphabet[n%len(alphabet)])
		}
	}
	return seal.NewSecret(made)
}

// Limited is a store of which only the secrets of some installs are accessible.
type Limited struct {
	Store
	// Installs are the ids of the installs; nil for all.
	Installs []string
	// Addresses are the addresses of secrets that the owner has stored under other names, by name.
	Addresses map[string]string
}

// resolve returns the name with which the store knows a secret, or an error for a secret that is not accessible.
func (l Limited) resolve(name Name) (Name, error) {
	if err := name.Check(); err != nil {
		return Name{}, err
	}
	if l.Installs != nil && !slices.Contains(l.Installs, name.Install) {
		return Name{}, fmt.Errorf("the runner file does not list install %s in installs under [secrets]: %w", name.Install,
			ErrNotPermitted)
	}
	if name.Address == "" {
		name.Address = l.Addresses[name.Secret]
	}
	return name, nil
}

// Location returns where people find a secret.
func (l Limited) Location(name Name) string {
	if found, err := l.resolve(name); err == nil {
		name = found
	}
	return l.Store.Location(name)
}

// Version returns the id of the current version.
func (l Limited) Version(ctx context.Context, name Name) (string, error) {
	name, err := l.resolve(name)
	if err != nil {
		return "", err
	}
	return l.Store.Version(ctx, name)
}

// Get returns the current value.
func (l Limited) Get(ctx context.Context, name Name) (Value, error) {
	name, err := l.resolve(name)
	if err != nil {
		return Value{}, err
	}
	return l.Store.Get(ctx, name)
}

// Set stores a new version.
func (l Limited) Set(ctx context.Context, name Name, value seal.Secret) error {
	name, err := l.resolve(name)
	if err != nil {
		return err
	}
	if err := CheckValue(value.Reveal()); err != nil {
		return err
	}
	return l.Store.Set(ctx, name, value)
}

// Delete deletes a secret.
func (l Limited) Delete(ctx context.Context, name Name) error {
	name, err := l.resolve(name)
	if err != nil {
		return err
	}
	return l.Store.Delete(ctx, name)
}
