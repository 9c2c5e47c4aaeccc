package account

import (
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

// Group plays the resource group of a customer on Azure: it deploys the template of an install's stack in a simulated
// cloud, and starts the machine of the runner.
type Group struct {
	Services *cloudtest.Cloud
	// Options are where the group is, and what the customer enters.
	Options cloudtest.DeploymentOptions

	made    *cloudtest.Deployment
	machine *cloudtest.RunningAzureMachine // nil before it is started
}

// Deploy deploys a template, as the customer does first and after each change.
func (g *Group) Deploy(template []byte, parameters map[string]any) (err error) {
	g.Options.Parameters, g.Options.At = parameters, g.Services.Now()
	if g.made, err = g.Services.Azure.Deploy(template, g.Options); err != nil || g.machine == nil {
		return err
	}
	machine, _, err := g.made.Machine(g.Options)
	if err == nil {
		g.machine.SetUserData(machine.UserData)
	}
	return err
}

// Machine returns the command that the machine of the runner runs, with the settings of the script that boots it. dir
// is its disk.
func (g *Group) Machine(ctx context.Context, runnerd, dir string) (*exec.Cmd, error) {
	machine, script, err := g.made.Machine(g.Options)
	if err != nil {
		return nil, err
	}
	head, _, found := strings.Cut(script, "# Boots the machine")
	if !found {
		return nil, errors.New("the script of the machine has no settings")
	}
	settings := map[string]string{}
	for _, name := range []string{"runner_url", "claim", "arguments"} {
		read := exec.CommandContext(ctx, "bash", "-c", head+`printf %s "$`+name+`"`)
		value, err := read.Output()
		if err != nil {
			return nil, err
		}
		settings[name] = string(value)
	}
	if g.machine, err = g.Services.Azure.RunMachine(machine); err != nil {
		return nil, err
	}
	return runnerCommand(ctx, runnerd, dir, runnerSettings{Cloud: "azure", URL: settings["runner_url"],
		Claim: settings["claim"], Arguments: settings["arguments"],
	}, []string{"AZURE_POD_IDENTITY_AUTHORITY_HOST=" + g.machine.Address}, g.Services.Environ()), nil
}

// Output returns an output of the stack.
func (g *Group) Output(name string) any { return g.made.Outputs[name] }
