package appconfig

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Approval options of an install.
const (
	ApprovalPrompt = "prompt"
	ApproveAll     = "approve-all"
)

// installFile is one file of installs/. Its inputs are checked when all inputs of the app are known.
type installFile struct {
	named
	index   int      // in App.Installs
	inputs  []*table // of name to value
	toggles *table   // of component to flag; nil for none
}

func (l *loader) install(file string, root *table) {
	idle, at := l.check(file, "", root, installKeys)
	l.sayIdle(file, at, idle)
	l.checkName(file, root, "install", installName)
	install := Install{
		Name: root.text("name"), ApprovalOption: root.text("approval_option"), AllowDestroy: root.flag("allow_destroy"),
		Labels: root.textMap("labels"), Account: l.account(file, root),
	}
	switch option := install.ApprovalOption; option {
	case ApprovalPrompt, ApproveAll:
	case "":
		install.ApprovalOption = ApprovalPrompt
	case "auto":
		install.ApprovalOption = ApproveAll
		l.warnf(file, root.place("approval_option"), `write "approve-all"`, "auto is the other name of approve-all")
	default:
		l.errorf(file, root.place("approval_option"), `write "prompt" or "approve-all"`, "there is no approval option %s", quoteShort(option))
	}
	f := &installFile{named: named{install.Name, file, root.place("name")}, index: len(l.app.Installs), toggles: root.object("component_toggles")}
	if n, ok := root.keys["inputs"]; ok {
		if t, isTable := n.value.(*table); isTable {
			f.inputs = []*table{t}
		} else if tables, areTables := n.tables(); areTables {
			f.inputs = tables
		} else {
			l.errorf(file, n.at, "", `"inputs" must be a table or an array of tables, not %s`, n.kind())
		}
	}
	l.app.Installs = append(l.app.Installs, install)
	l.installs = append(l.installs, f)
}

// accountKinds are the tables that say for which cloud account an install is.
var accountKinds = []string{"aws_account", "azure_account", "gcp_account"}

// account reads for which cloud account an install is.
func (l *loader) account(file string, root *table) map[string]map[string]string {
	var account map[string]map[string]string
	for _, kind := range accountKinds {
		n, said := root.keys[kind]
		if !said {
			continue
		}
		if account != nil {
			l.errorf(file, n.key, "keep one of them, and write an install for each account", "an install is for one account")
			continue
		}
		values := root.textMap(kind)
		if values == nil {
			values = map[string]string{}
		}
		account = map[string]map[string]string{kind: values}
	}
	return account
}

// checkInstallToggles compares what install files switch with what the app says may be switched, and keeps it. An install must
// not have a component without one that it needs.
func (l *loader) checkInstallToggles() {
	for _, f := range l.installs {
		toggles := map[string]bool{}
		for _, name := range f.toggles.names() {
			if on, ok := l.installToggle(f, name); ok {
				toggles[name] = on
			}
		}
		if len(toggles) == 0 {
			continue
		}
		l.app.Installs[f.index].Toggles = toggles
		for _, c := range l.components {
			l.checkOn(c, toggles, named{fmt.Sprintf("install %q: ", f.name), f.file, f.toggles.at})
		}
	}
}

func (l *loader) installToggle(f *installFile, name string) (on, ok bool) {
	n := f.toggles.keys[name]
	on, ok = n.flag()
	switch c := l.known.components[name]; {
	case !ok || l.full(): // told already
	case c == nil:
		l.errorf(f.file, n.key, didYouMean(name, keysOf(l.known.components)), "the app has no component %s", quoteShort(name))
		return false, false
	case c.typed == nil: // of a kind that has no effect yet
		return false, false
	case !c.typed.Toggleable:
		l.errorf(f.file, n.key, "write toggleable = true in its file, or remove it here", "component %q cannot be switched off or on", name)
		return false, false
	}
	return on, ok
}

// checkToggles sees to it that what is there by default needs nothing that is not.
func (l *loader) checkToggles() {
	for _, c := range l.components {
		l.checkOn(c, nil, named{"by default ", c.file, c.root.place("name")})
	}
}

// checkOn says when a component is on, with an install's toggles or by default, and one that it needs is off.
func (l *loader) checkOn(c *componentFile, toggles map[string]bool, where named) {
	if c.typed == nil || !c.typed.On(toggles) {
		return
	}
	for _, name := range directNeeds(c) {
		up := l.known.components[name]
		if up == nil || up.typed == nil || up.typed.On(toggles) || l.full() {
			continue
		}
		if len(toggles) > 0 && c.typed.On(nil) && !up.typed.On(nil) {
			continue // it is so by default, and told there
		}
		l.errorf(where.file, where.at, fmt.Sprintf("switch %s on too, or %s off", name, c.name), "%s%s is on, and %s, which it needs, is off", where.name, c.name, name)
	}
}

// checkInstallInputs compares what install files give with what the app declares, and keeps what is known and not sensitive.
func (l *loader) checkInstallInputs() {
	for _, f := range l.installs {
		given := map[string]string{}
		for _, t := range f.inputs {
			for _, name := range t.sorted() {
				l.installInput(f, t.keys[name], name, given)
			}
		}
		for _, input := range l.app.Inputs {
			// What the customer sets, and what is sensitive, is never in a file.
			_, ok := given[input.Name]
			if input.Required && input.Default == nil && !input.Sensitive && !input.UserConfigurable && !ok {
				l.errorf(f.file, f.at, "add it under [inputs]", "install %q: the required input %q is missing", f.name, input.Name)
			}
		}
		if len(given) > 0 {
			l.app.Installs[f.index].Inputs = given
		}
	}
}

func (l *loader) installInput(f *installFile, n *node, name string, given map[string]string) {
	if l.full() {
		return
	}
	input := l.known.inputs[name]
	if input == nil {
		l.errorf(f.file, n.key, didYouMean(name, keysOf(l.known.inputs)), "the app has no input %s", quoteShort(name))
		return
	}
	value, ok := n.text()
	switch {
	case !ok:
		l.errorf(f.file, n.at, "put structured values as JSON in a string", "the value of input %q must be a string, not %s", name, n.kind())
	case input.Sensitive:
		l.warnf(f.file, n.key, "remove it here, in git's history too, and set it with `nuon installs`",
			"input %q is sensitive and is not read from files", name)
	default:
		if problem := input.Check(value); problem != "" {
			l.errorf(f.file, n.at, "", "the value of input %q %s", name, problem)
		}
		given[name] = value
	}
}

// Check says what is wrong with a value for the input, such as "is not a number", or nothing. It never repeats the value. The
// empty string fits every type: it is how an optional input is left open.
func (i *Input) Check(value string) string {
	if value == "" {
		return ""
	}
	switch i.Type {
	case "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return "is not a number"
		}
	case "bool":
		if value != "true" && value != "false" {
			return "is neither true nor false"
		}
	case "json":
		if !json.Valid([]byte(value)) {
			return "is not JSON"
		}
	}
	return ""
}
