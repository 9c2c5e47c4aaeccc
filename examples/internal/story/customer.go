package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nuon-toolkit/nuon/examples/internal/account"
	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// The account of the customer.
const (
	customerAccount = "123456789012"
	customerRegion  = "eu-west-1"
)

// customer is a customer's account in the story's cloud, with the stacks of installs by their names.
type customer struct {
	account  *account.Account
	stacks   map[string]*account.Stack
	entered  map[string]map[string]string // parameters of each stack
	registry *fleet.Registry
	stop     func() // ends the machine
}

// customerCmd does what a customer does in the account, after `cloud start`:
//
//	customer stack INSTALL [NAME=VALUE]…   create or update the stack of an install from its newest template
//	customer machine INSTALL               start the machine of the runner
//	customer grant INSTALL                 do what a request for emergency access asks for
//	customer later INSTALL                 move the clock of the machine to after the end of its grants
//	customer runnerd INSTALL ARGS…         run a command of the runner's owner on the machine
//	customer trail                         print what the log of the account has about sessions
//	customer delete INSTALL                delete the stack, which ends the machine
func (s *teller) customerCmd(ts *testscript.TestScript, neg bool, args []string) {
	fmt.Fprintf(s.loud, "\n\033[36m$ customer %s\033[0m\n", enteredValue.ReplaceAllString(shellWords(args), "$1…"))
	ctx := context.Background()
	var said string
	var err error
	switch args[0] {
	case "stack":
		said, err = s.customerStack(ctx, ts, args[1], args[2:])
	case "machine":
		ts.Check(s.customerMachine(ctx, ts, args[1]))
	case "grant":
		said, err = s.customerGrant(ctx, ts, args[1])
	case "later":
		err = account.EndGrants(machineDir(ts, args[1]))
	case "runnerd":
		said, err = s.customerRunnerd(ctx, ts, args[1], shellWords(args[2:]))
	case "trail":
		said = s.customer.trail()
	case "delete":
		said, err = s.customer.remove(ctx, args[1])
	default:
		ts.Fatalf("there is no command customer %s", args[0])
	}
	if err != nil {
		said = err.Error() + "\n"
	}
	for line := range strings.Lines(said) {
		fmt.Fprintf(s.loud, "  %s", line)
	}
	fmt.Fprint(ts.Stdout(), said)
	if (err != nil) != neg {
		ts.Fatalf("customer %s: %v", shellWords(args), said)
	}
}

// customerStack creates or updates the stack of an install, and returns what it has and what its function answered.
func (s *teller) customerStack(ctx context.Context, ts *testscript.TestScript, install string, given []string) (
	string, error) {
	ts.Check(s.run(ts, []string{"installs", "stack", "render", install}))
	template, c := []byte(ts.ReadFile("stdout")), s.customer
	if c.registry == nil {
		var err error
		c.registry, err = fleet.OpenRegistry(filepath.Join(ts.Getenv("WORK"), "customer-registry"), make([]byte, 32))
		ts.Check(err)
		ts.Defer(func() { _ = c.registry.Close() })
	}
	parameters := c.entered[install]
	if parameters == nil {
		parameters = map[string]string{"Registry": c.registry.Address() + "/acme"}
		c.entered[install] = parameters
	}
	for _, pair := range given {
		name, value, _ := strings.Cut(pair, "=")
		parameters[name] = value
	}
	var answer account.Answer
	stack, exists := c.stacks[install]
	var err error
	if exists {
		answer, err = stack.Update(ctx, install, template, maps.Clone(parameters))
	} else {
		stack, answer, err = c.account.Create(ctx, install, template, maps.Clone(parameters))
	}
	if err != nil {
		return "", err
	}
	c.stacks[install] = stack
	kinds := map[string]int{}
	for _, r := range stack.Resources {
		kinds[r.Type]++
	}
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&text, "%4d %s\n", kinds[kind], kind)
	}
	fmt.Fprintf(&text, "the stack reported: %s, %s\n", answer.Status, answer.Reason)
	return text.String(), nil
}

// enteredValue matches a value that the customer enters and nobody prints.
var enteredValue = regexp.MustCompile(`(Secret\w+Value=)\S+`)

func machineDir(ts *testscript.TestScript, install string) string {
	return filepath.Join(ts.Getenv("WORK"), "machine-"+install)
}

// customerRunnerd runs a command of runnerd, as a shell reads it, as the owner of the machine.
func (s *teller) customerRunnerd(ctx context.Context, ts *testscript.TestScript, install, command string) (
	string, error) {
	script := exec.CommandContext(ctx, "sh", "-c", "runnerd "+command+` --dir "$0"`,
		filepath.Join(machineDir(ts, install), "runner"))
	script.Env = []string{"PATH=" + ts.Getenv("PATH"), "USER=grace"}
	said, err := script.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("runnerd %s: %w\n%s", command, err, said)
	}
	return string(said), err
}

// customerGrant does the two steps that the newest request for emergency access prints: it updates the stack with the
// parameters, and grants the role on the machine.
func (s *teller) customerGrant(ctx context.Context, ts *testscript.TestScript, install string) (string, error) {
	ts.Check(ts.Exec("nuon", "break-glass", "list", install, "-o", "json"))
	var requests []api.BreakGlassRequest
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &requests))
	const steps = 2
	if len(requests) == 0 || len(requests[0].Steps) != steps {
		ts.Fatalf("there is no request with %d steps: %+v", steps, requests)
	}
	var parameters []string
	for word := range strings.FieldsSeq(requests[0].Steps[0].Command) {
		if strings.Contains(word, "=") {
			parameters = append(parameters, word)
		}
	}
	updated, err := s.customerStack(ctx, ts, install, parameters)
	if err != nil {
		return "", err
	}
	granted, err := s.customerRunnerd(ctx, ts, install, strings.TrimPrefix(requests[0].Steps[1].Command, "sudo runnerd "))
	return strings.Join(parameters, " ") + "\n" + updated + granted, err
}

// customerMachine starts the machine of a runner, which ends with the story.
func (s *teller) customerMachine(ctx context.Context, ts *testscript.TestScript, install string) error {
	home := machineDir(ts, install)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	machine, err := s.customer.stacks[install].Machine(ctx, filepath.Join(s.bin, "runnerd"), home)
	if err != nil {
		return err
	}
	for _, name := range []string{"PATH", "NUON_TERRAFORM", "NUON_TF_CLI_CONFIG_FILE", "HTTPS_PROXY", "TZ"} {
		machine.Env = append(machine.Env, name+"="+ts.Getenv(name))
	}
	machine.Env = append(append(machine.Env, s.customer.registry.Install()...), "https_proxy="+ts.Getenv("HTTPS_PROXY"))
	machine.Stdout, machine.Stderr = s, s
	machine.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := machine.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = machine.Wait() }() // the story reports its end
	s.customer.stop = func() { stopMachine(machine, ended) }
	ts.Defer(s.customer.stop)
	return nil
}

// stopMachine ends the program of a machine as a shutdown does.
func stopMachine(machine *exec.Cmd, ended chan struct{}) {
	_ = machine.Process.Signal(os.Interrupt) // it may have ended
	select {
	case <-ended:
	case <-testtime.After():
		_ = syscall.Kill(-machine.Process.Pid, syscall.SIGKILL)
		<-ended
	}
}

// makeNetwork makes the network of a stack in the cloud that Terraform sees.
func (s *teller) makeNetwork(kind string, properties map[string]any) (id string, ok bool, err error) {
	attributes := map[string]any{"cidr_block": properties["CidrBlock"]}
	switch kind {
	case "AWS::EC2::VPC":
		kind = "aws_vpc"
	case "AWS::EC2::Subnet":
		kind = "aws_subnet"
		attributes["vpc_id"], attributes["availability_zone"] = properties["VpcId"], properties["AvailabilityZone"]
	default:
		return "", false, nil
	}
	tags := map[string]any{}
	all, _ := properties["Tags"].([]any)
	for _, tag := range all {
		tag := tag.(map[string]any)
		tags[fmt.Sprint(tag["Key"])] = tag["Value"]
	}
	attributes["tags"] = tags
	made, err := s.cloud.Create(context.Background(), kind, attributes)
	return fmt.Sprint(made["id"]), true, err
}

// trail returns the sessions of the roles of stacks, each once with the operations that it was for.
func (c *customer) trail() string {
	var lines []string
	for _, stack := range c.stacks {
		for _, r := range stack.Resources {
			if r.Type != "AWS::IAM::Role" {
				continue
			}
			name := fmt.Sprint(r.Properties["RoleName"])
			for _, session := range c.account.Cloud.AWS.Sessions(name) {
				if session.Chained {
					tags, _ := json.Marshal(session.Tags) // only texts
					lines = append(lines, fmt.Sprintf("AssumeRole %s as %s %s\n", name, session.Name, tags))
				}
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// remove deletes the stack of an install.
func (c *customer) remove(ctx context.Context, install string) (string, error) {
	answer, err := c.stacks[install].Delete(ctx)
	if c.stop != nil {
		c.stop()
	}
	delete(c.stacks, install)
	return fmt.Sprintf("the stack reported: %s, %s\n", answer.Status, answer.Reason), err
}
