// Package gcp stores secrets in GCP Secret Manager, with the runner's identity in the project. A secret is named
// <install id>-<name>, as install stacks name it.
package gcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"golang.org/x/oauth2/google"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/rest"
)

const (
	scope    = "https://www.googleapis.com/auth/cloud-platform"
	endpoint = "https://secretmanager.googleapis.com"
)

// Store is Secret Manager in one project.
type Store struct {
	api     rest.Client
	base    string // of requests, with the version of the API
	project string
}

// Options configure a store.
type Options struct {
	Project string
	// Endpoint is the address of the API; empty for Google's.
	Endpoint string
	// Token returns a token; nil for those of the runner's identity.
	Token func(ctx context.Context, renew bool) (string, error)
	// FirstPause is the pause after a throttled call; zero for a second.
	FirstPause time.Duration
}

var project = lazyregexp.New(`^[a-z0-9.:-]{4,64}$`)

// Open returns the store of a project.
func Open(o Options) (*Store, error) {
	if !project.MatchString(o.Project) {
		return nil, fmt.Errorf("%.80q is no id of a project; write project under [secrets] in the runner file", o.Project)
	}
	if o.Endpoint == "" {
		o.Endpoint = endpoint
	}
	if o.Token == nil {
		o.Token = token
	}
	if o.FirstPause == 0 {
		o.FirstPause = time.Second
	}
	return &Store{api: rest.Client{Token: o.Token, FirstPause: o.FirstPause}, base: o.Endpoint + "/v1/",
		project: o.Project}, nil
}

// token returns a token of the application default credentials. A new source reads the credentials again.
func token(ctx context.Context, _ bool) (string, error) {
	found, err := google.FindDefaultCredentials(ctx, scope)
	if err != nil {
		return "", err
	}
	made, err := found.TokenSource.Token()
	if err != nil {
		return "", err
	}
	return made.AccessToken, nil
}

var resource = lazyregexp.New(`^projects/[a-z0-9.:-]{4,64}/secrets/[A-Za-z0-9_-]{1,255}$`)

// resource returns the name of a secret in the API.
func (s *Store) resource(name secretstore.Name) (string, error) {
	made := "projects/" + s.project + "/secrets/" + name.Install + "-" + name.Secret
	if name.Address != "" {
		made = strings.TrimPrefix(name.Address, "//secretmanager.googleapis.com/")
	}
	if !resource.MatchString(made) {
		return "", fmt.Errorf("%.200q is no name of a secret in Secret Manager: letters, digits, - and _", made)
	}
	return made, nil
}

// Location returns the name of a secret in the API.
func (s *Store) Location(name secretstore.Name) string {
	made, err := s.resource(name)
	if err != nil {
		made = name.Secret
	}
	return "GCP Secret Manager " + made
}

// Version returns the number of the newest version.
func (s *Store) Version(ctx context.Context, name secretstore.Name) (string, error) {
	secret, err := s.resource(name)
	if err != nil {
		return "", err
	}
	var version struct{ Name, State string }
	if err := s.api.Call(ctx, http.MethodGet, s.base+secret+"/versions/latest", nil, &version); err != nil {
		return "", err
	}
	if version.State != "ENABLED" {
		return "", fmt.Errorf("its newest version is %s: %w", strings.ToLower(version.State), secretstore.ErrMissing)
	}
	return path.Base(version.Name), nil
}

// Get returns the value of the newest version.
func (s *Store) Get(ctx context.Context, name secretstore.Name) (secretstore.Value, error) {
	secret, err := s.resource(name)
	if err != nil {
		return secretstore.Value{}, err
	}
	var found struct {
		Name    string
		Payload struct{ Data string }
	}
	if err := s.api.Call(ctx, http.MethodGet, s.base+secret+"/versions/latest:access", nil, &found); err != nil {
		if failed := (*rest.Error)(nil); errors.As(err, &failed) && failed.Code == "FAILED_PRECONDITION" {
			return secretstore.Value{}, fmt.Errorf("%w: %w", err, secretstore.ErrMissing) // disabled or destroyed
		}
		return secretstore.Value{}, err
	}
	value, err := base64.StdEncoding.DecodeString(found.Payload.Data)
	if err != nil {
		return secretstore.Value{}, errors.New("the value is not encoded as base64")
	}
	return secretstore.Value{Secret: seal.NewSecret(value), Version: path.Base(found.Name)}, nil
}

// Set adds a version.
func (s *Store) Set(ctx context.Context, name secretstore.Name, value seal.Secret) error {
	secret, err := s.resource(name)
	if err != nil {
		return err
	}
	payload := map[string]any{"payload": map[string]string{"data": base64.StdEncoding.EncodeToString(value.Reveal())}}
	err = s.api.Call(ctx, http.MethodPost, s.base+secret+":addVersion", payload, nil)
	if !errors.Is(err, secretstore.ErrMissing) || name.Address != "" {
		return err
	}
	made := map[string]any{"replication": map[string]any{"automatic": map[string]any{}}}
	err = s.api.Call(ctx, http.MethodPost, s.base+"projects/"+s.project+"/secrets?secretId="+
		url.QueryEscape(path.Base(secret)), made, nil)
	if err != nil {
		return err
	}
	return s.api.Call(ctx, http.MethodPost, s.base+secret+":addVersion", payload, nil)
}

// Delete deletes a secret with all its versions.
func (s *Store) Delete(ctx context.Context, name secretstore.Name) error {
	secret, err := s.resource(name)
	if err != nil {
		return err
	}
	return s.api.Call(ctx, http.MethodDelete, s.base+secret, nil, nil)
}
