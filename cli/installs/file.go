package installs

import (
	"os"
	"path"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
)

// readFile reads an install file as part of the app that it belongs to, so that every rule of the format is checked, and puts what
// it says into n; what is there already was said on the command line and stays. What the format warns of in the file is said: an
// input that is sensitive is not read from it. It gives the file's inputs.
func readFile(c *console.Console, file string, n *api.NewInstall) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	var named struct{ Name string }
	if err := toml.Unmarshal(b, &named); err != nil {
		return nil, exit.BadTOML(file, err)
	}
	full, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	if filepath.Base(filepath.Dir(full)) != "installs" { // another file may have the name of one that is
		return nil, exit.Usagef("%s is not in the installs directory of an app: put it there, so that it is checked with the app", file)
	}
	dir := filepath.Dir(filepath.Dir(full))
	app, diagnostics := appconfig.Load(os.DirFS(dir), appconfig.Options{})
	if err := diagnostics.Err(); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	for _, d := range diagnostics {
		if d.File == path.Join("installs", filepath.Base(full)) {
			c.Say("%s", console.Line(d.String()))
		}
	}
	for _, i := range app.Installs {
		if i.Name == named.Name {
			fill(n, i)
			return i.Inputs, nil
		}
	}
	return nil, exit.Usagef("%s is no install of the app in %s", file, dir)
}

// fill puts what a file says of an install, besides its inputs, into a new one; what was said on the command line stays.
func fill(n *api.NewInstall, i appconfig.Install) {
	n.Name, n.AllowDestroy = i.Name, n.AllowDestroy || i.AllowDestroy
	if n.Approval == "" {
		n.Approval = api.NewInstallApproval(i.ApprovalOption)
	}
	n.Labels, n.Toggles, n.Account = i.Labels, i.Toggles, i.Account
}
