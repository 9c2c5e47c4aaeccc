// Command cloud is a simulated cloud for Terraform. Under the name terraform-provider-TYPE_vVERSION
// it serves the recorded schema of that provider, and keeps what Terraform creates in a file. Under
// its own name it shows and changes that file. Under the names of the clouds' login programs it
// prints credentials for the simulated clusters.
//
// It serves the tests and demos of nuon, which never reach a real cloud.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, filepath.Base(os.Args[0])+":", err)
		os.Exit(1)
	}
}

// run does what the program's file name stands for.
func run(name string, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	directory, err := findCloud(program)
	if err != nil {
		return err
	}
	s := &store{directory: directory}
	if provider, is := strings.CutPrefix(name, "terraform-provider-"); is {
		typ, version, _ := strings.Cut(provider, "_v")
		return serve(typ, version, s)
	}
	if _, is := logins[name]; is {
		return login(directory, name, args, os.Stdout)
	}
	return command(s, args)
}
