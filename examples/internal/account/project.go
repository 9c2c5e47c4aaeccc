package account

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

// Project plays the GCP project of a customer: it applies the module of an install's stack with Terraform in a
// simulated cloud, and starts the machine that the module made.
type Project struct {
	Services *cloudtest.Cloud
	ID       string
	Region   string
	// Terraform are the variables by which Terraform finds the providers of the simulated cloud.
	Terraform []string

	mu       sync.Mutex
	made     []object
	set      func(name, value string) // sets an attribute of the machine; nil before it is started
	machine  cloudtest.Machine
	parts    map[string]string // attributes of the machine
	tokensOf sync.Once
}

// object is an object of Terraform's state.
type object struct {
	Type   string         `json:"type"`
	Values map[string]any `json:"values"`
}

// Apply applies the module in a directory with variables, as the customer does first and after each change.
func (p *Project) Apply(ctx context.Context, dir string, variables map[string]string) error {
	for _, args := range [][]string{{"init", "-no-color"}, p.applyArguments(variables)} {
		if _, err := p.terraform(ctx, dir, args...); err != nil {
			return err
		}
	}
	raw, err := p.terraform(ctx, dir, "show", "-json")
	if err != nil {
		return err
	}
	var state struct {
		Values struct {
			Root struct {
				Resources []object `json:"resources"`
			} `json:"root_module"`
		} `json:"values"`
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return err
	}
	p.mu.Lock()
	p.made = state.Values.Root.Resources
	p.mu.Unlock()
	return p.readMachine()
}

func (p *Project) applyArguments(variables map[string]string) []string {
	args := []string{"apply", "-auto-approve", "-no-color", "-var", "project_id=" + p.ID, "-var", "region=" + p.Region}
	for name, value := range variables {
		args = append(args, "-var", name+"="+value)
	}
	return args
}

func (p *Project) terraform(ctx context.Context, dir string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "terraform", append([]string{"-chdir=" + dir}, args...)...)
	command.Env = append(append(os.Environ(), "TF_IN_AUTOMATION=1", "TF_INPUT=0"), p.Terraform...)
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("terraform %s: %w\n%s%s", args[0], err, out, said.String())
	}
	return out, nil
}

// readMachine reads what the module made of the machine, and changes the attributes of one that runs.
func (p *Project) readMachine() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, made := range p.made {
		if made.Type != "google_compute_instance" {
			continue
		}
		accounts, _ := made.Values["service_account"].([]any)
		if len(accounts) != 1 {
			return fmt.Errorf("the machine has the accounts %v", accounts)
		}
		account, _ := accounts[0].(map[string]any)
		p.parts = map[string]string{}
		metadata, _ := made.Values["metadata"].(map[string]any)
		for name, value := range metadata {
			p.parts[name] = fmt.Sprint(value)
			if p.set != nil {
				p.set(name, p.parts[name])
			}
		}
		p.machine = cloudtest.Machine{Project: p.ID, Zone: text(made.Values, "zone"), ServiceAccount: text(account, "email"),
			ID: "4242", Name: text(made.Values, "name"), Attributes: p.parts}
		return nil
	}
	return fmt.Errorf("the module made no machine")
}

// mayActAs reports whether the module lets one account act as another.
func (p *Project) mayActAs(caller, account string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.made, func(made object) bool {
		return made.Type == "google_service_account_iam_member" &&
			text(made.Values, "role") == "roles/iam.serviceAccountTokenCreator" &&
			text(made.Values, "member") == "serviceAccount:"+caller &&
			strings.HasSuffix(text(made.Values, "service_account_id"), "/"+account)
	})
}

// Machine returns the command that the machine of the runner runs. dir is its disk.
func (p *Project) Machine(ctx context.Context, runnerd, dir string) (*exec.Cmd, error) {
	p.tokensOf.Do(func() { p.Services.GCP.ServeTokens(p.mayActAs) })
	environ, set, err := p.Services.GCP.StartMachine(p.machine)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.set = set
	p.mu.Unlock()
	return runnerCommand(ctx, runnerd, dir, runnerSettings{Cloud: "gcp", URL: p.parts["nuon-runner-url"],
		Claim: p.parts["nuon-claim"], Arguments: p.parts["nuon-arguments"],
	}, []string{"GOOGLE_CLOUD_PROJECT=" + p.ID}, p.Services.Environ(), environ), nil
}

// ServiceAccount returns the email of the service account of a role, as the stack reports it.
func (p *Project) ServiceAccount(output string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var outputs map[string]any
	_ = json.Unmarshal([]byte(p.parts["nuon-outputs"]), &outputs) // without them there is none
	return text(outputs, output)
}
