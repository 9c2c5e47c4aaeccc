package jobrole

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/grant"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

const (
	account        = "111122223333"
	install, other = "ins0000000000000000000000000a", "ins0000000000000000000000000b"
)

// rig is an account with the roles of an install and a machine of its runner, in which this process is.
type rig struct {
	dir  string
	now  time.Time
	log  []string
	seen *redact.Set
}

// shared is the cloud of all tests: a process reads the address of its proxy once.
var shared *cloudtest.Cloud

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "nuon-jobrole")
	if err == nil {
		shared, err = cloudtest.Start(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = shared.Close()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	runner := shared.AWS.AddRole(cloudtest.Role{Account: account, Name: install + "-runner"})
	for _, name := range []string{install + "-maintenance", install + "-deprovision", install + "-repair",
		other + "-maintenance"} {
		shared.AWS.AddRole(cloudtest.Role{Account: account, Name: name, TrustedBy: []string{runner.ARN()}})
	}
	machine, err := shared.AWS.StartInstance(cloudtest.Instance{Role: runner, ID: "i-1", Region: "eu-central-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NUON_JOB_ROLE", "") // its end undoes what Open set
	for _, entry := range append(append(shared.Environ(), machine...), "AWS_REGION=eu-central-1") {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	return &rig{dir: t.TempDir(), now: time.Now(), seen: &redact.Set{}}
}

// spec is a job of the install under a role.
func spec(role, kind string) api.JobSpec {
	return api.JobSpec{Job: "job_1", Attempt: 1, Kind: api.JobSpecKindApply,
		Apply: api.ApplySpec{Deploy: api.DeploySpec{InstallID: install, Component: "web"}},
		Role:  api.OperationRole{Cloud: "aws", Name: role, Key: role, Kind: kind, Operation: "deploy"}}
}

func (r *rig) options(spec api.JobSpec, file string) Options {
	rules, err := policy.Parse("runner.toml", []byte(file))
	if err != nil {
		panic(err)
	}
	return Options{Spec: spec, Policy: rules.RuleAt(time.Now()), Dir: r.dir, Redact: r.seen,
		Log: func(format string, args ...any) { r.log = append(r.log, fmt.Sprintf(format, args...)) },
		now: func() time.Time { return r.now }}
}

func (r *rig) open(t *testing.T, spec api.JobSpec, file string) *Session {
	t.Helper()
	s, err := Open(t.Context(), r.options(spec, file))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// fetch requests credentials from an endpoint, as an SDK does.
func fetch(t *testing.T, url, token string) (status int, body map[string]string) {
	t.Helper()
	status, body, err := cloudtest.FetchCredentials(t.Context(), url, token)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

// TestRoleOfAJob checks that programs find only the role of the job, and that its session names the job.
func TestRoleOfAJob(t *testing.T) {
	r := newRig(t)
	before := shared.AWS.Sessions(install + "-maintenance") // of other tests
	s := r.open(t, spec(install+"-maintenance", "maintenance"), "")
	environ := jobenv.ToolEnv(os.Environ())
	for name := range environ {
		if strings.HasPrefix(name, "AWS_EC2_METADATA_SERVICE") || strings.Contains(name, "SECRET_ACCESS") {
			t.Errorf("a program finds the runner's own identity by %s", name)
		}
	}
	if environ["AWS_EC2_METADATA_DISABLED"] != "true" || environ["AWS_REGION"] != "eu-central-1" {
		t.Errorf("a program has %v", environ)
	}
	if _, set := os.LookupEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI"); set {
		t.Error("the job process itself acts under the role: it would read the customer's secrets with it")
	}
	url, token := environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"], environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
	status, got := fetch(t, url, token)
	sessions := slices.DeleteFunc(shared.AWS.Sessions(install+"-maintenance"), func(s cloudtest.Session) bool {
		return slices.ContainsFunc(before, func(b cloudtest.Session) bool { return b.AccessKeyID == s.AccessKeyID })
	})
	if status != http.StatusOK || len(sessions) != 1 || got["AccessKeyId"] != sessions[0].AccessKeyID ||
		got["Token"] != sessions[0].SessionToken {
		t.Fatalf("%d %v, sessions %v", status, got, sessions)
	}
	tags := map[string]string{"install": install, "component": "web", "operation": "deploy"}
	if sessions[0].Name != "job_1" || fmt.Sprint(sessions[0].Tags) != fmt.Sprint(tags) {
		t.Errorf("the session is %q with %v", sessions[0].Name, sessions[0].Tags)
	}
	text := r.seen.String("x " + got["SecretAccessKey"] + " " + token + " y")
	if strings.Contains(text, got["SecretAccessKey"]) || strings.Contains(text, token) {
		t.Error("a log would show the credentials")
	}
	if status, got := fetch(t, url, token+"x"); status != http.StatusForbidden || got["AccessKeyId"] != "" {
		t.Errorf("another token gave %d %v", status, got)
	}
	if status, _ := fetch(t, strings.TrimSuffix(url, path)+"/", token); status != http.StatusNotFound {
		t.Errorf("another path gave %d", status)
	}

	other := r.open(t, spec(install+"-deprovision", "deprovision"), "")
	if status, _ := fetch(t, other.server.url, token); status != http.StatusForbidden {
		t.Errorf("the token of one job gave the credentials of another: %d", status)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	log, err := audit.Read(r.dir, time.Time{})
	if err != nil || len(log) != 2 || log[0].What != audit.RoleAssumed || log[0].Job != "job_1" ||
		log[0].Role != install+"-maintenance" {
		t.Errorf("the audit log is %v, %v", log, err)
	}
}

// TestSessionsAreRenewed checks that a program gets a new session before the last one ends.
func TestSessionsAreRenewed(t *testing.T) {
	r := newRig(t)
	s := r.open(t, spec(install+"-maintenance", "maintenance"), "")
	fetchKey := func() string {
		status, got := fetch(t, s.server.url, s.server.token)
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, got)
		}
		return got["AccessKeyId"]
	}
	first := fetchKey()
	r.now = r.now.Add(49 * time.Minute)
	if again := fetchKey(); again != first {
		t.Error("a session was renewed too early")
	}
	r.now = r.now.Add(2 * time.Minute)
	if again := fetchKey(); again == first {
		t.Error("a session was not renewed in time")
	}
	shared.AWS.RemoveRole("arn:aws:iam::" + account + ":role/" + install + "-maintenance")
	r.now = r.now.Add(time.Hour)
	status, got := fetch(t, s.server.url, s.server.token)
	if status != http.StatusForbidden || !strings.Contains(got["message"], "the role is switched off in the stack") {
		t.Errorf("after the customer switched the role off: %d %v", status, got)
	}
}

// ofInstall returns the spec of a job for what is said to be an install.
func ofInstall(id, role string) api.JobSpec {
	s := spec(role, "maintenance")
	s.Apply.Deploy.InstallID = id
	return s
}

// TestRolesThatAreRefused checks what a control plane cannot make a runner do.
func TestRolesThatAreRefused(t *testing.T) {
	r := newRig(t)
	sync := spec(install+"-maintenance", "maintenance")
	sync.Kind = api.JobSpecKindSync
	foreign := spec(install+"-maintenance", "maintenance")
	foreign.Apply.Deploy.InstallID = other
	for name, test := range map[string]struct {
		spec api.JobSpec
		file string
		want string
	}{
		"a role of another install":   {spec(other+"-maintenance", "maintenance"), "", "does not assume the role"},
		"any role of the account":     {spec("Admin", "maintenance"), "", "does not assume the role"},
		"the install of another role": {foreign, "", "does not assume the role"},
		"a role below a path":         {spec(install+"-x/Admin", "maintenance"), "", "does not assume the role"},
		"an ARN": {spec("arn:aws:iam::999988887777:role/ins0000000000000000000000000a-maintenance", "maintenance"), "",
			"does not assume the role"},
		"not on the owner's list": {spec(install+"-deprovision", "deprovision"),
			"[roles]\nallow = [\"" + install + "-maintenance\"]\n",
			"it assumes only ins0000000000000000000000000a-maintenance"},
		"no role at all": {spec(install+"-maintenance", "maintenance"), "[roles]\nallow = []\n",
			"does not assume"},
		"an install that is a pattern":      {ofInstall("*", "prod-admin"), "", "does not assume the role"},
		"an install that is a beginning":    {ofInstall("prod", "prod-admin"), "", "does not assume the role"},
		"an install that begins like an id": {ofInstall("inspector", "inspector-admin"), "", "does not assume the role"},
		"break glass":                       {spec(install+"-repair", "break_glass"), "", "has not granted it"},
		"break glass by its owner": {spec(install+"-repair", "custom"),
			"[roles]\nbreak_glass = [\"*-repair\"]\n", "has not granted"},
		"one that the owner lists, in capitals": {spec(install+"-REPAIR", "custom"),
			"[roles]\nbreak_glass = [\"*-repair\"]\n", "has not granted"},
		"a sync":             {sync, "", "needs none"},
		"a role that is off": {spec(install+"-gone", "custom"), "", "the account does not allow it"},
		"another cloud": {func() api.JobSpec {
			s := spec(install+"-maintenance", "maintenance")
			s.Role.Cloud = "moon"
			return s
		}(), "", "knows no roles of the cloud"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(shared.AWS.Sessions(install + "-maintenance"))
			s, err := Open(t.Context(), r.options(test.spec, test.file))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
				_ = s.Close()
			}
			if after := len(shared.AWS.Sessions(install + "-maintenance")); after != before {
				t.Error("a session was started")
			}
		})
	}
	if _, set := jobenv.ToolEnv(os.Environ())["AWS_CONTAINER_AUTHORIZATION_TOKEN"]; set {
		t.Error("programs would find an endpoint")
	}
	s, err := Open(t.Context(), r.options(spec("Admin", "maintenance"), "[roles]\nown_identity = true\n"))
	if err != nil || s.server != nil {
		t.Errorf("a runner whose jobs have its own identity: %v", err)
	}
}

// TestUnusableRoles checks the difference between a role that the account refuses, one about which the cloud cannot
// answer now, and one that the job can never use.
func TestUnusableRoles(t *testing.T) {
	const sts = "sts.eu-central-1.amazonaws.com"
	role := install + "-maintenance"
	for name, c := range map[string]struct {
		role              string
		prepare, undo     func()
		unusable, refused bool
		want              string
	}{
		"off": {role: install + "-gone", unusable: true, refused: true, want: "the account does not allow it"},
		"throttled": {prepare: func() { shared.Throttle(sts, 9) }, undo: func() { shared.Throttle(sts, 0) }, unusable: true,
			want: "too many requests"},
		"ten minutes off": {prepare: func() { shared.MoveClock(10 * time.Minute) },
			undo: func() { shared.MoveClock(-10 * time.Minute) }, unusable: true, want: "check the clock"},
		"of another install": {role: other + "-maintenance", want: "does not assume the role"},
		"works":              {},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if c.prepare != nil {
				c.prepare()
				defer c.undo()
			}
			job := spec(cmp.Or(c.role, role), "maintenance")
			err := Try(t.Context(), r.options(job, ""))
			got, unusable := Unusable(job, err)
			if unusable != c.unusable || got.Refused != c.refused || (err == nil) != (c.want == "") ||
				err != nil && !strings.Contains(err.Error(), c.want) || unusable && got.Role != job.Role.Name {
				t.Errorf("%+v, %t, %v", got, unusable, err)
			}
		})
	}
}

// TestGrants checks that a break-glass role ends with its grant, also if the control plane sends more jobs.
func TestGrants(t *testing.T) {
	r := newRig(t)
	until := r.now.Add(30 * time.Minute)
	err := grant.Add(t.Context(), r.dir, grant.Grant{Role: install + "-repair", Until: until, By: "vera", At: r.now})
	if err != nil {
		t.Fatal(err)
	}
	s := r.open(t, spec(install+"-repair", "break_glass"), "")
	status, got := fetch(t, s.server.url, s.server.token)
	ends, _ := time.Parse(time.RFC3339, got["Expiration"])
	if status != http.StatusOK || ends.After(until) {
		t.Errorf("%d, the credentials end at %s, and the grant at %s", status, ends, until)
	}
	r.now = until.Add(-time.Minute)
	if status, _ := fetch(t, s.server.url, s.server.token); status != http.StatusOK {
		t.Errorf("a minute before the end: %d", status)
	}
	r.now = until
	status, got = fetch(t, s.server.url, s.server.token)
	if status != http.StatusForbidden || !strings.Contains(got["message"], "ended at") {
		t.Errorf("at the end: %d %v", status, got)
	}
	if _, err := Open(t.Context(), r.options(spec(install+"-repair", "break_glass"), "")); err == nil ||
		!strings.Contains(err.Error(), "runnerd grants add") {
		t.Errorf("a job after the end: %v", err)
	}
	r.now = until.Add(-2 * time.Minute)
	if err := grant.Remove(t.Context(), r.dir, install+"-repair", "vera", r.now); err != nil {
		t.Fatal(err)
	}
	if status, _ := fetch(t, s.server.url, s.server.token); status != http.StatusForbidden {
		t.Errorf("after the owner removed the grant: %d", status)
	}
}
