// Package account plays the AWS account, the GCP project or the resource group of a customer: it creates the stack of
// an install from its template in a simulated cloud, runs the stack's own function, which reports to the control plane,
// and starts the machine of the runner.
package account

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

// Account is an account in a simulated cloud.
type Account struct {
	Cloud      *cloudtest.Cloud
	ID, Region string
	// Make makes resources of some types elsewhere, as in cloudtest.StackOptions; it may be nil.
	Make func(kind string, properties map[string]any) (id string, ok bool, err error)
}

// Stack is a stack in the account.
type Stack struct {
	*cloudtest.Stack

	account    *Account
	parameters map[string]string
}

// Answer is what the function of a stack answers to CloudFormation.
type Answer struct{ Status, Reason string }

// sessionTime is how long a session of a machine or a function lasts.
const sessionTime = time.Hour

// Create creates a stack and runs its function.
func (a *Account) Create(ctx context.Context, name string, template []byte, parameters map[string]string) (
	*Stack, Answer, error) {
	made, err := a.launch(name, template, parameters, nil)
	if err != nil {
		return nil, Answer{}, err
	}
	s := &Stack{Stack: made, account: a, parameters: parameters}
	answer, err := s.Report(ctx, "Create")
	return s, answer, err
}

// launch creates a stack, or updates the one before.
func (a *Account) launch(name string, template []byte, parameters map[string]string, before *cloudtest.Stack) (
	*cloudtest.Stack, error) {
	return a.Cloud.AWS.LaunchStack(template, cloudtest.StackOptions{Name: name, Account: a.ID, Region: a.Region,
		Parameters: parameters, Make: a.Make, Before: before})
}

// Update updates a stack to a template and parameters, and runs its function.
func (s *Stack) Update(ctx context.Context, name string, template []byte, parameters map[string]string) (
	Answer, error) {
	made, err := s.account.launch(name, template, parameters, s.Stack)
	if err != nil {
		return Answer{}, err
	}
	for id, before := range s.Resources {
		if _, kept := made.Resources[id]; !kept && before.Type == "AWS::IAM::Role" {
			s.account.Cloud.AWS.RemoveRole(before.ID)
		}
	}
	s.Stack, s.parameters = made, parameters
	return s.Report(ctx, "Update")
}

// Delete runs the function of a stack for the last time, and removes its roles.
func (s *Stack) Delete(ctx context.Context) (Answer, error) {
	answer, err := s.Report(ctx, "Delete")
	s.account.Cloud.AWS.DeleteStack(s.Stack)
	return answer, err
}

// resource returns a resource of the stack.
func (s *Stack) resource(id string) (map[string]any, error) {
	r, has := s.Resources[id]
	if !has {
		return nil, fmt.Errorf("the stack has no %s", id)
	}
	return r.Properties, nil
}

// text returns a text below keys of an object; empty if there is none.
func text(of map[string]any, keys ...string) string {
	for _, key := range keys[:len(keys)-1] {
		of, _ = of[key].(map[string]any)
	}
	value, _ := of[keys[len(keys)-1]].(string)
	return value
}

// Report runs the function of the stack for a kind of event: Create, Update or Delete.
func (s *Stack) Report(ctx context.Context, kind string) (answer Answer, err error) {
	function, err := s.resource("PhoneHome")
	if err != nil {
		return answer, err
	}
	role, err := s.resource("PhoneHomeRole")
	if err != nil {
		return answer, err
	}
	report, err := s.resource("PhoneHomeReport")
	if err != nil {
		return answer, err
	}
	answered := make(chan []byte, 1)
	cloudFormation := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a short one is no JSON
		answered <- body
	}))
	defer cloudFormation.Close()
	event, err := json.Marshal(map[string]any{"RequestType": kind, "RequestId": rand.Text(), "LogicalResourceId": "Report",
		"StackId": s.ID, "ResponseURL": cloudFormation.URL, "ResourceProperties": report})
	if err != nil {
		return answer, err
	}
	if err := s.run(ctx, function, text(role, "RoleName"), event); err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(<-answered, &answer)
}

// run runs the code of a function as a role of the account.
func (s *Stack) run(ctx context.Context, function map[string]any, role string, event []byte) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		return fmt.Errorf("run the function of the stack: %w", err)
	}
	dir, err := os.MkdirTemp("", "function-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	code := []byte(text(function, "Code", "ZipFile"))
	if err := os.WriteFile(filepath.Join(dir, "index.py"), code, 0o600); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, python, "-c", "import index, json, sys\nindex.handler(json.load(sys.stdin), None)")
	command.Dir, command.Stdin = dir, bytes.NewReader(event)
	as := s.account.Cloud.AWS.AddRole(cloudtest.Role{Account: s.account.ID, Name: role})
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AWS_REGION=" + s.account.Region},
		s.account.Cloud.AWS.NewSession(as, "phone-home", sessionTime).Environ()...)
	for _, name := range []string{"NUON_URL", "NUON_CLAIM"} {
		command.Env = append(command.Env, name+"="+text(function, "Environment", "Variables", name))
	}
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("run the function of the stack: %w\n%s", err, said)
	}
	return nil
}

// Machine returns the command that the machine of the runner runs, with the identity of its metadata service. dir is
// the disk of the machine.
func (s *Stack) Machine(ctx context.Context, runnerd, dir string) (*exec.Cmd, error) {
	role, roleErr := s.resource("RunnerRole")
	function, functionErr := s.resource("PhoneHome")
	if err := errors.Join(roleErr, functionErr); err != nil {
		return nil, err
	}
	cloud := s.account.Cloud
	as := cloudtest.Role{Account: s.account.ID, Name: text(role, "RoleName")}
	metadata, err := cloud.AWS.StartInstance(cloudtest.Instance{Role: cloud.AWS.AddRole(as), ID: "i-0123456789abcdef0",
		Region: s.account.Region})
	if err != nil {
		return nil, err
	}
	return runnerCommand(ctx, runnerd, dir, runnerSettings{Cloud: "aws",
		URL:   text(function, "Environment", "Variables", "NUON_URL"),
		Claim: text(function, "Environment", "Variables", "NUON_CLAIM"),
	}, []string{"AWS_REGION=" + s.account.Region, "NUON_REGISTRY=" + s.parameters["Registry"],
		"NUON_REGISTRY_PLAIN_HTTP=1"}, cloud.Environ(), metadata), nil
}

// runnerSettings are what a stack writes onto the machine of its runner.
type runnerSettings struct {
	Cloud, URL, Claim string
	Arguments         string // more arguments of runnerd, with spaces between them
}

// runnerCommand returns the command that runs the runner of a machine with the variables of environ. dir is the disk of
// the machine.
func runnerCommand(ctx context.Context, runnerd, dir string, s runnerSettings, environ ...[]string) *exec.Cmd {
	args := append([]string{"run", "--url", s.URL, "--dir", filepath.Join(dir, "runner"), "--cloud", s.Cloud},
		strings.Fields(s.Arguments)...)
	command := exec.CommandContext(ctx, runnerd, args...) //nolint:gosec // of the tests
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "USER=nobody", "NUON_CLAIM=" + s.Claim},
		slices.Concat(environ...)...)
	return command
}

// EndGrants makes the grants of a runner's owner have ended a minute ago, as if the clock of the machine had moved. dir
// is the disk of the machine.
func EndGrants(dir string) error {
	file := filepath.Join(dir, "runner", "grants", "grants.json")
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var grants []map[string]any
	if err := json.Unmarshal(raw, &grants); err != nil {
		return err
	}
	for _, g := range grants {
		g["until"] = time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	}
	if raw, err = json.Marshal(grants); err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o600)
}
