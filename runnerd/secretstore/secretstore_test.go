package secretstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
)

// untouched is a store that fails the test when it is used.
type untouched struct{ *testing.T }

func (s untouched) Version(context.Context, secretstore.Name) (string, error) {
	s.Error("the version was read")
	return "", nil
}

func (s untouched) Get(context.Context, secretstore.Name) (secretstore.Value, error) {
	s.Error("the value was read")
	return secretstore.Value{}, nil
}

func (s untouched) Set(context.Context, secretstore.Name, seal.Secret) error {
	s.Error("a value was stored")
	return nil
}

func (s untouched) Delete(context.Context, secretstore.Name) error {
	s.Error("a secret was deleted")
	return nil
}

func (untouched) Location(secretstore.Name) string { return "" }

// TestSecretsOfOtherInstalls checks that no name leads out of the secrets of the installs that the owner lists.
func TestSecretsOfOtherInstalls(t *testing.T) {
	store := secretstore.Limited{Store: untouched{t}, Installs: []string{"ins_1"}}
	for _, name := range []secretstore.Name{
		{Install: "ins_2", Secret: "db"}, {Install: "ins_1/../ins_2", Secret: "db"}, {Install: "ins_1",
			Secret: "../ins_2/db"},
		{Install: "", Secret: "ins_2/db"}, {Install: "ins_1", Secret: "ins_2/db"}, {Install: "ins_1", Secret: "DB"},
		{Install: "ins_1", Secret: "."}, {Install: "ins_1", Secret: ""}, {Install: "ins_1", Secret: "a\nb"},
		{Install: "ins_1", Secret: strings.Repeat("a", 200)},
	} {
		_, errVersion := store.Version(t.Context(), name)
		_, errGet := store.Get(t.Context(), name)
		for _, err := range []error{errVersion, errGet, store.Set(t.Context(), name, seal.NewSecret([]byte("x"))),
			store.Delete(t.Context(), name)} {
			if err == nil {
				t.Errorf("%q is accepted", name)
			}
		}
	}
	_, err := store.Get(t.Context(), secretstore.Name{Install: "ins_2", Secret: "db"})
	if !errors.Is(err, secretstore.ErrNotPermitted) {
		t.Errorf("another install is %v", err)
	}
}

func TestValues(t *testing.T) {
	store := secretstore.Limited{Store: untouched{t}}
	for _, value := range []string{"", strings.Repeat("x", secretstore.MaxValueBytes+1)} {
		if err := store.Set(t.Context(), secretstore.Name{Install: "ins_1", Secret: "db"},
			seal.NewSecret([]byte(value))); err == nil {
			t.Errorf("a value of %d bytes is accepted", len(value))
		}
	}
}

func TestGenerate(t *testing.T) {
	first, second := string(secretstore.Generate().Reveal()), string(secretstore.Generate().Reveal())
	if len(first) != 63 || first == second || strings.ContainsFunc(first, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		t.Errorf("%d characters", len(first))
	}
}

// named is a store whose versions are the names that it was asked for.
type named struct{ untouched }

func (named) Version(_ context.Context, name secretstore.Name) (string, error) {
	return name.Address, nil
}

func TestAddressesOfTheOwner(t *testing.T) {
	store := secretstore.Limited{Store: named{untouched{t}}, Addresses: map[string]string{"db": "owner"}}
	for name, want := range map[secretstore.Name]string{
		{Install: "ins_1", Secret: "db"}: "owner", {Install: "ins_1", Secret: "db", Address: "output"}: "output",
		{Install: "ins_1", Secret: "mail"}: "",
	} {
		if got, err := store.Version(t.Context(), name); err != nil || got != want {
			t.Errorf("%v has the address %q, %v", name, got, err)
		}
	}
}
