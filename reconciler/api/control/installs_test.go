package control_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/id"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/jobs/jobstest"
)

// planted must never be found in a row.
const planted = "planted-secret-77ab"

// TestInputErrorsComeAllAtOnce checks creation and changes.
func TestInputErrorsComeAllAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.app("hello", hello("web"))
	operator := w.one.token["operator"]
	made := id.New("ins")
	sealed := w.sealed(seal.InputContext(made, "api_token"), w.key.Recipient(), planted)
	check := func(a answer, want ...string) {
		t.Helper()
		p := w.refusedAs(a, http.StatusUnprocessableEntity, "bad_inputs")
		var said []string
		for _, d := range p.Diagnostics {
			said = append(said, d.Message)
		}
		if len(said) != len(want) {
			t.Errorf("said %q, want %d things", said, len(want))
		}
		for _, words := range want {
			if !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, words) }) {
				t.Errorf("%q says nothing of %q", said, words)
			}
		}
		if strings.Contains(a.Body, planted) {
			t.Error("the answer repeats the value")
		}
	}
	create := func(inputs ...any) answer {
		return w.call(operator, http.MethodPost, "/v1/installs", map[string]any{
			"id": made, "app": "hello", "name": "acme", "inputs": inputs,
		})
	}
	plain := func(name, value string) any { return map[string]any{"name": name, "value": value} }
	secret := func(name string) any { return map[string]any{"name": name, "sealed": sealed} }
	check(create(), "region has no value", "api_token has no value")
	check(create(plain("api_token", planted), plain("colour", "red"), secret("greeting")),
		"region has no value", "api_token is sensitive", `no input "colour"`, "greeting is not sensitive")
	check(create(plain("region", "eu"), plain("region", "us"), plain("api_token", planted), secret("api_token")),
		"region is set twice", "api_token is set twice", "api_token is sensitive")
	check(create(plain("region", "eu"), map[string]any{
		"name": "api_token", "sealed": map[string]any{"key_id": "", "ciphertext": sealed.Ciphertext},
	}), "api_token is sealed, but")
	if n := w.text("select count(*)::text from installs") + w.text("select count(*)::text from runners"); n != "00" {
		t.Errorf("installs and runners after refusals: %s", n)
	}
	if got := create(plain("region", "eu"), secret("api_token")); got.Status != http.StatusCreated {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	check(w.call(operator, http.MethodPatch, "/v1/installs/acme",
		map[string]any{"inputs": []any{plain("api_token", planted), plain("colour", "red")}}),
		"api_token is sensitive", `no input "colour"`)
	w.nowhere(planted)
}

// TestInputThatTheAppNoLongerHas checks that it does not block changes of the other inputs.
func TestInputThatTheAppNoLongerHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := hello("web")
	config.Inputs = config.Inputs[:2]
	w.one.app("hello", config)
	change := func(name, value string) int {
		got, err := w.one.as("operator").UpdateInstallWithResponse(t.Context(), "acme",
			api.InstallChange{Inputs: []api.InputValue{{Name: name, Value: value}}})
		must(t, err)
		return got.StatusCode()
	}
	got, err := w.one.as("operator").CreateInstallWithResponse(t.Context(), nil, api.NewInstall{App: "hello",
		Name: "acme", Inputs: []api.InputValue{
			{Name: "region", Value: "eu"}, {Name: "greeting", Value: "hi"},
		}})
	must(t, err)
	if got.JSON201 == nil {
		t.Fatalf("%s", got.Body)
	}
	raw, err := json.Marshal(map[string]any{"inputs": config.Inputs[:1]})
	must(t, err)
	w.exec("update app_versions set config = $1", raw)
	if status := change("region", "us"); status != http.StatusOK {
		t.Errorf("changing an input that is there: %d", status)
	}
	if status := change("greeting", "ho"); status != http.StatusUnprocessableEntity {
		t.Errorf("changing an input that is gone: %d", status)
	}
}

// TestSecretInputsAreSealedToWhoReadsThem checks that they are sealed to the control plane until
// the runner has registered, and to the install's key from then on.
func TestSecretInputsAreSealedToWhoReadsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.app("hello", hello("web"))
	client := w.one.as("operator")
	install, err := seal.NewIdentity()
	must(t, err)
	stranger, err := seal.NewIdentity()
	must(t, err)

	key := w.sealingKey("")
	if key.KeyID != w.key.KeyID() {
		t.Fatalf("the key is %s, want the control plane's", key.KeyID)
	}
	ins := id.New("ins")
	use := seal.InputContext(ins, "api_token")
	values := func(to seal.Recipient) []api.InputValue {
		return []api.InputValue{
			{Name: "region", Value: "eu"}, {Name: "api_token", Sealed: w.sealed(use, to, planted), Sensitive: true},
		}
	}
	refused, err := client.CreateInstallWithResponse(t.Context(), nil, api.NewInstall{
		ID: ins, App: "hello", Name: "acme", Inputs: values(stranger.Recipient()),
	})
	must(t, err)
	if f := refused.ApplicationProblemJSONDefault; f == nil || f.Code != "wrong_key" ||
		!strings.Contains(f.Title, stranger.KeyID()) {
		t.Errorf("sealed to a stranger: %s", refused.Body)
	}
	made, err := client.CreateInstallWithResponse(t.Context(), nil, api.NewInstall{
		ID: ins, App: "hello", Name: "acme", Inputs: values(w.key.Recipient()),
	})
	must(t, err)
	if made.JSON201 == nil {
		t.Fatalf("%s", made.Body)
	}
	if i := slices.IndexFunc(
		made.JSON201.Install.Inputs, func(v api.InputValue) bool { return v.Name == "api_token" },
	); i < 0 ||
		!made.JSON201.Install.Inputs[i].Sensitive || made.JSON201.Install.Inputs[i].Value != "" ||
		!made.JSON201.Install.Inputs[i].Sealed.IsZero() {
		t.Errorf("the install shows %+v", made.JSON201.Install.Inputs)
	}
	old := w.kept("api_token")
	if old.KeyID != w.key.KeyID() {
		t.Errorf("kept under %s before the runner has registered", old.KeyID)
	}

	_, err = jobstest.Register(t.Context(), w.runners, made.JSON201.Runner.RegistrationToken, install,
		api.Registration{Version: "1", Capacity: 1})
	must(t, err)
	if now := w.sealingKey("acme"); now.KeyID != install.KeyID() || now.Recipient != install.Recipient().String() {
		t.Errorf("the sealing key is %+v after the runner has registered", now)
	}
	w.opens(install, use, w.kept("api_token"), planted)
	w.nowhere(base64.StdEncoding.EncodeToString(old.Ciphertext))

	// A value sealed to the earlier key is accepted and resealed; one sealed to the current key is
	// stored unchanged.
	for _, to := range []seal.Recipient{w.key.Recipient(), install.Recipient()} {
		changed, err := client.UpdateInstallWithResponse(t.Context(), "acme",
			api.InstallChange{Inputs: []api.InputValue{{Name: "api_token", Sealed: w.sealed(use, to, planted+"2")}}})
		must(t, err)
		if changed.JSON200 == nil {
			t.Fatalf("%s", changed.Body)
		}
		w.opens(install, use, w.kept("api_token"), planted+"2")
	}
	bad, err := client.UpdateInstallWithResponse(t.Context(), "acme",
		api.InstallChange{
			Inputs: []api.InputValue{{Name: "api_token", Sealed: w.sealed(use, stranger.Recipient(), planted)}},
		})
	must(t, err)
	if f := bad.ApplicationProblemJSONDefault; f == nil || f.Code != "wrong_key" {
		t.Errorf("a change that is sealed to a stranger: %s", bad.Body)
	}
	relabelled := seal.Sealed{KeyID: w.key.KeyID(), Ciphertext: w.sealed(use, stranger.Recipient(), planted).Ciphertext}
	bad, err = client.UpdateInstallWithResponse(t.Context(), "acme",
		api.InstallChange{Inputs: []api.InputValue{{Name: "api_token", Sealed: relabelled}}})
	must(t, err)
	if f := bad.ApplicationProblemJSONDefault; f == nil || f.Code != "unreadable_secret" {
		t.Errorf("a change that cannot be opened: %s", bad.Body)
	}
	w.opens(install, use, w.kept("api_token"), planted+"2")
	w.nowhere(planted)
}

// TestCredentialsAndWebhooksKeepNoSecret checks that no row contains a secret in plain text.
func TestCredentialsAndWebhooksKeepNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.one.as("admin")
	made, err := client.CreateCredentialWithResponse(t.Context(), api.NewCredential{
		Name: "git", Password: w.sealed(seal.CredentialContext(w.one.org.ID, "git"), w.key.Recipient(), planted),
	})
	must(t, err)
	if made.JSON201 == nil || made.JSON201.Username != "git" {
		t.Errorf("%s", made.Body)
	}
	stranger, err := seal.NewIdentity()
	must(t, err)
	bad, err := client.CreateCredentialWithResponse(t.Context(), api.NewCredential{
		Name: "other", Password: w.sealed(seal.CredentialContext(w.one.org.ID, "other"), stranger.Recipient(), planted),
	})
	must(t, err)
	if f := bad.ApplicationProblemJSONDefault; f == nil || f.Code != "wrong_key" {
		t.Errorf("%s", bad.Body)
	}
	hook, err := client.CreateWebhookWithResponse(t.Context(), api.NewWebhook{})
	must(t, err)
	shown, err := client.ListCredentialsWithResponse(t.Context())
	must(t, err)
	if len(shown.JSON200.Items) != 1 || strings.Contains(string(shown.Body), "ciphertext") {
		t.Errorf("%s", shown.Body)
	}
	w.nowhere(planted)
	w.nowhere(hook.JSON201.Secret)
}

// TestRepositoriesOfACredential checks that a credential is for the repositories that it names, and
// for that of the first app if it names none.
func TestRepositoriesOfACredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.one.as("admin")
	create := func(name string, repositories ...string) (made *api.Credential, why string) {
		t.Helper()
		answer, err := client.CreateCredentialWithResponse(t.Context(),
			api.NewCredential{
				Name: name, Repositories: repositories,
				Password: w.sealed(seal.CredentialContext(w.one.org.ID, name), w.key.Recipient(), planted),
			})
		must(t, err)
		if f := answer.ApplicationProblemJSONDefault; f != nil {
			return nil, f.Title
		}
		return answer.JSON201, ""
	}
	app := func(name, url, credential string) string {
		t.Helper()
		answer, err := client.CreateAppWithResponse(t.Context(), nil, api.NewApp{
			Name: name, Repository: url, Credential: credential,
		})
		must(t, err)
		if f := answer.ApplicationProblemJSONDefault; f != nil {
			return f.Title
		}
		return ""
	}
	for _, bad := range []string{
		"*", "https://*", "https://git.example/../b", "https://git.example/a*", "file:///a", "git@git.example:a/b",
	} {
		if _, why := create("bad", bad); why == "" {
			t.Errorf("%s is taken for a repository", bad)
		}
	}
	create("one")
	if why := app("first", "https://git.example/acme/app", "one"); why != "" {
		t.Error(why)
	}
	if why := app("second", "https://git.example/acme/else", "one"); !strings.Contains(why,
		"nuon credentials update one --add-repository https://git.example/acme/else") {
		t.Errorf("another app's repository: %q", why)
	}
	if why := app("stolen", "https://evil.example/acme/app", "one"); why == "" {
		t.Error("another server gets the credential")
	}
	made, _ := create("all", "https://GIT.example/acme/*", "https://git.example/x/y/")
	if made == nil ||
		!slices.Equal(made.Repositories, []string{"https://git.example/acme/*", "https://git.example/x/y"}) {
		t.Errorf("made %+v", made)
	}
	if why := app("third", "https://git.example/acme/sub/app", "all"); why != "" {
		t.Error(why)
	}
	update := func(as, name string, change api.CredentialUpdate) (now []string, status int) {
		t.Helper()
		answer, err := w.one.as(as).UpdateCredentialWithResponse(t.Context(), name, change)
		must(t, err)
		if answer.JSON200 == nil {
			return nil, answer.StatusCode()
		}
		return answer.JSON200.Repositories, http.StatusOK
	}
	add := api.CredentialUpdate{AddRepositories: []string{"https://git.example/acme/else"}}
	if _, status := update("operator", "one", add); status != http.StatusForbidden {
		t.Errorf("an operator changes a credential: %d", status)
	}
	if now, _ := update("admin", "one", add); !slices.Equal(now, []string{
		"https://git.example/acme/app", "https://git.example/acme/else",
	}) {
		t.Errorf("now %q", now)
	}
	if why := app("second", "https://git.example/acme/else", "one"); why != "" {
		t.Error(why)
	}
	none := api.CredentialUpdate{
		RemoveRepositories: []string{"https://git.example/acme/app", "https://git.example/acme/else"},
	}
	if _, status := update("admin", "one", none); status != http.StatusUnprocessableEntity {
		t.Errorf("a credential for none: %d", status)
	}
	if _, status := update("admin", "none", add); status != http.StatusNotFound {
		t.Errorf("a credential that is not there: %d", status)
	}
}

// TestRunnerOfAnInstall checks the order: the named runner, else the shared one, else a new one
// with the install's name, else an error with a remedy.
func TestRunnerOfAnInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := hello("web")
	config.Inputs = nil
	w.one.app("red", config)
	w.one.app("blue", config)
	w.one.runner("builder", "build", false)
	create := func(app, name, runner string) *api.CreateInstallResponse {
		got, err := w.one.as("operator").CreateInstallWithResponse(t.Context(), nil, api.NewInstall{
			App: app, Name: name, Runner: runner,
		})
		must(t, err)
		return got
	}
	if got := create("red", "acme", ""); got.JSON201 == nil || got.JSON201.Install.Runner != "acme" ||
		got.JSON201.Runner.RegistrationToken == "" {
		t.Errorf("without a runner: %s", got.Body)
	}
	got := create("blue", "acme", "")
	if f := got.ApplicationProblemJSONDefault; f == nil || f.Code != "exists" ||
		!strings.Contains(f.Detail, "--runner acme") {
		t.Errorf("when the name is a runner's already: %s", got.Body)
	}
	w.exec("update runners set key_hash = 'x', registered_at = now() where name = 'acme'")
	if got := create("blue", "acme", "acme"); got.JSON201 == nil || got.JSON201.Install.Runner != "acme" ||
		got.JSON201.Runner.RegistrationToken != "" {
		t.Errorf("with a runner: %s", got.Body)
	}
	if f := create("red", "x", "builder").ApplicationProblemJSONDefault; f == nil || f.Code != "bad_runner" {
		t.Errorf("with a build runner: %+v", f)
	}
	if f := create("red", "x", "none").ApplicationProblemJSONDefault; f == nil || f.Code != "not_found" {
		t.Errorf("with no such runner: %+v", f)
	}
	w.one.runner("pool", "install", true)
	if got := create("red", "third", ""); got.JSON201 == nil || got.JSON201.Install.Runner != "pool" {
		t.Errorf("with a shared runner: %s", got.Body)
	}
	if f := create("red", "third", "").ApplicationProblemJSONDefault; f == nil || f.Code != "exists" {
		t.Errorf("twice: %+v", f)
	}
}

// TestConcurrentInstallsOnOneRunner checks that all are created in time: they lock in the same
// order.
func TestConcurrentInstallsOnOneRunner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.app("hello", hello("web"))
	w.one.runner("pool", "install", true)
	var group sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		group.Go(func() {
			ins := id.New("ins")
			got := w.call(w.one.token["operator"], http.MethodPost, "/v1/installs", api.NewInstall{ID: ins,
				App: "hello", Name: name, Inputs: []api.InputValue{
					{Name: "region", Value: "eu"},
					{
						Name:   "api_token",
						Sealed: w.sealed(seal.InputContext(ins, "api_token"), w.key.Recipient(), planted),
					},
				}})
			if got.Status != http.StatusCreated {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		})
	}
	group.Wait()
	w.store.Close() // connections report their statistics when they end
	if n := w.text("select deadlocks::text from pg_stat_database where datname = current_database()"); n != "0" {
		t.Errorf("%s deadlocks", n)
	}
}

// TestConcurrentChangesKeepEachOther checks that concurrent changes to two things are both stored.
func TestConcurrentChangesKeepEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	path := "/v1/installs/" + w.one.ids["install"]
	for range 10 {
		w.exec("update installs set approval = 'approve-all', allow_destroy = true")
		var group sync.WaitGroup
		for _, body := range []string{`{"approval": "prompt"}`, `{"allow_destroy": false}`} {
			group.Go(func() { w.call(w.one.token["operator"], http.MethodPatch, path, body) })
		}
		group.Wait()
		if now := w.text("select approval || ' ' || allow_destroy from installs"); now != "prompt false" {
			t.Fatalf("the install is %q after both changes", now)
		}
	}
}

// TestForgetWhatNeverWasThere checks that an install that never deployed anything needs no force to
// be forgotten, regardless of requests and rejections, because nothing is left behind.
func TestForgetWhatNeverWasThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	if got := w.call(
		w.one.token["admin"], http.MethodDelete, "/v1/installs/"+w.one.mark+"-inst", nil,
	); got.Status != http.StatusNoContent {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// TestSyncTellsOfEveryInstall checks that a client that asks for the installs gets all of them,
// also those after the first page, so that it does not stop waiting early. Without that request
// they are not read.
func TestSyncTellsOfEveryInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.one.app("hello", appconfig.App{})
	r, _ := w.one.runner("acme", "install", false)
	w.exec("insert into installs (org_id, id, app_id, name, runner_id) select $1, 'ins_' || i, $2, 'i' || i, $3 from "+
		"generate_series(1, 501) i", w.one.org.ID, app, r.ID)
	got, err := w.one.as("viewer").GetSyncWithResponse(t.Context(), "hello", &api.GetSyncParams{Installs: true})
	must(t, err)
	if got.JSON200 == nil || len(got.JSON200.Installs) != 501 {
		t.Fatalf("%d: %.200s", got.StatusCode(), got.Body)
	}
	if got, err = w.one.as("viewer").GetSyncWithResponse(t.Context(), "hello", &api.GetSyncParams{}); err != nil ||
		got.JSON200 == nil || len(got.JSON200.Installs) != 0 {
		t.Fatalf("%v: %.200s", err, got.Body)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("update install_components set applied_artifact = 'sha256:a'")
	admin, path := w.one.token["admin"], "/v1/installs/"+w.one.mark+"-inst"
	p := w.refusedAs(w.call(admin, http.MethodDelete, path, nil), http.StatusConflict, "not_empty")
	if !strings.Contains(p.Detail, "deprovision") {
		t.Errorf("%q does not say what to do", p.Detail)
	}
	if got := w.call(
		admin, http.MethodDelete, path+"?force=true", nil,
	); got.Status != http.StatusNoContent || got.Body != "" {
		t.Errorf("forced: %d %s", got.Status, got.Body)
	}
	w.refusedAs(w.call(admin, http.MethodGet, path, nil), http.StatusNotFound, "not_found")
	if detail := w.text(
		"select detail::text from audit_events where action = 'install.forget'",
	); !strings.Contains(detail, `"force": true`) {
		t.Errorf("the audit has %s", detail)
	}
}

// TestAskedWorkflow checks that the response contains the install's new state.
func TestAskedWorkflow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.one.fill()
	w.exec("update workflows set status = 'running'")
	w.exec("update steps set status = 'waiting'")
	got, err := w.one.as("operator").CreateWorkflowWithResponse(t.Context(), w.one.mark+"-inst", nil,
		api.NewWorkflow{Kind: api.NewWorkflowKindDeploy})
	must(t, err)
	if got.JSON201 == nil || got.JSON201.Install.ID != w.one.ids["install"] ||
		got.JSON201.Workflow.ID == "" && got.JSON201.Outcome == "" {
		t.Errorf("%d %s", got.StatusCode(), got.Body)
	}
	unknown, err := w.one.as("operator").CreateWorkflowWithResponse(t.Context(), w.one.mark+"-inst", nil,
		api.NewWorkflow{Kind: api.NewWorkflowKindAction, Action: "none"})
	must(t, err)
	if f := unknown.ApplicationProblemJSONDefault; f == nil || f.Status != http.StatusConflict ||
		f.Code != "unknown_action" {
		t.Errorf("%s", unknown.Body)
	}
}

// sealingKey returns the key to which to seal for an install, or for the control plane.
func (w *world) sealingKey(install string) api.SealingKey {
	w.Helper()
	got, err := w.one.as("viewer").GetSealingKeyWithResponse(w.Context(), &api.GetSealingKeyParams{Install: install})
	must(w, err)
	if got.JSON200 == nil {
		w.Fatalf("%s", got.Body)
	}
	return *got.JSON200
}

// kept returns the only sealed value of an input.
func (w *world) kept(name string) (sealed seal.Sealed) {
	w.Helper()
	must(w,
		json.Unmarshal(
			[]byte(w.text("select sealed::text from install_inputs where name = $1 and value is null", name)), &sealed,
		))
	return sealed
}

func (w *world) opens(key seal.Identity, use seal.Context, sealed seal.Sealed, want string) {
	w.Helper()
	secret, err := key.Open(sealed, use)
	if err != nil || string(secret.Reveal()) != want {
		w.Errorf("opened %d bytes, %v", len(secret.Reveal()), err)
	}
}

// nowhere searches every column of every table for a value, as text and in the encodings that a
// database or JSON would give it.
func (w *world) nowhere(value string) {
	w.Helper()
	all := w.rows("")
	for _, form := range []string{
		value, hex.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
	} {
		for line := range strings.Lines(all) {
			if strings.Contains(line, form) {
				w.Errorf("the value is in a row: %.200s", line)
			}
		}
	}
}
