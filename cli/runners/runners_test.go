package runners_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/cli/runners"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// run runs `nuon runners` against a control plane with one answer, and returns the
// output and the request.
func run(t *testing.T, answer any, args ...string) (screen, asked string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an incomplete body shows up in asked
		asked = strings.TrimSpace(r.Method + " " + r.URL.RequestURI() + " " + string(body))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	t.Setenv("NUON_URL", server.URL)
	t.Setenv("NUON_TOKEN", "t")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "none"))
	var out bytes.Buffer
	c := runners.New(&cmdenv.Env{Console: &console.Console{In: strings.NewReader(""), Out: &out, Err: &out,
		Output: "table", OutIsTerminal: true}})
	c.SetArgs(args)
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	c.SilenceUsage, c.SilenceErrors = true, true
	err = c.ExecuteContext(t.Context())
	return out.String(), asked, err
}

func TestGetShowsWhatARunnerSaysAndHas(t *testing.T) {
	jobs := []string{"plan"}
	screen, _, err := run(t, api.Runner{
		Name:       "acme",
		ID:         "run_1",
		Kind:       api.RunnerKindInstall,
		Registered: true,
		Online:     true,
		LastSeen:   time.Now(),
		Version:    "0.1.0",
		Capacity:   2,
		KeyID:      "key-1",
		Policy: api.RunnerPolicy{Jobs: &jobs, Components: &[]string{}, Window: "Sat 02:00-06:00 UTC",
			Limits: api.RunnerLimits{MemoryBytes: 512 << 20, TimeoutSeconds: 90}, Pods: true,
			Debug: api.DebugPolicy{Shells: []string{"web", "api"}, Images: []string{"busybox"}}},
		Attempts: []api.RunnerAttempt{{Job: "job_1", Attempt: 1, Kind: "apply", Status: "expired", Install: "acme",
			OfferedAt: time.Now()}},
	}, "get", "acme")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"runner acme (run_1): online", "install key  key-1", "jobs: plan", "components: none",
		"applies and actions: Sat 02:00-06:00 UTC",
		"executor     kubernetes: each job is a pod", "shells in pods of: web, api",
		"images of debug containers: busybox", "memory of a job: 512 MiB", "time of a job: 1m30s",
		"job_1  1        apply  acme     lost contact",
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen has no %q:\n%s", want, screen)
		}
	}
}

// TestGetOfARunnerThatIsOff checks that the reason is printed, and the runner's other
// restrictions are not.
func TestGetOfARunnerThatIsOff(t *testing.T) {
	screen, _, err := run(t, api.Runner{Name: "acme", Registered: true, Online: true, Policy: api.RunnerPolicy{
		Off:        true,
		Reason:     "its runner file cannot be used",
		Jobs:       &[]string{},
		Components: &[]string{"sandbox"},
		Debug:      api.DebugPolicy{Logs: true},
	}}, "get", "acme")
	if err != nil || !strings.Contains(screen,
		"runner file  accepts no jobs now\n  runner file  its runner file cannot be used\n") {
		t.Errorf("%v:\n%s", err, screen)
	}
	for _, not := range []string{"debug", "sandbox", "jobs:"} {
		if strings.Contains(screen, not) {
			t.Errorf("the screen has %q:\n%s", not, screen)
		}
	}
}

func TestStatuses(t *testing.T) {
	at := time.Now()
	screen, _, err := run(t, api.RunnerList{Items: []api.Runner{
		{Name: "new"}, {Name: "burnt", RegisteredAt: at}, {Name: "away", Registered: true},
		{Name: "quiet", Registered: true, Online: true, Policy: api.RunnerPolicy{Off: true}},
	}}, "list")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"not registered", "replaced", "offline", "off "} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen has no %q:\n%s", want, screen)
		}
	}
	for line := range strings.Lines(screen) {
		if strings.HasPrefix(line, "burnt") && strings.Contains(line, "never") {
			t.Errorf("a machine that was here is said never to have been seen: %s", line)
		}
	}
}

func TestReplaceIsNotDoneByAccident(t *testing.T) {
	done := api.ReplacedRunner{
		Runner:            api.Runner{Name: "acme", Kind: api.RunnerKindInstall, KeyID: "key-1"},
		RegistrationToken: "nuong_once",
		Lost:              []api.AttemptRef{{Job: "job_1", Attempt: 2}},
	}
	if _, asked, err := run(t, done, "replace", "acme", "--yes"); err == nil || asked != "" {
		t.Errorf("without a reason: %v, asked %q", err, asked)
	}
	if _, asked, err := run(t, done, "replace", "acme", "--reason", "burnt",
		"--new-key"); exitcode.CodeOf(err) != exitcode.Usage || asked != "" ||
		!strings.Contains(err.Error(), "can no longer be read") {
		t.Errorf("without a yes: %v, asked %q", err, asked)
	}
	screen, asked, err := run(t, done, "replace", "acme", "--reason", "burnt", "--new-key", "--yes")
	if err != nil || asked != `POST /v1/runners/acme/replace {"new_key":true,"reason":"burnt"}` {
		t.Errorf("%v, asked %q", err, asked)
	}
	for _, want := range []string{"attempt 2 of job job_1", "install.key (key key-1)",
		"NUON_REGISTRATION_TOKEN=nuong_once", "NUON_REGISTRY=<host"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen has no %q:\n%s", want, screen)
		}
	}
}

func TestRegisterSaysHowToStart(t *testing.T) {
	screen, asked, err := run(t, api.CreatedRunner{Runner: api.Runner{Name: "acme"},
		RegistrationToken: "nuong_once"}, "register", "acme")
	if err != nil || asked != "POST /v1/runners/acme/registration" ||
		!strings.Contains(screen, "NUON_REGISTRATION_TOKEN=nuong_once") || !strings.Contains(screen, "are revoked") {
		t.Errorf("%v, asked %q:\n%s", err, asked, screen)
	}
}

// TestHowToStartCanBePasted checks that a shell gets the name of a runner as one word, and that a text that is no token
// is not printed.
func TestHowToStartCanBePasted(t *testing.T) {
	const name = "acme; touch x $(id) ' \n\x1b[2J"
	var printed strings.Builder
	made := api.CreatedRunner{Runner: api.Runner{Name: name}, RegistrationToken: "nuong_a-b.c_d"}
	if err := runners.HowToStart(&printed, made); err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(printed.String(), "runnerd run ")
	command, _, _ = strings.Cut(command, "\n")
	out, err := exec.Command("sh", "-c", `printf '%s|' `+command[strings.Index(command, "--dir"):]).Output()
	if want := "--dir|/var/lib/nuon|--name|" + console.Line(name) + "|"; err != nil || string(out) != want {
		t.Errorf("%s is split into %q, %v", command, out, err)
	}
	if console.Text(printed.String()) != printed.String() {
		t.Errorf("printed %q", printed.String())
	}
	for _, token := range []string{"", "a; touch x", "$(x)", "a\nb", "a\x1bb", "'"} {
		made.RegistrationToken = token
		if err := runners.HowToStart(io.Discard, made); err == nil || console.Text(err.Error()) != err.Error() {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

// TestConfirm checks that a claim is confirmed only if it is clear which machine is meant.
func TestConfirm(t *testing.T) {
	claim := func(id, account, machine, key string, purpose api.CloudClaimPurpose) api.CloudClaim {
		return api.CloudClaim{ID: id, Install: "acme", Purpose: purpose, KeyFingerprint: key, LastSeen: time.Now(),
			Subject: api.CloudSubject{Cloud: api.CloudAws, Account: account, Name: "runner", Machine: machine}}
	}
	r := api.Runner{ID: "run_1", Name: "acme", Claims: []api.CloudClaim{
		claim("clm_1", "123456789012", "i-1", "key-1", api.ClaimRunner),
		claim("clm_2", "123456789012", "", "", api.ClaimPhoneHome),
		claim("clm_3", "999999999999", "i-2", "key-2", api.ClaimRunner),
	}}
	screen, _, err := run(t, r, "get", "acme")
	if err != nil || !strings.Contains(screen, "aws account 999999999999, runner on i-2 wants to register") ||
		!strings.Contains(screen, "install key key-2") {
		t.Errorf("%v\n%s", err, screen)
	}
	screen, asked, err := run(t, r, "confirm", "acme", "--account", "123456789012", "--yes")
	if want := `POST /v1/runners/run_1/confirm {"claim":"clm_2"}`; err != nil || asked != want {
		t.Errorf("%v: %s\n%s", err, asked, screen)
	}
	if _, asked, err := run(t, r, "confirm", "acme", "--account", "111111111111", "--yes"); err == nil ||
		asked != "GET /v1/runners/acme" {
		t.Errorf("an account that nobody is of: %v, %s", err, asked)
	}
	r.Claims = append(r.Claims, claim("clm_4", "123456789012", "i-3", "key-3", api.ClaimRunner))
	_, asked, err = run(t, r, "confirm", "acme", "--account", "123456789012", "--yes")
	if err == nil || !strings.Contains(err.Error(), "--machine") || asked != "GET /v1/runners/acme" {
		t.Errorf("two machines: %v, %s", err, asked)
	}
	_, asked, err = run(t, r, "confirm", "acme", "--account", "123456789012", "--machine", "i-3", "--yes")
	if want := `POST /v1/runners/run_1/confirm {"claim":"clm_4"}`; err != nil || asked != want {
		t.Errorf("one of two: %v, %s", err, asked)
	}
	if _, asked, err := run(t, r, "confirm", "acme", "--account", "999999999999"); err == nil ||
		asked != "GET /v1/runners/acme" {
		t.Errorf("without a confirmation: %v, %s", err, asked)
	}
}
