package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/actions"
	"github.com/nuon-toolkit/nuon/cli/approvals"
	"github.com/nuon-toolkit/nuon/cli/apps"
	"github.com/nuon-toolkit/nuon/cli/appsync"
	"github.com/nuon-toolkit/nuon/cli/audit"
	"github.com/nuon-toolkit/nuon/cli/breakglass"
	"github.com/nuon-toolkit/nuon/cli/builds"
	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/components"
	"github.com/nuon-toolkit/nuon/cli/contextcmd"
	"github.com/nuon-toolkit/nuon/cli/debug"
	"github.com/nuon-toolkit/nuon/cli/dev"
	diffcmd "github.com/nuon-toolkit/nuon/cli/diff"
	"github.com/nuon-toolkit/nuon/cli/doctor"
	"github.com/nuon-toolkit/nuon/cli/explain"
	fmtcmd "github.com/nuon-toolkit/nuon/cli/format"
	"github.com/nuon-toolkit/nuon/cli/graph"
	"github.com/nuon-toolkit/nuon/cli/images"
	"github.com/nuon-toolkit/nuon/cli/initialize"
	"github.com/nuon-toolkit/nuon/cli/installs"
	"github.com/nuon-toolkit/nuon/cli/logs"
	"github.com/nuon-toolkit/nuon/cli/orgs"
	"github.com/nuon-toolkit/nuon/cli/reference"
	"github.com/nuon-toolkit/nuon/cli/registry"
	"github.com/nuon-toolkit/nuon/cli/releases"
	"github.com/nuon-toolkit/nuon/cli/render"
	"github.com/nuon-toolkit/nuon/cli/repos"
	"github.com/nuon-toolkit/nuon/cli/runners"
	"github.com/nuon-toolkit/nuon/cli/schema"
	"github.com/nuon-toolkit/nuon/cli/secretinput"
	"github.com/nuon-toolkit/nuon/cli/state"
	"github.com/nuon-toolkit/nuon/cli/status"
	"github.com/nuon-toolkit/nuon/cli/tokens"
	"github.com/nuon-toolkit/nuon/cli/tour"
	"github.com/nuon-toolkit/nuon/cli/validate"
	"github.com/nuon-toolkit/nuon/cli/workflows"
)

// topCommand is a command below the root, which is built only if it may be needed: to build all of them takes
// a fifth of the time of a start.
type topCommand struct {
	name, group string
	build       func(*cmdenv.Env) *cobra.Command
}

// commands are all commands below the root, in the order of the help.
var commands = []topCommand{
	{"init", "journeys", initialize.New},
	{"validate", "journeys", validate.New},
	{"graph", "journeys", graph.New},
	{"fmt", "journeys", fmtcmd.New},
	{"sync", "journeys", appsync.New},
	{"review", "journeys", approvals.NewReview},
	{"approve", "journeys", approvals.NewApprove},
	{"reject", "journeys", approvals.NewReject},
	{"deploy", "journeys", installs.NewDeploy},
	{"run", "journeys", actions.NewRun},
	{"logs", "journeys", logs.New},
	{"debug", "journeys", debug.New},
	{"explain", "journeys", explain.New},
	{"schema", "journeys", schema.New},
	{"render", "journeys", render.New},
	{"status", "journeys", status.New},
	{"diff", "journeys", diffcmd.New},
	{"apps", "nouns", apps.New},
	{"components", "nouns", components.New},
	{"builds", "nouns", builds.New},
	{"releases", "nouns", releases.New},
	{"installs", "nouns", installs.New},
	{"approvals", "nouns", approvals.New},
	{"actions", "nouns", actions.New},
	{"images", "nouns", images.New},
	{"workflows", "nouns", workflows.New},
	{"runners", "nouns", runners.New},
	{"break-glass", "nouns", breakglass.New},
	{"state", "nouns", state.New},
	{"credentials", "nouns", secretinput.NewCredentials},
	{"webhooks", "nouns", secretinput.NewWebhooks},
	{"repos", "nouns", repos.New},
	{"registry", "nouns", registry.New},
	{"tokens", "nouns", tokens.New},
	{"orgs", "nouns", orgs.New},
	{"audit", "nouns", audit.New},
	{"dev", "machine", dev.New},
	{"tour", "machine", tour.New},
	{"doctor", "machine", doctor.New},
	{"context", "machine", contextcmd.New},
	{"reference", "machine", reference.New},
}

// addCommands adds the commands that the arguments need.
func addCommands(e *cmdenv.Env, root *cobra.Command, args []string) {
	for _, c := range commandsFor(args) {
		built := c.build(e)
		built.GroupID = c.group
		groupsOnly(built)
		root.AddCommand(built)
	}
}

// commandsFor returns the commands that the arguments need: one if they start with its name, else all
// of them.
func commandsFor(args []string) []topCommand {
	if len(args) > 2 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		args = args[1:] // it completes the arguments of a command
	}
	n := -1
	if len(args) > 0 && args[0] != describesAll {
		n = slices.IndexFunc(commands, func(c topCommand) bool { return c.name == args[0] })
	}
	if n < 0 {
		return commands
	}
	return commands[n : n+1]
}

// describesAll is the command that describes all others.
const describesAll = "reference"
