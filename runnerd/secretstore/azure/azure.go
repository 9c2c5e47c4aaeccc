// Package azure stores secrets in an Azure Key Vault, with the runner's managed or workload identity. A secret is named
// <install id>-<name> with dashes instead of underscores, because vaults allow no other names.
package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/azureidentity"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/rest"
)

const apiVersion = "7.4"

// maxPages bounds the pages of versions of one secret.
const maxPages = 40

// Store is one Key Vault.
type Store struct {
	api   rest.Client
	vault string
}

// Options configure a store.
type Options struct {
	// Vault is the address of the vault, https://NAME.vault.azure.net.
	Vault string
	// Token returns a token; nil for those of the runner's identity.
	Token func(ctx context.Context, renew bool) (string, error)
	// FirstPause is the pause after a throttled call; zero for a second.
	FirstPause time.Duration
}

// vaultAddress matches the address of a vault in any Azure cloud.
var vaultAddress = lazyregexp.New(`^https://[A-Za-z0-9-]{3,24}\.vault\.` +
	`(azure\.net|azure\.cn|usgovcloudapi\.net)$`)

// newToken returns the tokens of the runner's identity for vaults like the given one.
func newToken(vault string) func(ctx context.Context, renew bool) (string, error) {
	_, domain, _ := strings.Cut(strings.TrimPrefix(vault, "https://"), ".")
	return azureidentity.New("https://" + domain).Token
}

// Open returns the store of a vault.
func Open(o Options) (*Store, error) {
	o.Vault = strings.TrimSuffix(o.Vault, "/")
	if o.Token == nil {
		if !vaultAddress.MatchString(o.Vault) {
			return nil,
				fmt.Errorf("%.120q is no address of a Key Vault; write vault = \"https://NAME.vault.azure.net\" under "+
					"[secrets] in the runner file", o.Vault)
		}
		o.Token = newToken(o.Vault)
	}
	if o.FirstPause == 0 {
		o.FirstPause = time.Second
	}
	return &Store{api: rest.Client{Token: o.Token, FirstPause: o.FirstPause}, vault: o.Vault}, nil
}

var allowedName = lazyregexp.New(`^[0-9A-Za-z-]{1,127}$`)

// names replaces the characters that names in a vault cannot have, each by another text.
var names = strings.NewReplacer("_", "-", ".", "--")

// secret returns the address of a secret without a query.
func (s *Store) secret(name secretstore.Name) (string, error) {
	made := names.Replace(name.Install + "-" + name.Secret)
	if name.Address != "" {
		inVault, found := strings.CutPrefix(name.Address, s.vault+"/secrets/")
		if !found {
			return "", fmt.Errorf("%.160q is no secret in %s", name.Address, s.vault)
		}
		made = inVault
	}
	if !allowedName.MatchString(made) {
		return "", fmt.Errorf("%.160q is no name of a secret in a Key Vault: letters, digits and -", made)
	}
	return s.vault + "/secrets/" + made, nil
}

func withVersion(address string) string { return address + "?api-version=" + apiVersion }

// Location returns the address of a secret.
func (s *Store) Location(name secretstore.Name) string {
	address, err := s.secret(name)
	if err != nil {
		address = name.Secret
	}
	return "Azure Key Vault " + address
}

// version is a version of a secret in a list.
type version struct {
	ID         string `json:"id"`
	Attributes struct {
		Enabled bool  `json:"enabled"`
		Created int64 `json:"created"`
	} `json:"attributes"`
}

// Version returns the id of the newest version. A vault counts in seconds: of versions of the same second the ids are
// joined, so that each of them changes the result.
func (s *Store) Version(ctx context.Context, name secretstore.Name) (string, error) {
	address, err := s.secret(name)
	if err != nil {
		return "", err
	}
	var newest []version
	next := withVersion(address + "/versions")
	for range maxPages {
		var page struct {
			Value    []version `json:"value"`
			NextLink string    `json:"nextLink"`
		}
		if err := s.api.Call(ctx, http.MethodGet, next, nil, &page); err != nil {
			return "", err
		}
		for _, v := range page.Value {
			switch {
			case len(newest) == 0 || v.Attributes.Created > newest[0].Attributes.Created:
				newest = []version{v}
			case v.Attributes.Created == newest[0].Attributes.Created:
				newest = append(newest, v)
			}
		}
		if page.NextLink == "" {
			break
		}
		if !strings.HasPrefix(page.NextLink, s.vault+"/") {
			return "", errors.New("the next page of versions is not in the vault")
		}
		next = page.NextLink
	}
	var ids []string
	for _, v := range newest {
		if v.Attributes.Enabled {
			ids = append(ids, path.Base(v.ID))
		}
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("it has no enabled version: %w", secretstore.ErrMissing)
	}
	slices.Sort(ids)
	return strings.Join(ids, "+"), nil
}

// Get returns the current value.
func (s *Store) Get(ctx context.Context, name secretstore.Name) (secretstore.Value, error) {
	address, err := s.secret(name)
	if err != nil {
		return secretstore.Value{}, err
	}
	var found struct{ Value, ID string }
	err = s.api.Call(ctx, http.MethodGet, withVersion(address), nil, &found)
	if failed := (*rest.Error)(nil); errors.As(err, &failed) && strings.Contains(failed.Message, "disabled") {
		return secretstore.Value{}, fmt.Errorf("%s: %w", failed.Message, secretstore.ErrMissing)
	}
	if err != nil {
		return secretstore.Value{}, err
	}
	return secretstore.Value{Secret: seal.NewSecret([]byte(found.Value)), Version: path.Base(found.ID)}, nil
}

// Set stores a version. It recovers a secret that was deleted.
func (s *Store) Set(ctx context.Context, name secretstore.Name, value seal.Secret) error {
	address, err := s.secret(name)
	if err != nil {
		return err
	}
	put := func() error {
		return s.api.Call(ctx, http.MethodPut, withVersion(address), map[string]string{"value": string(value.Reveal())},
			nil)
	}
	err = put()
	if failed := (*rest.Error)(nil); !errors.As(err, &failed) || failed.Status != http.StatusConflict {
		return err
	}
	recover := withVersion(s.vault + "/deletedsecrets/" + url.PathEscape(path.Base(address)) + "/recover")
	if recovered := s.api.Call(ctx, http.MethodPost, recover, nil, nil); recovered != nil {
		return errors.Join(err, recovered)
	}
	return fmt.Errorf("%s was deleted, and is being recovered; set it again in a minute", path.Base(address))
}

// Delete deletes a secret. The vault keeps it for its retention time.
func (s *Store) Delete(ctx context.Context, name secretstore.Name) error {
	address, err := s.secret(name)
	if err != nil {
		return err
	}
	return s.api.Call(ctx, http.MethodDelete, withVersion(address), nil, nil)
}
