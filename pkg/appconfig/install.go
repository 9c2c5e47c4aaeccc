package appconfig

import (
	"encoding/json"
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
	index  int      // in App.Installs
	inputs []*table // of name to value
}

func (l *loader) install(file string, root *table) {
	idle, at := l.check(file, "", root, installKeys)
	l.sayIdle(file, at, idle)
	l.checkName(file, root, "install", installName)
	install := Install{
		Name: root.text("name"), ApprovalOption: root.text("approval_option"), AllowDestroy: root.flag("allow_destroy"),
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
	f := &installFile{named: named{install.Name, file, root.place("name")}, index: len(l.app.Installs)}
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
