package initialize

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nuon-toolkit/nuon/cli/exit"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
)

// app is what is to be written.
type app struct {
	name, component string
	place           place
	module          string              // path in the repository of the module that is there; empty for the sample
	variables       []tfmodule.Variable // of that module
}

// terraformVersion is the Terraform that the app asks for. The file says where to change it.
const terraformVersion = "1.11.4"

//go:embed sample
var sample embed.FS

// take makes the component of a module that is there.
func (a *app) take(from string) error {
	dir, err := a.place.module(from)
	if err != nil {
		return err
	}
	m, err := tfmodule.Read(os.DirFS(a.place.root), dir)
	if err != nil {
		return exit.Usagef("--from %s: %s", from, err)
	}
	a.module, a.variables = dir, m.Variables
	if name := strings.Trim(unnamed.ReplaceAllString(strings.ToLower(path.Base(dir)), "_"), "_"); name != "" && name != "sandbox" {
		a.component = name
	}
	return nil
}

// files are those of the app, in their order.
func (a app) files() ([]file, error) {
	all := []file{
		{"metadata.toml", "# metadata\nversion      = \"v2\"\ndisplay_name = " + appconfig.Quote(a.name) + "\ndescription  = \"What it is, in a sentence\"\n"},
		{"sandbox.toml", a.sandbox()},
		{"components/" + a.component + ".toml", a.componentFile()},
		{"inputs.toml", a.inputs()},
		{".gitignore", ".terraform/\n*.tfstate\n*.tfstate.backup\n"},
	}
	if a.place.inGit {
		all = all[:len(all)-1] // the repository has its own
	}
	err := fs.WalkDir(sample, "sample", func(name string, e fs.DirEntry, err error) error {
		below := strings.TrimPrefix(name, "sample/")
		if err != nil || e.IsDir() || a.module != "" && strings.HasPrefix(below, "modules/web/") {
			return err
		}
		text, err := sample.ReadFile(name)
		all = append(all, file{below, string(text)})
		return err
	})
	return all, err
}

func (a app) sandbox() string {
	return fmt.Sprintf(`# sandbox
# What every install gets before all components, such as a cluster or a network. This one only says what it is called.
terraform_version = %q

[public_repo]
repo      = "." # the repository that this file is in, at the same commit
directory = %s # from the repository's root

[vars]
install_id = "{{.nuon.install.id}}"
`, terraformVersion, appconfig.Quote(a.place.inRoot("modules/account")))
}

func (a app) componentFile() string {
	dir := a.module
	if dir == "" {
		dir = a.place.inRoot("modules/web")
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# terraform
type              = "terraform_module"
name              = %q
terraform_version = %q

[public_repo]
repo      = "."
directory = %s
`, a.component, terraformVersion, appconfig.Quote(dir))
	if a.module == "" {
		b.WriteString("\n# What is read here is waited for, and a change of it makes this component behind.\n[vars]\n" +
			"greeting   = \"{{.nuon.inputs.inputs.greeting}}\"\naccount_id = \"{{.nuon.sandbox.outputs.account_id}}\"\n")
		return b.String()
	}
	if kept := a.optional(); len(kept) > 0 {
		fmt.Fprintf(&b, "\n# These variables have a default and keep it: %s. To let an install choose one, give\n# it an input in inputs.toml and a line in [vars] here.\n", strings.Join(kept, ", "))
	}
	var vars, files []string
	for _, v := range a.required() {
		if simple(v) {
			vars = append(vars, fmt.Sprintf("%s = \"{{.nuon.inputs.inputs.%s}}\"", v.Name, v.Name))
		} else {
			files = append(files, fmt.Sprintf("%s = {{.nuon.inputs.inputs.%s}}", v.Name, v.Name))
		}
	}
	if len(vars) > 0 {
		b.WriteString("\n[vars]\n" + strings.Join(vars, "\n") + "\n")
	}
	if len(files) > 0 {
		b.WriteString("\n# tfvars, for values that are no plain text\n[[var_file]]\ncontents = '''\n" + strings.Join(files, "\n") + "\n'''\n")
	}
	return b.String()
}

// required are the variables that must be given a value.
func (a app) required() (all []tfmodule.Variable) {
	for _, v := range a.variables {
		if v.Required {
			all = append(all, v)
		}
	}
	return all
}

// optional are the names of the others.
func (a app) optional() (names []string) {
	for _, v := range a.variables {
		if !v.Required {
			names = append(names, v.Name)
		}
	}
	return names
}

// simple says that a value of the variable is written as text.
func simple(v tfmodule.Variable) bool {
	switch v.Type {
	case "", "string", "number", "bool":
		return true
	}
	return false
}

func (a app) inputs() string {
	var b strings.Builder
	b.WriteString("# inputs\n# What an install says of itself. A change of one makes exactly those components behind that read it.\n[[group]]\nname         = \"app\"\ndisplay_name = \"App\"\ndescription  = \"What the app needs to know\"\n")
	if a.module == "" {
		b.WriteString("\n[[input]]\nname         = \"greeting\"\ndisplay_name = \"Greeting\"\ndescription  = \"The first words of the page\"\ngroup        = \"app\"\ndefault      = \"hello\"\n")
		return b.String()
	}
	for _, v := range a.required() {
		kind := v.Type
		if kind == "" {
			kind = "string"
		} else if !simple(v) {
			kind = "json"
		}
		description := strings.Join(strings.Fields(v.Description), " ")
		if description == "" {
			description = "The variable " + v.Name + " of the module"
		}
		fmt.Fprintf(&b, "\n[[input]]\nname         = %q\ndisplay_name = %q\ndescription  = %s\ngroup        = \"app\"\ntype         = %q\nrequired     = true\n",
			v.Name, strings.ReplaceAll(v.Name, "_", " "), appconfig.Quote(description), kind)
		if v.Sensitive {
			b.WriteString("sensitive    = true\n")
		}
	}
	return b.String()
}

// notes are what a person should know of what was written.
func (a app) notes() []string {
	if a.module == "" {
		return nil
	}
	return []string{
		fmt.Sprintf("The component %s is the module in %s. Its variables without a default became inputs.", a.component, a.module),
		"The sandbox in modules/account is a sample that makes nothing: replace it by what your component stands on, or leave it.",
	}
}

// next are the commands that lead from here to a plan that waits for a yes. Dir is the directory as it was named.
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
	for _, v := range a.required() {
		if v.Sensitive {
			install += " --secret " + v.Name + "=env:NAME"
		} else {
			install += " --input " + v.Name + "=…"
		}
	}
	return append(all, create, sync, install, "nuon review")
}

// shellWord quotes a word where a shell would take it apart.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@=+-", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
