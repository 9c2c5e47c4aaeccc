package appconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/render"
)

// onCloud are the files of an app on each cloud, as far as they differ.
func onCloud(cloud string) files {
	stack := map[string]string{cloudAWS: "aws-cloudformation", cloudAzure: "azure-bicep", cloudGCP: "gcp-terraform"}[cloud]
	all := files{"stack.toml": "type = \"" + stack + "\"\nname = \"n\"\ndescription = \"d\"\n[[custom_nested_stacks]]\n" +
		"name = \"extra_stack\"\ntemplate_url = \"https://b.s3.amazonaws.com/a.yaml\"\n"}
	if cloud == cloudAWS {
		all["stack.toml"] = strings.Replace(all["stack.toml"], "[[custom",
			"vpc_nested_template_url = \"https://b.s3.amazonaws.com/v.yaml\"\n"+
				"runner_nested_template_url = \"https://b.s3.amazonaws.com/r.yaml\"\n[[custom", 1)
	}
	all["runner.toml"] = "runner_type = \"" + cloud + "\"\n"
	if cloud != cloudAWS {
		for _, role := range []string{"provision", "deprovision", "maintenance"} {
			all["permissions/"+role+".toml"] = "type = \"" + role + "\"\nname = \"" + role + "\"\ndescription = \"d\"\n" +
				"[[policies]]\n" + map[string]string{cloudAzure: "azure_built_in_roles = [\"Reader\"]\n",
				cloudGCP: "gcp_predefined_role = \"roles/owner\"\n"}[cloud]
		}
	}
	return all
}

// TestEveryPathIsChecked walks the table of template paths: a text that reads a path is valid, is
// warned about if nothing fills the path yet, and is an error if the path can have no value.
func TestEveryPathIsChecked(t *testing.T) {
	other := map[string]string{
		format.KindTerraformModule: strings.ReplaceAll(extraModule, "extra", "other"),
		format.KindHelmChart: "type = \"helm_chart\"\nname = \"other\"\nchart_name = \"other\"\n[public_repo]\n" +
			"repo = \"acme/infra\"\ndirectory = \".\"\nbranch = \"main\"\n",
		format.KindContainerImage: "type = \"container_image\"\nname = \"other\"\n" +
			"[public]\nimage_url = \"a/b\"\ntag = \"1\"\n",
	}
	names := strings.NewReplacer("install_stack.outputs.OUTPUT", "install_stack.outputs.vpc_id",
		"COMPONENT", "other", "ACTION", "extra_action", "STEP", "s", "INPUT", "domain",
		"SECRET_arn", "smtp_password_arn", "SECRET", "smtp_password", "STACK", "extra_stack", "NAMESPACE", "ns", "NAME", "n",
		"OUTPUT", "o", "VARIABLE", "v", "KEY", "k")
	for _, path := range TemplatePaths() {
		t.Run(path.Path, func(t *testing.T) {
			cloud, kind := path.Cloud, format.KindTerraformModule
			if cloud == "" {
				cloud = cloudAWS
			}
			if len(path.Kinds) > 0 {
				kind = path.Kinds[0]
			}
			more := vars(`a = "{{.nuon.` + names.Replace(path.Path) + `}}"`).and(files{"components/other.toml": other[kind],
				"actions/extra.toml": strings.Replace(extraAction, "extra", "extra_action", 1)}).and(onCloud(cloud))
			app, found := Load(ledger(t, more), Options{})
			var told []string
			for _, d := range found {
				if d.File == "components/extra.toml" {
					told = append(told, d.String())
				}
			}
			text := strings.Join(told, "\n")
			switch {
			case path.Never != "":
				if app != nil || !strings.Contains(text, path.Never) {
					t.Errorf("is no error: %s", found)
				}
			case app == nil:
				t.Errorf("is an error: %s", found.Err())
			case path.NotYet != strings.Contains(text, noValueYetPrefix) && deploys(kind), path.Never == "" && !path.NotYet &&
				deploys(kind) && text != "":
				t.Errorf("warns, which does not agree with the table: %q", text)
			case !deploys(kind) && !strings.Contains(text, noValueYetPrefix):
				t.Errorf("does not warn of a component of kind %s: %q", kind, text)
			}
		})
	}
}

// TestPathsOf finds the rows of the table for a path, for one above it and for one below it.
func TestPathsOf(t *testing.T) {
	for ref, want := range map[string]string{
		"install.id":                          "install.id",
		"cloud_account.aws.region":            "cloud_account.aws.region",
		"inputs.inputs.cidr":                  "inputs.inputs.INPUT",
		"domain":                              "domain.public_domain domain.internal_domain domain.populated",
		"sandbox.outputs.vpc.id":              "sandbox.outputs.OUTPUT",
		"install_stack.outputs.vpc_id":        "install_stack.outputs.OUTPUT install_stack.outputs.vpc_id",
		"install_stack.outputs.token_arn":     "install_stack.outputs.OUTPUT install_stack.outputs.SECRET_arn",
		"install_stack.outputs.other":         "install_stack.outputs.OUTPUT",
		"components.web.outputs.image.tag":    "components.COMPONENT.outputs.OUTPUT components.COMPONENT.outputs.image.tag",
		"actions.workflows.a.status":          "actions.workflows.ACTION.status",
		"none":                                "",
		"install.secrets.token":               "install.secrets.SECRET",
		"components.web.outputs.manifest.a.b": "components.COMPONENT.outputs.OUTPUT components.COMPONENT.outputs.manifest",
	} {
		var rows []string
		for _, path := range PathsOf(strings.Split(ref, ".")) {
			rows = append(rows, path.Path)
		}
		if got := strings.Join(rows, " "); got != want {
			t.Errorf("%s: %s, want %s", ref, got, want)
		}
	}
}

// TestPathsOfRealApps finds each path that the apps of the corpus read in the table, except for the values of
// secrets, which no template can read. NUON_CORPUS is a directory with one app per subdirectory.
func TestPathsOfRealApps(t *testing.T) {
	seen := map[string]bool{}
	for name, dir := range corpus(t) {
		for file, data := range contentsOf(t, dir) {
			if filepath.Ext(file) == ".md" || !strings.Contains(string(data.Data), ".nuon") {
				continue
			}
			for _, text := range textsIn(string(data.Data)) {
				tmpl, err := render.Parse(file, text)
				if err != nil {
					continue
				}
				for _, ref := range tmpl.Refs() {
					if len(PathsOf(ref)) == 0 {
						t.Errorf("%s/%s reads .nuon.%s, which the table lacks", name, file, ref)
					}
					seen[ref.String()] = true
				}
			}
		}
	}
	if len(seen) < 100 && os.Getenv("NUON_CORPUS") != "" {
		t.Errorf("the apps read only %d paths: this test sees nothing", len(seen))
	}
}

// textsIn returns the single expressions in a file.
func textsIn(file string) []string {
	var all []string
	for {
		_, rest, found := strings.Cut(file, "{{")
		if !found {
			return all
		}
		text, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return all
		}
		if strings.Contains(text, ".nuon") && !slices.Contains(all, "{{"+text+"}}") {
			all = append(all, "{{"+text+"}}")
		}
		file = after
	}
}
