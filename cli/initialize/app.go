package initialize

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/style"
)

// app is the content of the app to write.
type app struct {
	name       string
	place      place
	cloud      string // runner_type; empty for none
	components []component
	releases   []string // names of Helm releases
	inputs     []input  // those without a default
	extra      []file   // files that components refer to
	notes      []string
}

// component is a file in components/.
type component struct{ name, text string }

// terraformVersion is the Terraform version that the app requires. The generated file
// has a comment on where to change it.
const terraformVersion = "1.11.4"

//go:embed sample
var sample embed.FS

// longestName is the maximum length of a derived name in bytes, before a number is added.
const longestName = 60

// componentName derives a unique component name from another name.
func (a *app) componentName(of string) string {
	name := simplifyName(of, "_")
	name = strings.TrimRight(name[:min(len(name), longestName)], "_")
	if name == "" || name == "sandbox" {
		name = "app"
	}
	return uniqueName(name, "_", func(name string) bool {
		return slices.ContainsFunc(a.components, func(c component) bool { return c.name == name })
	})
}

// uniqueName appends a number to a name until taken returns false.
func uniqueName(name, between string, taken func(string) bool) string {
	for n, made := 2, name; ; n++ {
		if !taken(made) {
			return made
		}
		made = fmt.Sprintf("%s%s%d", name, between, n)
	}
}

// take adds components for the finds, or the sample's component if there are none.
func (a *app) take(finds []find) {
	for _, f := range finds {
		f.part.addTo(a, f.dir)
	}
	if len(finds) > 0 {
		a.notes = append(a.notes, "The sandbox in modules/account is a sample that creates nothing: replace it "+
			"with what your components need, or keep it.")
		return
	}
	a.components = append(a.components,
		component{name: "web", text: terraformComponent("web", a.place.inRoot("modules/web")) +
			"\n# This component is deployed after what these values read, and is planned again when they " +
			"change.\n[vars]\n" +
			"greeting   = \"{{.nuon.inputs.inputs.greeting}}\"\naccount_id = \"{{.nuon.sandbox.outputs.account_id}}\"\n"})
}

// sampled reports whether the app is the sample.
func (a *app) sampled() bool { return len(a.notes) == 0 }

// files returns the files of the app in order, formatted as `nuon fmt` does.
func (a *app) files() ([]file, error) {
	all := []file{
		{"metadata.toml", "# metadata\nversion = \"v2\"\n"},
		{"sandbox.toml", a.sandbox()},
	}
	if a.cloud != "" {
		all = append(all, file{"runner.toml", "# runner\nrunner_type = " + appconfig.Quote(a.cloud) + "\n"})
	}
	for _, c := range a.components {
		all = append(all, file{"components/" + c.name + ".toml", c.text})
	}
	if text := a.inputFile(); text != "" {
		all = append(all, file{"inputs.toml", text})
	}
	for i := range all {
		text, err := style.Format([]byte(all[i].text))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", all[i].path, err)
		}
		all[i].text = string(text)
	}
	all = append(all, a.extra...)
	if !a.place.inGit { // otherwise the repository has its own
		all = append(all, file{".gitignore", ".terraform/\n*.tfstate\n*.tfstate.backup\n"})
	}
	err := fs.WalkDir(sample, "sample", func(name string, e fs.DirEntry, err error) error {
		below := strings.TrimPrefix(name, "sample/")
		if err != nil || e.IsDir() || !a.sampled() && strings.HasPrefix(below, "modules/web/") {
			return err
		}
		text, err := sample.ReadFile(name)
		all = append(all, file{below, string(text)})
		return err
	})
	return all, err
}

func (a *app) sandbox() string {
	return fmt.Sprintf(`# sandbox
# What is deployed to every install before the components, such as a cluster or a network. This sample only outputs its name.
terraform_version = %q

[public_repo]
repo      = "." # the repository that this file is in, at the same commit
directory = %s # from the repository's root

[vars]
install_id = "{{.nuon.install.id}}"
`, terraformVersion, appconfig.Quote(a.place.inRoot("modules/account")))
}

// inputFile returns the content of inputs.toml, or "" if the app has no inputs.
func (a *app) inputFile() string {
	const begins = "# inputs\n# Values that each install sets. When one changes, only the components that read it " +
		"are planned again.\n"
	if a.sampled() {
		return begins + group("app", "App", "What the app needs to know") +
			"\n[[input]]\nname = \"greeting\"\ndisplay_name = \"Greeting\"\n" +
			"description = \"The first words of the page\"\ngroup = \"app\"\ndefault = \"hello\"\n"
	}
	if len(a.inputs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(begins)
	for _, c := range a.components {
		if slices.ContainsFunc(a.inputs, func(in input) bool { return in.group == c.name }) {
			b.WriteString(group(c.name, strings.ReplaceAll(c.name, "_", " "), "What "+c.name+" needs to know"))
		}
	}
	for _, in := range a.inputs {
		fmt.Fprintf(&b, "\n[[input]]\nname = %s\ndisplay_name = %s\ndescription = %s\ngroup = %s\ntype = %s\n"+
			"required = true\n",
			appconfig.Quote(in.name), appconfig.Quote(strings.ReplaceAll(in.name, "_", " ")),
			appconfig.Quote(in.words), appconfig.Quote(in.group), appconfig.Quote(in.kind))
		if in.sensitive {
			b.WriteString("sensitive = true\n")
		}
	}
	return b.String()
}

func group(name, display, words string) string {
	return fmt.Sprintf("[[group]]\nname = %s\ndisplay_name = %s\ndescription = %s\n",
		appconfig.Quote(name), appconfig.Quote(display), appconfig.Quote(words))
}

// placeOf returns the name of a directory for the end of a sentence, where "." could be misread.
func placeOf(dir string) string {
	if dir == "." {
		return "the repository's root"
	}
	return dir
}
