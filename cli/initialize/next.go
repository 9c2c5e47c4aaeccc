package initialize

import (
	"path/filepath"

	"github.com/nuon-toolkit/nuon/cli/console"
)

// next returns the commands that lead to a plan that waits for approval. Dir is the
// directory as the person named it.
func (a app) next(dir string) []string {
	var all []string
	if dir = filepath.Clean(dir); dir != "." {
		all = append(all, "cd "+console.ShellWord(dir))
	}
	url := a.place.origin
	switch {
	case url != "":
		all = append(all, "git add -A && git commit -m "+console.ShellWord("Package "+a.name)+" && git push")
	case a.place.inGit:
		all = append(all, "git add -A && git commit -m "+console.ShellWord("Package "+a.name))
	default:
		all = append(all, "git init -b main && git add -A && git commit -m "+console.ShellWord("Package "+a.name))
	}
	if url == "" {
		url = "file://" + a.place.root
	}
	create := "nuon apps create " + a.name + " --repo " + console.ShellWord(url)
	if below := a.place.inRoot("."); below != "." {
		create += " --directory " + console.ShellWord(below)
	}
	sync := "nuon sync"
	if filepath.Base(a.place.dir) != a.name {
		sync += " . --app " + a.name
	}
	install := "nuon installs create acme --app " + a.name
	for _, in := range a.inputs {
		if in.sensitive {
			install += " --secret " + in.name + "=env:NAME"
		} else {
			install += " --input " + in.name + "=…"
		}
	}
	return append(all, create, sync, install, "nuon review")
}
