package form

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nuon-toolkit/nuon/cli/complete"
	"github.com/nuon-toolkit/nuon/cli/console"
)

// interactiveFlag is the flag that opens a form, which its command line therefore does not contain.
const interactiveFlag = "interactive"

// CommandLine returns the command line of a command with the flags that were set.
func CommandLine(c *cobra.Command, args []string) string {
	words := []string{c.CommandPath()}
	for _, a := range args {
		words = append(words, console.ShellWord(a))
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch {
			case f.Name == interactiveFlag:
			case f.Value.Type() == "bool" && v == "true":
				words = append(words, "--"+f.Name)
			case f.Value.Type() == "bool":
				words = append(words, "--"+f.Name+"="+v)
			default:
				words = append(words, "--"+f.Name, console.ShellWord(v))
			}
		}
	})
	return strings.Join(words, " ")
}

// ShowCommand prints the command line that does the same as the answers of a person.
func ShowCommand(c *console.Console, cmd *cobra.Command, args []string) {
	c.Messagef("the same without questions:\n  %s", console.Line(CommandLine(cmd, args)))
}

// Set sets a flag of a command as if a person had passed it.
func Set(c *cobra.Command, flag, value string) error {
	if err := c.Flags().Set(flag, value); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// Choices returns names as the choices of a field.
func Choices(names []complete.Name) []Choice {
	all := make([]Choice, 0, len(names))
	for _, n := range names {
		all = append(all, Choice{Value: n.Name, About: n.About})
	}
	return all
}
