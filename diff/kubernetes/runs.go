package kubernetes

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
)

// markRuns marks the values of environment variables that a command of their
// container runs: a masked value there would hide what runs.
func markRuns(found []difference, object raw.Value) {
	for i := range found {
		d := &found[i]
		at := slices.IndexFunc(d.path, func(s *tree.Step) bool { return s.Key == "env" })
		if at < 0 || at+1 == len(d.path) || !d.path[at+1].IsSelect {
			continue
		}
		container := valueAt(object, d.path[:at])
		d.runs = runsVariable(container, d.path[at+1].Select)
	}
}

// valueAt returns the value at a path of keys, names and indices; null if there is none.
func valueAt(v raw.Value, p tree.Path) raw.Value {
	for _, s := range p {
		switch {
		case s.IsSelect && len(s.By()) == 1:
			list := v
			v = raw.Value{}
			for i := range list.Len() {
				if raw.TextAt(list.At(i), s.By()[0]) == s.Select {
					v = list.At(i)
				}
			}
		case s.IsIndex:
			v = v.At(s.Index)
		default:
			v, _ = v.Get(s.Key)
		}
	}
	return v
}

// interpreters run a text among their arguments.
var interpreters = map[string]bool{
	"sh": true, "bash": true, "ash": true, "dash": true, "zsh": true, "ksh": true, "busybox": true, "env": true,
	"python": true, "python3": true, "perl": true, "ruby": true, "node": true, "php": true, "lua": true, "awk": true,
	"pwsh": true, "cmd": true, "tini": true, "xargs": true,
}

// runsVariable reports whether a variable decides what a container runs: the kubelet
// puts its value into the text of an interpreter or in the place of the program, or a
// shell evaluates it. A value that is only an argument of a program does not count.
func runsVariable(container raw.Value, name string) bool {
	command := texts(container, "command")
	words := slices.Concat(command, texts(container, "args"))
	reference := "$(" + name + ")"
	interprets := slices.ContainsFunc(words, func(w string) bool { return interpreters[path.Base(w)] })
	for i, w := range words {
		switch {
		case strings.Contains(w, reference) && (interprets || i == 0 && (len(command) > 0 || w == reference)):
			return true
		case !strings.Contains(w, name):
		case interprets && evaluates(w, name):
			return true
		}
	}
	script, _ := raw.String(fieldOf(container, "script"))
	return strings.Contains(script, reference) || strings.Contains(script, name) && evaluates(script, name)
}

// evaluates reports whether a shell text runs the value of a variable, as a
// program or as a text that something evaluates.
func evaluates(text, name string) bool {
	for _, m := range evaluation().FindAllStringSubmatch(text, -1) {
		if m[1] == name {
			return true
		}
	}
	return false
}

// evaluation matches a variable in the position of a program, or after a
// command that runs its arguments.
var evaluation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?:^|[;&|\n(]|\b(?:eval|exec|source|then|do|else|xargs|nohup|sudo|time|command|trap)\b|(?:^|\s)(?:\.|-c|-e|-r)\s)` +
			`[\s"'@]*\$\{?([A-Za-z_][A-Za-z0-9_]*)`)
})

func texts(v raw.Value, key string) []string {
	var out []string
	list := fieldOf(v, key)
	for i := range list.Len() {
		text, _ := raw.String(list.At(i))
		out = append(out, text)
	}
	return out
}

func fieldOf(v raw.Value, key string) raw.Value {
	child, _ := v.Get(key)
	return child
}
