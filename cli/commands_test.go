package main

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nuon-toolkit/nuon/cli/cmdenv"
	"github.com/nuon-toolkit/nuon/cli/console"
)

// TestOneCommand checks that each command is listed under its name, and is the same if it is the only one that
// is built.
func TestOneCommand(t *testing.T) {
	all, _, _ := tree()
	for _, c := range commands {
		e := &cmdenv.Env{Console: &console.Console{Output: "table"}}
		built := c.build(e)
		if built.Name() != c.name {
			t.Errorf("%s is listed as %s", built.Name(), c.name)
		}
		one, _, err := newRoot(e, c.name).Find([]string{c.name})
		if err != nil {
			t.Fatal(err)
		}
		other, _, err := all.Find([]string{c.name})
		if err != nil {
			t.Fatal(err)
		}
		if one.UsageString() != other.UsageString() || one.GroupID != other.GroupID {
			t.Errorf("%s: built alone, its usage is\n%s\nnot\n%s", c.name, one.UsageString(), other.UsageString())
		}
	}
}

// TestCommandsFor checks which commands are built for a command line.
func TestCommandsFor(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string // nil for all
	}{
		{[]string{"apps", "list"}, []string{"apps"}},
		{[]string{cobra.ShellCompRequestCmd, "installs", "get", ""}, []string{"installs"}},
		{[]string{cobra.ShellCompRequestCmd, "installs"}, nil}, // completes the name of the command
		{nil, nil}, {[]string{"--help"}, nil}, {[]string{"-o", "json", "apps"}, nil}, {[]string{"app"}, nil},
		{[]string{"reference", "man"}, nil}, {[]string{"help", "apps"}, nil}, {[]string{"--version", "apps"}, nil},
	} {
		got := []string{}
		for _, one := range commandsFor(c.args) {
			got = append(got, one.name)
		}
		if c.want == nil && len(got) != len(commands) || c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%q builds %q", c.args, got)
		}
	}
}
