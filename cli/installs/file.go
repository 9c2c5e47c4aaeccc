package installs

import (
	"os"
	"path"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// readFile reads an install file as part of its app, so that every rule of the format
// is checked, and fills n from it; values that n already has come from the command
// line and take precedence. It prints the format's warnings about the file, for
// example that a sensitive input in it is not used. It returns the inputs of the file.
func readFile(c *console.Console, file string, n *api.NewInstall) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	var named struct{ Name string }
	if err := toml.Unmarshal(b, &named); err != nil {
		return nil, exitcode.BadTOML(file, err)
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if filepath.Base(filepath.Dir(full)) != "installs" { // a file elsewhere may have the name of an install
		return nil, exitcode.Usagef("%s is not in the installs directory of an app: move it there, so that it is "+
			"checked with the app", file)
	}
	dir := filepath.Dir(filepath.Dir(full))
	app, diagnostics := appconfig.Load(os.DirFS(dir), appconfig.Options{})
	if err := diagnostics.Err(); err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	for _, d := range diagnostics {
		if d.File == path.Join("installs", filepath.Base(full)) {
			c.Messagef("%s", console.Line(d.String()))
		}
	}
	for _, i := range app.Installs {
		if i.Name == named.Name {
			fill(n, i)
			return i.Inputs, nil
		}
	}
	return nil, exitcode.Usagef("%s is not an install file of the app in %s", file, dir)
}

// fill copies the settings of a file, except its inputs, into a new install. Approval
// settings from the command line take precedence.
func fill(n *api.NewInstall, i appconfig.Install) {
	n.Name, n.AllowDestroy = i.Name, n.AllowDestroy || i.AllowDestroy
	if n.Approval == "" {
		n.Approval = api.NewInstallApproval(i.ApprovalOption)
	}
	n.Labels, n.Toggles, n.Account, n.Overrides = i.Labels, i.Toggles, i.Account, overridesOf(i)
}
