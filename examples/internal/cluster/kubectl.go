package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

// kubectlName is the program name, or the first argument, that selects the command line tool.
const kubectlName = "kubectl"

// asKubectl returns the command line of kubectl, starting with the name, if kubectl is selected.
func asKubectl(args []string) (rest []string, is bool) {
	if filepath.Base(args[0]) == kubectlName {
		return args, true
	}
	if len(args) > 1 && args[1] == kubectlName {
		return args[1:], true
	}
	return nil, false
}

// kubectl runs the command line tool, in the version of the cluster, and returns its exit code.
func kubectl(args []string) int {
	os.Args = args // it reads its own name and the plugins from there
	command := cmd.NewDefaultKubectlCommand()
	command.SetArgs(args[1:])
	if err := cli.RunNoErrOutput(command); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}
