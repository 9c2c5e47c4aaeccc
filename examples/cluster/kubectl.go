package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

// kubectlName is the name, or the first argument, by which this program is the command line tool.
const kubectlName = "kubectl"

// asKubectl gives the command line of kubectl, the name first, when that is what is meant.
func asKubectl(args []string) (rest []string, is bool) {
	if filepath.Base(args[0]) == kubectlName {
		return args, true
	}
	if len(args) > 1 && args[1] == kubectlName {
		return args[1:], true
	}
	return nil, false
}

// kubectl runs the command line tool, of the version of the cluster, and gives its exit code.
func kubectl(args []string) int {
	os.Args = args // it looks there for how it was called, and for plugins
	command := cmd.NewDefaultKubectlCommand()
	command.SetArgs(args[1:])
	if err := cli.RunNoErrOutput(command); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}
