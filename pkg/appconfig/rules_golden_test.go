package appconfig

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// TestRulesOfTheFormat loads the apps in testdata, each of which breaks the rules of one section of the specification,
// and compares all that is reported. A file "APP: PATH" belongs to an app, beside the files that every app must have.
// -update accepts what changed.
func TestRulesOfTheFormat(t *testing.T) {
	const file = "testdata/rules.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	apps, parts := map[string]files{}, map[string][]txtar.File{}
	for _, f := range archive.Files {
		name, path, ok := strings.Cut(f.Name, ": ")
		if !ok {
			t.Fatalf("%s names no app", f.Name)
		}
		if path == "reported" {
			continue
		}
		if apps[name] == nil {
			names, apps[name] = append(names, name), small()
		}
		apps[name][path] = string(f.Data)
		parts[name] = append(parts[name], f)
	}
	checked := &txtar.Archive{Comment: archive.Comment}
	for _, name := range names {
		app, found := Load(apps[name].fs(), Options{})
		if (app == nil) != found.HasErrors() {
			t.Errorf("%s: app %v, errors %t", name, app != nil, found.HasErrors())
		}
		reported := txtar.File{Name: name + ": reported", Data: []byte(found.String() + "\n")}
		checked.Files = append(append(checked.Files, parts[name]...), reported)
	}
	golden.Check(t, file, string(txtar.Format(checked)))
}
