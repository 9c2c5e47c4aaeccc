package form

import (
	"testing"

	"github.com/spf13/cobra"
)

// TestCommandLine checks that the command line of a command has the flags that were set, each as a shell takes it, and
// not the one that opens the form.
func TestCommandLine(t *testing.T) {
	root, c := &cobra.Command{Use: "nuon"}, &cobra.Command{Use: "deploy", Run: func(*cobra.Command, []string) {}}
	root.AddCommand(c)
	c.Flags().Bool("redeploy", false, "")
	c.Flags().Bool("wait", true, "")
	c.Flags().BoolP("interactive", "i", false, "")
	c.Flags().StringArray("label", nil, "")
	c.Flags().String("reason", "", "")
	c.Flags().Int("unset", 3, "")
	if got := CommandLine(c, nil); got != "nuon deploy" {
		t.Errorf("without flags: %s", got)
	}
	for _, f := range [][2]string{{"redeploy", "true"}, {"wait", "false"}, {"interactive", "true"}, {"label", "a=b"},
		{"label", "c=d e"}, {"reason", "it's slow"}} {
		if err := Set(c, f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	want := `nuon deploy hello/acme 'a b' --label a=b --label 'c=d e' --reason 'it'\''s slow' --redeploy --wait=false`
	if got := CommandLine(c, []string{"hello/acme", "a b"}); got != want {
		t.Errorf("it is\n%s, want\n%s", got, want)
	}
	if err := Set(c, "wait", "maybe"); err == nil {
		t.Error("an invalid value is accepted")
	}
}
