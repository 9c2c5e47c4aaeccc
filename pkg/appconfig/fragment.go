package appconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/render"
)

// fragment is one text that is rendered at a deploy or a run.
type fragment struct {
	owner string // "sandbox", "component web" or "action smoke_test"
	key   string // vars.cidr
	content
}

func (l *loader) addFragment(owner, key string, c content) {
	if strings.Contains(c.text, ".nuon") {
		l.fragments = append(l.fragments, fragment{owner: owner, key: key, content: c})
	}
}

// place turns a position in the text into one in the file. In strings with escapes or joined lines it is near the right one.
func (f *fragment) place(line, column int) position {
	line, column = max(line, 1), max(column, 1)
	if f.node == nil {
		return position{line, column}
	}
	at := f.node.at
	switch {
	case f.node.quotes == 3 && f.node.newline:
		return position{at.line + line, column}
	case f.node.quotes == 3 && line > 1:
		return position{at.line + line - 1, column}
	case line > 1:
		return at // a line break that is written as an escape
	}
	return position{at.line, at.column + f.node.quotes + column - 1}
}

// find is where the text reads a path, in any of its spellings.
func (f *fragment) find(ref render.Path) position {
	for n := len(ref); n > 0; n-- {
		for _, spelling := range spellings(ref[:n]) {
			if i := strings.Index(f.text, ".nuon."+spelling); i >= 0 {
				before := f.text[:i]
				return f.place(1+strings.Count(before, "\n"), i-strings.LastIndexByte(before, '\n'))
			}
		}
	}
	return f.place(1, 1)
}

func spellings(ref render.Path) []string {
	all := []string{ref.String()}
	for _, alias := range []render.Path{{"install", "inputs"}, {"install", "sandbox"}, {"id"}, {"name"}} {
		canonical := render.Canonical(alias)
		if ref.HasPrefix(canonical...) {
			all = append(all, slices.Concat(alias, ref[len(canonical):]).String())
		}
	}
	return all
}

// checkTemplates parses every template and resolves what it reads.
func (l *loader) checkTemplates() {
	without := map[string]map[string]position{} // file, then what has no value yet
	for i := range l.fragments {
		if l.full() {
			break
		}
		f := &l.fragments[i]
		tmpl, err := render.Parse(f.key, f.text)
		if err != nil {
			l.badTemplate(f, err)
			continue
		}
		for _, ref := range tmpl.Refs() {
			idle := l.checkRef(f, ref)
			if idle == "" {
				continue
			}
			if without[f.file] == nil {
				without[f.file] = map[string]position{}
			}
			if _, ok := without[f.file][idle]; !ok {
				without[f.file][idle] = f.find(ref)
			}
		}
	}
	for file, idle := range without {
		names := slices.Sorted(maps.Keys(idle))
		l.warnf(file, idle[names[0]], "", "reads what has no value yet, so that it cannot be rendered: %s", strings.Join(names, ", "))
	}
}

func (l *loader) badTemplate(f *fragment, err error) {
	at, message, hint := f.place(1, 1), err.Error(), ""
	var refused *render.Error
	if errors.As(err, &refused) {
		at, message, hint = f.place(refused.Line, refused.Column), refused.Message, refused.Hint
	}
	l.errorf(f.file, at, hint, "%s: the template is not right: %s", f.key, message)
}

// checkRef tells if a ref can never have a value. It gives the name of what has none only because it has no effect yet.
func (l *loader) checkRef(f *fragment, ref render.Path) (idle string) {
	if l.full() {
		return ""
	}
	fail := func(hint, format string, args ...any) {
		l.errorf(f.file, f.find(ref), hint, "%s: %s", f.key, fmt.Sprintf(format, args...))
	}
	if ref.HasPrefix("install", "secrets") {
		l.warnf(f.file, f.find(ref), "let the workload read the secret where it is synced to",
			"%s: .nuon.%s has no value: secret values never pass through templates", f.key, ref)
		return ""
	}
	fields, known := nuonRoots[ref[0]]
	if !known {
		fail(didYouMean(ref[0], slices.Collect(maps.Keys(nuonRoots))), "there is no %q below .nuon", ref[0])
		return ""
	}
	if fields != nil && len(ref) > 1 && !slices.Contains(fields, ref[1]) {
		fail(didYouMean(ref[1], fields), "there is no %q below .nuon.%s", ref[1], ref[0])
		return ""
	}
	switch ref[0] {
	case "inputs":
		if len(ref) > 2 && ref[1] == "inputs" && l.known.inputs[ref[2]] == nil {
			fail(didYouMean(ref[2], keysOf(l.known.inputs)), "the app has no input %q", ref[2])
		}
	case "secrets":
		if len(ref) > 1 && !l.known.secrets[ref[1]] {
			fail(didYouMean(ref[1], keysOf(l.known.secrets)), "the app has no secret %q", ref[1])
			return ""
		}
		if len(ref) > 2 && !slices.Contains(secretFields, ref[2]) {
			fail(didYouMean(ref[2], secretFields), "there is no %q of a secret", ref[2])
			return ""
		}
	case "actions":
		l.checkActionRef(fail, ref)
	case "components":
		return l.checkComponentRef(f, fail, ref)
	}
	if slices.Contains(rootsWithoutValues, ref[0]) {
		return ".nuon." + ref[0]
	}
	return ""
}

func (l *loader) checkActionRef(fail func(string, string, ...any), ref render.Path) {
	if len(ref) < 3 || ref[1] != "workflows" {
		return
	}
	if !l.known.actions[ref[2]] {
		fail(didYouMean(ref[2], keysOf(l.known.actions)), "the app has no action %q", ref[2])
	} else if len(ref) > 3 && !slices.Contains(actionFields, ref[3]) {
		fail(didYouMean(ref[3], actionFields), "there is no %q of an action", ref[3])
	}
}

func (l *loader) checkComponentRef(f *fragment, fail func(string, string, ...any), ref render.Path) (idle string) {
	if len(ref) == 1 {
		fail("name the component that is meant, such as .nuon.components.web.outputs", "this reads all components")
		return ""
	}
	c := l.known.components[ref[1]]
	switch {
	case ref[1] == "populated":
		return ""
	case c == nil:
		fail(didYouMean(ref[1], keysOf(l.known.components)), "the app has no component %q", ref[1])
		return ""
	case f.owner == SandboxName:
		fail("turn it round: the component can read .nuon.sandbox.outputs", "the sandbox is made before all components and cannot read component %q", ref[1])
		return ""
	case len(ref) > 2 && !slices.Contains(componentFields, ref[2]):
		fail(didYouMean(ref[2], componentFields), "there is no %q of a component", ref[2])
		return ""
	case c.typed == nil:
		return "component " + c.name
	}
	return ""
}
