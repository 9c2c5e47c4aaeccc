package initialize

import (
	"path/filepath"
	"strings"
)

// next returns the commands that lead to a plan that waits for approval. Dir is the
// directory as the person named it.
func (a app) next(dir string) []string {
	var all []string
	if dir = filepath.Clean(dir); dir != "." {
		all = append(all, "cd "+shellWord(dir))
	}
	url := a.place.origin
	switch {
	case url != "":
		all = append(all, "git add -A && git commit -m "+shellWord("Package "+a.name)+" && git push")
	case a.place.inGit:
		all = append(all, "git add -A && git commit -m "+shellWord("Package "+a.name))
	default:
		all = append(all, "git init -b main && git add -A && git commit -m "+shellWord("Package "+a.name))
	}
	if url == "" {
		url = "file://" + a.place.root
	}
	create := "nuon apps create " + a.name + " --repo " + shellWord(url)
	if below := a.place.inRoot("."); below != "." {
		create += " --directory " + shellWord(below)
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

// shellWord quotes a word if a shell would split or expand it.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@=+-", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
