package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// shelf is a Backend that stores states in memory.
type shelf struct {
	mutex   sync.Mutex
	states  []api.State
	held    *api.StateLock
	full    error
	away    error
	direct  int // number of states that bypassed the disk
	unlocks int
}

func (s *shelf) GetState(ctx context.Context) (api.State, bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.states) == 0 {
		return api.State{}, false, ctx.Err()
	}
	return s.states[len(s.states)-1], true, ctx.Err()
}

func (s *shelf) LockState(_ context.Context, lock api.StateLock) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.held != nil {
		return fmt.Errorf("lock: %w", &job.LockedError{Holder: *s.held})
	}
	s.held = &lock
	return nil
}

func (s *shelf) UnlockState(ctx context.Context) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.held = nil
	s.unlocks++
	return ctx.Err()
}

func (s *shelf) SpoolState(state api.State) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.full != nil {
		return s.full
	}
	s.states = append(s.states, state)
	return nil
}

func (s *shelf) DeliverState(_ context.Context, state api.State) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.away != nil {
		return s.away
	}
	s.states = append(s.states, state)
	s.direct++
	return nil
}

// client uses an endpoint as Terraform does.
type client struct {
	t   *testing.T
	env map[string]string
}

func (c client) do(method, query, body string, headers ...string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequest(method, c.env["TF_HTTP_ADDRESS"]+query, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.SetBasicAuth(c.env["TF_HTTP_USERNAME"], c.env["TF_HTTP_PASSWORD"])
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, string(said)
}

func (c client) want(status int, method, query, body string, headers ...string) string {
	c.t.Helper()
	got, said := c.do(method, query, body, headers...)
	if got != status {
		c.t.Fatalf("%s %s: got %d %s, want %d", method, query, got, said, status)
	}
	return said
}

func start(t *testing.T, options Options) (*Endpoint, client) {
	t.Helper()
	if options.Key.IsZero() {
		options.Key = identity(t)
	}
	made, err := Start(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return made, client{t: t, env: made.Environ()}
}

func identity(t *testing.T) seal.Identity {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

const planted = "planted-in-the-state"

var component = seal.Context{Install: "ins_1", Kind: seal.KindState, Component: "ic"}

func written(serial int) string {
	return fmt.Sprintf(`{"version":4,"serial":%d,"lineage":"line-1","outputs":{"token":{"value":["%s"],"sensitive":true},"url":{"value":"http://x"}},
 "resources":[{"instances":[{"attributes":{"input":{"value":[{"deep":"%s-too"}]}},"sensitive_attributes":[[{"type":"get_attr","value":"input"},{"type":"get_attr","value":"value"},{"type":"index","value":{"value":0,"type":"number"}}]]}]}]}`, serial, planted, planted)
}

func TestProtocol(t *testing.T) {
	remote, key := &shelf{}, identity(t)
	var learnt []string
	endpoint, terraform := start(t,
		Options{Backend: remote, Key: key, Context: component,
			OnSecret: func(secret []byte) { learnt = append(learnt, string(secret)) }})

	terraform.want(http.StatusNotFound, "GET", "", "")
	terraform.want(http.StatusOK, "LOCK", "", `{"ID":"lock-1","Who":"me"}`)
	terraform.want(http.StatusLocked, "LOCK", "", `{"ID":"lock-2"}`)
	terraform.want(http.StatusConflict, "POST", "?ID=lock-2", written(1))
	terraform.want(http.StatusOK, "POST", "?ID=lock-1", written(1))
	terraform.want(http.StatusOK, "POST", "?ID=lock-1", written(2))
	if got := terraform.want(http.StatusOK, "GET", "", ""); got != written(2) {
		t.Fatalf("got %s", got)
	}
	terraform.want(http.StatusConflict, "UNLOCK", "", `{"ID":"lock-2"}`)
	terraform.want(http.StatusOK, "UNLOCK", "", `{"ID":"lock-1"}`)

	if !slices.Contains(learnt, planted) || !slices.Contains(learnt, planted+"-too") ||
		slices.Contains(learnt, "http://x") {
		t.Fatalf("learnt %q", learnt)
	}
	if len(remote.states) != 2 || remote.held != nil {
		t.Fatalf("%d states, held %v", len(remote.states), remote.held)
	}
	kept := remote.states[1]
	shipped, err := json.Marshal(remote.states)
	if err != nil || bytes.Contains(shipped, []byte(planted)) {
		t.Fatalf("the state left in plain: %v", err)
	}
	opened, err := key.Open(kept.Sealed, component)
	if err != nil || string(opened.Reveal()) != written(2) || kept.Serial != 2 || kept.Lineage != "line-1" ||
		!strings.HasPrefix(kept.Digest, "hmac:") {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if last := endpoint.LastVersion(); last.Serial != 2 || last.Lineage != "line-1" {
		t.Fatalf("last is %d of %s", last.Serial, last.Lineage)
	}
	outputs, err := endpoint.LastVersion().Outputs()
	if err != nil || !outputs["token"].Sensitive || outputs["url"].Sensitive ||
		string(outputs["url"].Value.Reveal()) != `"http://x"` {
		t.Fatal(outputs, err)
	}
}

// TestNextProcessReads checks that the next process of this install reads
// what the last one wrote.
func TestNextProcessReads(t *testing.T) {
	remote, key := &shelf{}, identity(t)
	_, first := start(t, Options{Backend: remote, Key: key})
	first.want(http.StatusOK, "LOCK", "", `{"ID":"lock-1"}`)
	first.want(http.StatusOK, "POST", "?ID=lock-1", written(7))
	first.want(http.StatusOK, "UNLOCK", "", `{"ID":"lock-1"}`)
	endpoint, second := start(t, Options{Backend: remote, Key: key})
	if got := second.want(http.StatusOK, "GET", "", ""); got != written(7) {
		t.Fatalf("got %s", got)
	}
	if version, err := endpoint.Read(context.Background()); err != nil || version.Serial != 7 {
		t.Fatal(version.Serial, err)
	}
	_, stranger := start(t, Options{Backend: remote})
	if said := stranger.want(http.StatusInternalServerError, "GET", "", ""); !strings.Contains(said, key.KeyID()) {
		t.Fatalf("the key that is needed is not named: %s", said)
	}
	forged, err := key.Recipient().Seal(seal.Context{}, []byte(written(7)))
	if err != nil {
		t.Fatal(err)
	}
	honest := remote.states[0]
	remote.states[0] = api.State{Serial: 7, Lineage: honest.Lineage, Digest: "hmac:" + strings.Repeat("0", 64),
		Sealed: forged}
	_, deceived := start(t, Options{Backend: remote, Key: key})
	if said := deceived.want(http.StatusInternalServerError, "GET", "", ""); !strings.Contains(said,
		"not written by a runner of this install") {
		t.Fatal(said)
	}
	remote.states[0] = honest
	remote.states[0].Serial = 8
	_, third := start(t, Options{Backend: remote, Key: key})
	if said := third.want(http.StatusInternalServerError, "GET", "", ""); !strings.Contains(said,
		"it was changed on the way") {
		t.Fatal(said)
	}
}

func TestHeldByAnother(t *testing.T) {
	remote := &shelf{held: &api.StateLock{ID: "theirs", Holder: "job_9 attempt 1",
		Info: json.RawMessage(`{"Operation":"OperationTypeApply"}`)}}
	endpoint, terraform := start(t, Options{Backend: remote})
	said := terraform.want(http.StatusLocked, "LOCK", "", `{"ID":"mine"}`)
	var holder map[string]string
	if err := json.Unmarshal([]byte(said), &holder); err != nil || holder["ID"] != "theirs" ||
		holder["Who"] != "job_9 attempt 1" || holder["Operation"] != "OperationTypeApply" {
		t.Fatal(said, err)
	}
	if err := endpoint.Err(); err == nil || !strings.Contains(err.Error(), "job_9 attempt 1") {
		t.Fatal(err)
	}
	remote.held.Info = json.RawMessage(`null`)
	if said := terraform.want(http.StatusLocked, "LOCK", "", `{"ID":"mine"}`); !strings.Contains(said, "theirs") {
		t.Fatal(said)
	}
	remote.held = nil
	terraform.want(http.StatusOK, "LOCK", "", `{"ID":"mine"}`)
	if err := endpoint.Err(); err != nil {
		t.Fatal(err)
	}
	terraform.want(http.StatusOK, "UNLOCK", "", "")
}

func TestCloseFreesTheLock(t *testing.T) {
	remote := &shelf{}
	ctx, cancel := context.WithCancel(context.Background())
	endpoint, err := Start(ctx, Options{Backend: remote, Key: identity(t)})
	if err != nil {
		t.Fatal(err)
	}
	terraform := client{t: t, env: endpoint.Environ()}
	terraform.want(http.StatusNotFound, "GET", "", "")
	terraform.want(http.StatusOK, "LOCK", "", `{"ID":"lock-1"}`)
	remote.states = []api.State{{}} // cannot be opened: the endpoint must read it again after the lock was taken
	terraform.want(http.StatusInternalServerError, "GET", "", "")
	remote.states = nil
	terraform.want(http.StatusNotFound, "GET", "", "")
	cancel()
	// A canceled job can still write its state, which Terraform reads first …
	terraform.want(http.StatusNotFound, "GET", "", "")
	terraform.want(http.StatusOK, "POST", "?ID=lock-1", written(1))
	// … and its lock is freed, even if Terraform is killed before it does so.
	if err := endpoint.Close(ctx); err != nil || remote.held != nil || remote.unlocks != 1 || len(remote.states) != 1 {
		t.Fatal(err, remote.held, remote.unlocks)
	}
	again, err := Start(ctx, Options{Backend: remote, Key: identity(t)})
	if err != nil || again.Close(ctx) != nil || remote.unlocks != 1 {
		t.Fatal("a lock that it did not hold was freed", err, remote.unlocks)
	}
}

func TestRefuses(t *testing.T) {
	remote := &shelf{}
	endpoint, terraform := start(t, Options{Backend: remote})
	terraform.want(http.StatusMethodNotAllowed, "DELETE", "", "")
	terraform.want(http.StatusBadRequest, "LOCK", "", "")
	terraform.want(http.StatusBadRequest, "LOCK", "", "{")
	terraform.want(http.StatusConflict, "POST", "", written(1))
	terraform.want(http.StatusOK, "LOCK", "", `{"ID":"l"}`)
	terraform.want(http.StatusBadRequest, "POST", "?ID=l", written(1), "Content-MD5", "AAAA")
	for _, broken := range []string{"", "{", `{"version":3,"serial":1,"lineage":"a"}`, `{"version":4,"lineage":"a"}`,
		`{"version":4,"serial":1}`, `{"encrypted_data":"` + planted + `"}`} {
		if said := terraform.want(http.StatusInternalServerError, "POST", "?ID=l", broken); strings.Contains(said, planted) {
			t.Fatal(said)
		}
	}
	terraform.env["TF_HTTP_PASSWORD"] = "guess"
	terraform.want(http.StatusUnauthorized, "GET", "", "")
	if len(remote.states) != 0 {
		t.Fatal(remote.states)
	}
	other := client{t: t, env: endpoint.Environ()}
	other.want(http.StatusNotFound, "GET", "", "")
	if err := endpoint.StoreState(t.Context(), []byte(written(1)), ""); err != nil || len(remote.states) != 1 {
		t.Fatal(err)
	}
	other.want(http.StatusOK, "GET", "", "")
	if _, err := Start(context.Background(), Options{Backend: remote}); err == nil {
		t.Fatal("it started without a key")
	}
}

// TestAFullDisk checks that with a full disk nothing is lost while the control plane accepts
// the state. Otherwise the state is neither acknowledged nor served.
func TestAFullDisk(t *testing.T) {
	remote := &shelf{full: errors.New("no space left"), away: errors.New("no contact")}
	var said []string
	_, terraform := start(t, Options{Backend: remote, Logf: func(format string,
		args ...any) {
		said = append(said, fmt.Sprintf(format, args...))
	}})
	terraform.want(http.StatusOK, "LOCK", "", `{"ID":"l"}`)
	answer := terraform.want(http.StatusInternalServerError, "POST", "?ID=l", written(1))
	if !strings.Contains(answer, "no space left") || !strings.Contains(answer, "no contact") {
		t.Fatal(answer)
	}
	terraform.want(http.StatusNotFound, "GET", "", "")
	remote.away = nil
	terraform.want(http.StatusOK, "POST", "?ID=l", written(1))
	terraform.want(http.StatusOK, "GET", "", "")
	if remote.direct != 1 || len(said) != 1 || !strings.Contains(said[0], "make room") {
		t.Fatal(remote.direct, said)
	}
}

// TestKilledInMidWrite kills Terraform while it writes its state: an incomplete state is not
// stored, and a complete one is, although Terraform never gets the response.
func TestKilledInMidWrite(t *testing.T) {
	for name, test := range map[string]struct{ cut, states int }{"half of it came": {40, 0}, "all of it came": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			remote := &shelf{}
			endpoint, err := Start(t.Context(), Options{Backend: remote, Key: identity(t)})
			if err != nil {
				t.Fatal(err)
			}
			terraform := client{t: t, env: endpoint.Environ()}
			terraform.want(http.StatusOK, "LOCK", "", `{"ID":"lock-1"}`)
			address, err := url.Parse(terraform.env["TF_HTTP_ADDRESS"])
			if err != nil {
				t.Fatal(err)
			}
			line, err := net.Dial("tcp", address.Host)
			if err != nil {
				t.Fatal(err)
			}
			request, err := http.NewRequest(http.MethodPost, address.String()+"?ID=lock-1", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.SetBasicAuth(terraform.env["TF_HTTP_USERNAME"], terraform.env["TF_HTTP_PASSWORD"])
			body := written(1)
			if _, err := fmt.Fprintf(line, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s",
				request.URL.RequestURI(), address.Host, request.Header.Get("Authorization"), len(body),
				body[:len(body)-test.cut]); err != nil {
				t.Fatal(err)
			}
			if err := line.Close(); err != nil {
				t.Fatal(err)
			}
			kept := func() int {
				remote.mutex.Lock()
				defer remote.mutex.Unlock()
				return len(remote.states)
			}
			testtime.Until(t, "the states are kept", func() bool { return kept() == test.states })
			// Close waits for the open request, and frees the lock that Terraform left.
			if err := endpoint.Close(t.Context()); err != nil || kept() != test.states || remote.held != nil {
				t.Fatal(err, kept(), remote.held)
			}
		})
	}
}
