// Package gcp acts as service accounts of a GCP project.
package gcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/session"
)

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 1 << 20

// accountForm matches the email of a service account; its parts are the name and the project.
var accountForm = lazyregexp.New(`^([a-z][a-z0-9-]{4,28}[a-z0-9])@([a-z][a-z0-9.:-]{4,60})\.iam\.gserviceaccount\.com$`)

// issuer makes access tokens of a service account, as the account of the runner's machine.
type issuer struct {
	request  session.Request
	project  string
	metadata string // address of the metadata service
	client   *http.Client
	now      func() time.Time
}

var _ session.Issuer = (*issuer)(nil)

// Open finds the project of the runner's machine. The service account must be in that project.
func Open(ctx context.Context, request session.Request) (session.Issuer, error) {
	host := os.Getenv("GCE_METADATA_HOST")
	if host == "" {
		host = "169.254.169.254"
	}
	i := &issuer{request: request, metadata: "http://" + host + "/computeMetadata/v1/", client: http.DefaultClient,
		now: time.Now}
	parts := accountForm.FindStringSubmatch(request.Role)
	if parts == nil {
		return nil, fmt.Errorf("%.80q is not the email of a service account", request.Role)
	}
	project, err := i.ask(ctx, "project/project-id")
	if err != nil {
		return nil, fmt.Errorf("find the runner's own project: %w", err)
	}
	if i.project = strings.TrimSpace(string(project)); parts[2] != i.project {
		return nil, fmt.Errorf("the service account %s is not in the runner's own project %.60s", request.Role, i.project)
	}
	return i, nil
}

// Identity returns the email of the service account.
func (i *issuer) Identity() string { return i.request.Role }

// ask returns an answer of the metadata service.
func (i *issuer) ask(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.metadata+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Metadata-Flavor", "Google")
	return i.do(request, "the metadata service")
}

func (i *issuer) do(request *http.Request, who string) ([]byte, error) {
	answer, err := i.client.Do(request)
	if err != nil {
		return nil, &session.UnusableError{Err: fmt.Errorf("%s cannot be reached: %w", who, err)}
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", who, err)
	case answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusNotFound:
		return nil, &session.UnusableError{Refused: true, Err: errors.New(who + " does not allow it: the role is switched " +
			"off in the stack, its grant has ended, or the runner may not act as it")}
	case answer.StatusCode == http.StatusTooManyRequests, answer.StatusCode >= http.StatusInternalServerError,
		answer.StatusCode == http.StatusUnauthorized:
		return nil, &session.UnusableError{Err: fmt.Errorf("%s answered %s; it is tried again", who, answer.Status)}
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answered %s", who, answer.Status)
	}
	return body, nil
}

// Issue makes an access token for an hour. GCP has no token that ends at a given time, so a token of a grant lasts
// until the end of the grant by its lifetime.
func (i *issuer) Issue(ctx context.Context, _ string) (session.Credentials, error) {
	fail := func(err error) (session.Credentials, error) {
		return session.Credentials{}, fmt.Errorf("act as %s: %w", i.request.Role, err)
	}
	life := session.MaxSession
	if !i.request.Until.IsZero() {
		life = min(life, i.request.Until.Sub(i.now()).Truncate(time.Second))
	}
	if life < time.Second {
		return fail(errors.New("its grant has ended"))
	}
	var own struct {
		Token string `json:"access_token"`
	}
	raw, err := i.ask(ctx, "instance/service-accounts/default/token")
	if err == nil {
		err = json.Unmarshal(raw, &own)
	}
	if err != nil {
		return fail(err)
	}
	body, err := json.Marshal(map[string]any{"scope": []string{"https://www.googleapis.com/auth/cloud-platform"},
		"lifetime": fmt.Sprintf("%ds", int(life.Seconds()))})
	if err != nil {
		return fail(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://iamcredentials.googleapis.com/v1/"+
		"projects/-/serviceAccounts/"+url.PathEscape(i.request.Role)+":generateAccessToken", bytes.NewReader(body))
	if err != nil {
		return fail(err)
	}
	request.Header.Set("Authorization", "Bearer "+own.Token)
	request.Header.Set("Content-Type", "application/json")
	if raw, err = i.do(request, "GCP"); err != nil {
		return fail(err)
	}
	var made struct {
		AccessToken string    `json:"accessToken"`
		ExpireTime  time.Time `json:"expireTime"`
	}
	if err := json.Unmarshal(raw, &made); err != nil || made.AccessToken == "" {
		return fail(errors.New("GCP returned no token"))
	}
	return session.Credentials{Content: []byte(made.AccessToken), Secrets: []string{made.AccessToken, own.Token},
		Expires: made.ExpireTime}, nil
}

// Endpoint returns how a program could ask for the token. Google's libraries read no endpoint with a password.
func (i *issuer) Endpoint() session.Endpoint { return session.Endpoint{TokenHeader: "Authorization"} }

// Environ returns the variables with the first token. It is not renewed: a job of more than an hour loses it.
func (i *issuer) Environ(_, _ string, first session.Credentials) map[string]string {
	token := string(first.Content)
	return map[string]string{"GOOGLE_OAUTH_ACCESS_TOKEN": token, "CLOUDSDK_AUTH_ACCESS_TOKEN": token,
		"GOOGLE_PROJECT": i.project, "GOOGLE_CLOUD_PROJECT": i.project, "CLOUDSDK_CORE_PROJECT": i.project}
}
