package runner_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/session"
	"github.com/nuon-toolkit/nuon/runnerd/jobrole"
	"github.com/nuon-toolkit/nuon/runnerd/runner"
)

// oneInstall and otherInstall are ids: roles of anything else are refused.
const (
	oneInstall, otherInstall = "ins0000000000000000000000000a", "ins0000000000000000000000000b"
)

// TestRolesOfJobs runs two jobs under two roles at once: the script of each finds the credentials of its own role, and
// nothing else of the runner's account.
func TestRolesOfJobs(t *testing.T) {
	cloud, err := cloudtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	own := cloud.AWS.AddRole(cloudtest.Role{Account: "111122223333", Name: oneInstall + "-runner"})
	for _, name := range []string{oneInstall + "-maintenance", oneInstall + "-deprovision",
		otherInstall + "-maintenance"} {
		cloud.AWS.AddRole(cloudtest.Role{Account: "111122223333", Name: name, TrustedBy: []string{own.ARN()}})
	}
	machine, err := cloud.AWS.StartInstance(cloudtest.Instance{Role: own, ID: "i-1", Region: "eu-central-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range append(append(cloud.Environ(), machine...), "AWS_REGION=eu-central-1") {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}

	s, dir := newServer(t), t.TempDir()
	jobs := map[string]*served{}
	for name, role := range map[string]string{"job_1": oneInstall + "-maintenance", "job_2": oneInstall + "-deprovision",
		"job_3": otherInstall + "-maintenance"} {
		job := s.enqueue(name, "show the environment", nil)
		s.with(func() {
			job.spec.Action.InstallID = strings.SplitN(role, "-", 2)[0]
			job.spec.Role = api.OperationRole{Cloud: "aws", Name: role, Key: role, Kind: "maintenance", Operation: "trigger"}
		})
		jobs[name] = job
	}
	work(t, s, dir, func(o *runner.Options) { o.Capacity, o.Install = 3, oneInstall })

	s.until("the job of another install has ended", jobs["job_3"].ended)
	if got := jobs["job_3"].result; got.Status != "failed" ||
		!strings.Contains(got.Error, "started for install "+oneInstall) {
		t.Errorf("a job of another install: %+v", got)
	}
	first, second := environOf(t, s, dir, "job_1"), environOf(t, s, dir, "job_2")
	for name, role := range map[string]string{"job_1": oneInstall + "-maintenance", "job_2": oneInstall + "-deprovision"} {
		environ := map[string]map[string]string{"job_1": first, "job_2": second}[name]
		for key, value := range environ {
			if strings.HasPrefix(key, "AWS_EC2_METADATA_SERVICE") || strings.HasPrefix(value, "ASIA") {
				t.Errorf("%s finds %s", name, key)
			}
		}
		sessions := cloud.AWS.Sessions(role)
		status, key := credentialsOf(t, environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"],
			environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"])
		if status != http.StatusOK || len(sessions) != 1 || sessions[0].Name != name || key != sessions[0].AccessKeyID {
			t.Errorf("%s gets %d %s, and the sessions of %s are %v", name, status, key, role, sessions)
		}
	}
	if status, key := credentialsOf(t, first["AWS_CONTAINER_CREDENTIALS_FULL_URI"],
		second["AWS_CONTAINER_AUTHORIZATION_TOKEN"]); status != http.StatusForbidden || key != "" {
		t.Errorf("one job gets the credentials of another: %d %s", status, key)
	}
	if err := os.WriteFile(filepath.Join(dir, "go on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, job := range jobs {
		s.until(name+" has ended", job.ended)
	}
	s.with(func() {
		if text := fmt.Sprint(jobs["job_1"].messages()); !strings.Contains(text,
			"role/"+oneInstall+"-maintenance (trigger)") ||
			strings.Contains(text, first["AWS_CONTAINER_AUTHORIZATION_TOKEN"]) {
			t.Errorf("the log is %s", text)
		}
	})
}

// TestARoleThatIsOff checks that a job whose role the account refuses does not start, that the runner reports the role,
// and that it reports it no more as soon as the role works.
func TestARoleThatIsOff(t *testing.T) {
	cloud, err := cloudtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	own := cloud.AWS.AddRole(cloudtest.Role{Account: "111122223333", Name: oneInstall + "-runner"})
	machine, err := cloud.AWS.StartInstance(cloudtest.Instance{Role: own, ID: "i-1", Region: "eu-central-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range append(append(cloud.Environ(), machine...), "AWS_REGION=eu-central-1") {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	s, dir := newServer(t), t.TempDir()
	enqueue := func(name string) *served {
		job := s.enqueue(name, "show the environment", nil)
		s.with(func() {
			job.spec.Action.InstallID = oneInstall
			job.spec.Role = api.OperationRole{Cloud: "aws", Name: oneInstall + "-deployer", Key: "d", Kind: "custom",
				Operation: "trigger"}
		})
		return job
	}
	off := enqueue("job_1")
	var works atomic.Bool // this process finds no proxy to the cloud; jobs are other processes
	work(t, s, dir, func(o *runner.Options) {
		o.TryRole = func(_ context.Context, tried jobrole.Options) error {
			if tried.Spec.Job != "job_1" || tried.Spec.Role.Name != oneInstall+"-deployer" {
				t.Errorf("tried %+v", tried.Spec)
			}
			if works.Load() {
				return nil
			}
			return &session.UnusableError{Refused: true, Err: errors.New("off")}
		}
	})
	s.until("the job ends", off.ended)
	got := off.result
	if got.Status != api.JobResultStatusNotStarted || got.UnusableRole.Role != oneInstall+"-deployer" ||
		!got.UnusableRole.Refused || !strings.Contains(got.Error, "the account does not allow it") {
		t.Errorf("the job ended with %+v", got)
	}
	reported := func(want int) func() bool { return func() bool { return len(s.policy.Roles.Unusable) == want } }
	s.until("the runner reports the role", reported(1))
	cloud.AWS.AddRole(cloudtest.Role{Account: "111122223333", Name: oneInstall + "-deployer",
		TrustedBy: []string{own.ARN()}})
	works.Store(true)
	s.until("the runner reports that it works", reported(0))

	again := enqueue("job_2")
	environOf(t, s, dir, "job_2")
	if err := os.WriteFile(filepath.Join(dir, "go on"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("the job ends", again.ended)
	if sessions := cloud.AWS.Sessions(oneInstall + "-deployer"); again.result.Status != api.JobResultStatusSucceeded ||
		len(sessions) != 1 || sessions[0].Name != "job_2" {
		t.Errorf("the job ended with %+v, and the sessions are %+v", again.result, sessions)
	}
}

// environOf returns the environment that the script of a job found.
func environOf(t *testing.T, s *server, dir, job string) map[string]string {
	t.Helper()
	file := filepath.Join(dir, job+".environ")
	s.until(job+" shows its environment", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	environ := map[string]string{}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		environ[name] = value
	}
	return environ
}

// credentialsOf requests the credentials of an endpoint, as an SDK does.
func credentialsOf(t *testing.T, url, token string) (status int, key string) {
	t.Helper()
	status, body, err := cloudtest.FetchCredentials(t.Context(), url, token)
	if err != nil {
		t.Fatal(err)
	}
	return status, body["AccessKeyId"]
}
