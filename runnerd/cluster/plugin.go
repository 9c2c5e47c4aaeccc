package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess"
)

const (
	// pluginLimit is how long a plugin may take for one credential, and pluginGrace how long
	// after it was interrupted.
	pluginLimit, pluginGrace = 60 * time.Second, 2 * time.Second
	// pluginOutput bounds a plugin's output, in bytes.
	pluginOutput = 1 << 20
	// renewBefore is how long before its expiry a token is replaced.
	renewBefore = 30 * time.Second
)

// credential is the output of a plugin, in either version of the protocol. It holds secrets.
type credential struct {
	Kind   string `json:"kind"`
	Status *struct {
		ExpirationTimestamp   time.Time `json:"expirationTimestamp"`
		Token                 string    `json:"token"`
		ClientCertificateData string    `json:"clientCertificateData"`
		ClientKeyData         string    `json:"clientKeyData"`
	} `json:"status"`
}

// tokenSource runs a plugin for credentials. client-go's own implementation is not used:
// it passes this process's whole environment to the program, prints the program's standard
// error where nobody reads it, and reports a failure without it.
type tokenSource struct {
	path    string
	args    []string
	environ []string
	name    string
	opener  opener
	now     func() time.Time

	mutex   sync.Mutex
	token   string
	expires time.Time
}

// installPlugin replaces the plugin in config by our own, returns it, and runs it once, so that its
// errors are reported before anything else is done.
func (o opener) installPlugin(config *rest.Config) (*tokenSource, error) {
	given := config.ExecProvider
	config.ExecProvider = nil
	s, err := o.newTokenSource(given, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), pluginLimit)
	defer cancel()
	got, err := s.runPlugin(ctx)
	if err != nil {
		return nil, err
	}
	if got.Status.ClientCertificateData != "" {
		// Certificates last for hours and a job is shorter, so this one is not renewed.
		config.CertData, config.KeyData = []byte(got.Status.ClientCertificateData), []byte(got.Status.ClientKeyData)
	}
	if got.Status.Token != "" {
		s.setToken(got)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &loginTransport{source: s, next: next} })
	}
	return s, nil
}

func (o opener) newTokenSource(given *clientcmdapi.ExecConfig, config *rest.Config) (*tokenSource, error) {
	if given.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
		return nil, fmt.Errorf("the plugin %s for the cluster's credentials asks for input, which a runner cannot "+
			"give; use one "+
			"that does not", given.Command)
	}
	environ := jobenv.ToolEnv(o.environ)
	for _, each := range given.Env {
		environ[each.Name] = each.Value
		if secretName(each.Name) {
			o.secret([]byte(each.Value))
		}
	}
	info, err := pluginInfo(given, config)
	if err != nil {
		return nil, err
	}
	environ["KUBERNETES_EXEC_INFO"] = info
	made := &tokenSource{name: given.Command, opener: o, now: time.Now, args: append([]string{given.Command},
		given.Args...)}
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		made.environ = append(made.environ, name+"="+environ[name])
	}
	if made.path, err = exec.LookPath(given.Command); err == nil {
		made.path, err = filepath.Abs(made.path)
	}
	if err != nil {
		hint := given.InstallHint
		if hint == "" {
			hint = "install it on the runner's machine"
		}
		return nil, fmt.Errorf("the program %s, which gives the credentials for the cluster at %s, is not on the "+
			"runner's PATH; %s", given.Command, config.Host, diff.EscapeText(hint))
	}
	return made, nil
}

// secretName reports whether a variable's name suggests that its value is a secret.
func secretName(name string) bool {
	return slices.ContainsFunc([]string{"SECRET", "TOKEN", "PASSWORD", "KEY"},
		func(word string) bool { return strings.Contains(strings.ToUpper(name), word) })
}

// pluginInfo returns the content of KUBERNETES_EXEC_INFO for a plugin.
func pluginInfo(given *clientcmdapi.ExecConfig, config *rest.Config) (string, error) {
	spec := map[string]any{"interactive": false}
	if given.ProvideClusterInfo {
		spec["cluster"] = map[string]any{"server": config.Host, "certificate-authority-data": config.CAData,
			"tls-server-name": config.ServerName}
	}
	encoded, err := json.Marshal(map[string]any{"kind": "ExecCredential", "apiVersion": given.APIVersion, "spec": spec})
	if err != nil {
		return "", fmt.Errorf("tell the plugin %s of the cluster: %w", given.Command, err)
	}
	return string(encoded), nil
}

// runPlugin runs the program and returns its credential.
func (s *tokenSource) runPlugin(ctx context.Context) (credential, error) {
	ctx, cancel := context.WithTimeout(ctx, pluginLimit)
	defer cancel()
	stdout, stderr := limitedBuffer{cancel: cancel}, limitedBuffer{cancel: cancel}
	err := subprocess.Program{
		Path: s.path, Args: s.args, Dir: "/", Env: s.environ, Stdout: &stdout, Stderr: &stderr,
		Name: s.name, Group: true, Grace: pluginGrace, Warn: s.opener.log.Warn,
	}.Run(ctx)
	switch {
	case stdout.full || stderr.full:
		err = fmt.Errorf("it printed more than %d bytes", pluginOutput)
	case ctx.Err() != nil:
		err = fmt.Errorf("it did not end in %s", pluginLimit)
	}
	if err != nil {
		return credential{}, fmt.Errorf("the program %s, which gives the credentials for the cluster: %w%s; see to it that "+
			"the runner's identity may log in there", s.name, err, s.stderrTail(stderr.text.Bytes()))
	}
	var got credential
	if err := json.Unmarshal(stdout.text.Bytes(), &got); err != nil || got.Status == nil ||
		got.Status.Token == "" && got.Status.ClientCertificateData == "" {
		// The output may be a credential in another format, so it is not shown.
		return credential{}, fmt.Errorf("the program %s printed no ExecCredential with a status%s; see to it that it is of "+
			"a version that knows %s", s.name, s.stderrTail(stderr.text.Bytes()), "client.authentication.k8s.io")
	}
	for _, secret := range []string{got.Status.Token, got.Status.ClientKeyData} {
		if secret != "" {
			s.opener.secret([]byte(secret))
		}
	}
	return got, nil
}

// stderrTail returns the end of a program's standard error as one line without secrets.
func (s *tokenSource) stderrTail(text []byte) string {
	const most = 1000
	words := strings.Join(strings.Fields(s.opener.hide(string(text))), " ")
	if len(words) > most {
		words = "…" + strings.ToValidUTF8(words[len(words)-most:], "")
	}
	if words == "" {
		return ""
	}
	return ": " + diff.EscapeText(words)
}

func (s *tokenSource) setToken(got credential) {
	s.token, s.expires = got.Status.Token, got.Status.ExpirationTimestamp
}

// currentToken returns a valid token. It runs the program again when the token has expired,
// or when it is the refused one, which the server rejected.
func (s *tokenSource) currentToken(ctx context.Context, refused string) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	old := !s.expires.IsZero() && s.now().Add(renewBefore).After(s.expires)
	if !old && s.token != refused {
		return s.token, nil
	}
	got, err := s.runPlugin(ctx)
	if err != nil {
		return "", err
	}
	s.setToken(got)
	return s.token, nil
}

// loginTransport adds the token to each request, and retries once with a new token when
// the server rejects it.
type loginTransport struct {
	source *tokenSource
	next   http.RoundTripper
}

// RoundTrip sends the request with a token.
func (l *loginTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := l.source.currentToken(request.Context(), "")
	if err != nil {
		return nil, err
	}
	response, err := l.send(request, token)
	if err != nil || response.StatusCode != http.StatusUnauthorized || request.Body != nil && request.GetBody == nil {
		return response, err
	}
	fresh, err := l.source.currentToken(request.Context(), token)
	if err != nil || fresh == token {
		return response, nil //nolint:nilerr // then the refusal is the answer
	}
	_ = response.Body.Close()
	return l.send(request, fresh)
}

func (l *loginTransport) send(request *http.Request, token string) (*http.Response, error) {
	sent := request.Clone(request.Context())
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		sent.Body = body
	}
	sent.Header.Set("Authorization", "Bearer "+token)
	return l.next.RoundTrip(sent)
}

// limitedBuffer stores a program's output, up to pluginOutput bytes. More output ends the program.
type limitedBuffer struct {
	text   bytes.Buffer
	cancel context.CancelFunc
	full   bool
}

// Write returns an error for output beyond the limit.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > pluginOutput {
		b.full = true
		b.cancel()
		return 0, errors.New("it printed too much")
	}
	return b.text.Write(p)
}
