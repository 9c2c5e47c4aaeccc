package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// madeApps is the number of apps in the corpus. Each generated app has about as many files of
// each kind as the average app of the corpus.
const madeApps = 30

const (
	components = 2 // of each kind
	actions    = 5
	inputs     = 8
)

// made writes the apps, which are the same in each run, and returns their directories.
func made(tb testing.TB) []string {
	tb.Helper()
	root := tb.TempDir()
	var dirs []string
	for i := range madeApps {
		dir := filepath.Join(root, fmt.Sprintf("app-%02d", i))
		for name, text := range appOf(i) {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				tb.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				tb.Fatal(err)
			}
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// appOf returns the files of one app.
func appOf(n int) map[string]string {
	files := map[string]string{
		"metadata.toml": fmt.Sprintf("version = \"v2\"\ndisplay_name = \"App %d\"\nreadme = \"./README.md\"\n", n),
		"README.md": "# App for {{.nuon.install.name}}\n\n" + strings.Repeat(
			"It runs in {{.nuon.install_stack.outputs.region}} below {{.nuon.inputs.inputs.input_0}}.\n", 5),
		"sandbox.toml": "terraform_version = \"1.11.4\"\n" + repository("base") +
			"[vars]\nname = \"n-{{.nuon.install.id}}\"\nsize = \"{{.nuon.inputs.inputs.input_1}}\"\n[[var_file]]\ncontents = " +
			"\"./sandbox.tfvars\"\n",
		"sandbox.tfvars": strings.Repeat("tag = \"{{.nuon.install.id}}\"\n", 1) + "list = [\n" +
			strings.Repeat("  \"a value\",\n", 40) + "]\n",
		"runner.toml": "runner_type = \"aws\"\n",
		"stack.toml": "type = \"aws-cloudformation\"\nname = \"app-{{.nuon.install.id}}\"\ndescription = \"d\"\n" +
			"vpc_nested_template_url = \"https://templates.example.com/vpc.yaml\"\nrunner_nested_template_url = " +
			"\"https://templates.example.com/runner.yaml\"\n",
		"secrets.toml": "[[secret]]\nname = \"password\"\ndescription = \"d\"\n",
		"policies.toml": "[[policy]]\ntype = \"sandbox\"\nengine = \"opa\"\ncontents = \"./policies/a.rego\"\n\n" +
			"[[policy]]\ntype = \"kubernetes_cluster\"\ncontents = \"./policies/b.yaml\"\n",
		"policies/a.rego": "# package nuon\n", "policies/b.yaml": kyverno,
	}
	if n%10 == 0 { // most policies of the corpus contain only comments
		files["policies/a.rego"] = rego
	}
	declareInputs(files)
	for _, role := range []string{"provision", "maintenance", "deprovision"} {
		files["permissions/"+role+".toml"] = fmt.Sprintf("type = %q\nname = \"{{.nuon.install.id}}-%s\"\ndescription "+
			"= \"d\"\n"+
			"[[policies]]\nmanaged_policy_name = \"PowerUserAccess\"\n[[policies]]\nname = \"pass\"\ncontents = "+
			"\"./pass.json\"\n", role, role)
	}
	files["permissions/pass.json"] = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["iam:PassRole"], "Resource": "*"}]}`
	declareComponents(files)
	for i := range actions {
		files[fmt.Sprintf("actions/%d.toml", i)] = fmt.Sprintf("name = \"action_%d\"\ntimeout = \"5m\"\n[[triggers]]\ntype "+
			"= \"manual\"\n[[triggers]]\ntype = \"cron\"\ncron_schedule = \"0 3 * * *\"\n"+
			"[[steps]]\nname = \"one\"\ninline_contents = \"\"\"\n%s\"\"\"\n[steps.env_vars]\nREGION = "+
			"\"{{.nuon.install_stack.outputs.region}}\"\nHOST = \"{{.nuon.components.chart_%d.outputs.services}}\"\n", i, script,
			i%components)
	}
	return files
}

func declareInputs(files map[string]string) {
	text := "[[group]]\nname = \"all\"\ndescription = \"d\"\n"
	for i := range inputs {
		text += fmt.Sprintf("\n[[input]]\nname = \"input_%d\"\ndisplay_name = \"Input\"\ndescription = \"What it is for, "+
			"in a sentence of the usual length\"\ngroup = \"all\"\ndefault = \"%d\"\n", i, i)
	}
	files["inputs.toml"] = text
}

func declareComponents(files map[string]string) {
	for i := range components {
		files[fmt.Sprintf("components/module-%d.toml", i)] = fmt.Sprintf("type = \"terraform_module\"\nname = "+
			"\"module_%d\"\nterraform_version = \"1.11.4\"\nmax_auto_retries = 5\n%s[vars]\n"+
			"vpc = \"{{.nuon.install_stack.outputs.vpc_id}}\"\nzone = "+
			"\"{{.nuon.install.sandbox.outputs.nuon_dns.public_domain.zone_id}}\"\nname = \"{{.nuon.install.id}}-%d\"\n", i,
			repository("module"), i)
		files[fmt.Sprintf("components/image-%d.toml", i)] = fmt.Sprintf("type = \"container_image\"\nname = \"image_%d\"\n"+
			"[public]\nimage_url = \"ghcr.io/acme/api\"\ntag = \"2.3.1\"\n", i)
		files[fmt.Sprintf("components/chart-%d.toml", i)] = fmt.Sprintf("type = \"helm_chart\"\nname = \"chart_%d\"\n"+
			"chart_name = \"chart-%d\"\nnamespace = \"app\"\nmax_auto_retries = 5\n%s[[values_file]]\ncontents = "+
			"\"./values/%d.yaml\"\n",
			i, i, repository("chart"), i)
		files[fmt.Sprintf("components/values/%d.yaml", i)] = fmt.Sprintf("image:\n  repository: {{ "+
			".nuon.components.image_%d.outputs.image.repository }}\n  tag: {{ .nuon.components.image_%d.outputs.image.tag }}\n"+
			"database: {{ .nuon.components.module_%d.outputs.address }}\n", i, i, i) +
			strings.Repeat("# what a chart can be told, in words\nkey: value\n", 1)
		files[fmt.Sprintf("components/manifest-%d.toml", i)] = fmt.Sprintf("type = \"kubernetes_manifest\"\nname = "+
			"\"manifest_%d\"\nnamespace = \"app\"\ndependencies = [\"chart_%d\"]\nmanifest = \"./manifests/m.yaml\"\n", i, i)
	}
	files["components/manifests/m.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n" +
		strings.Repeat("  # a comment\n", 10) + "  host: \"x\"\n"
}

func repository(directory string) string {
	return fmt.Sprintf("\n[public_repo]\nrepo = \"acme/infra\"\ndirectory = %q\nbranch = \"main\"\n\n", directory)
}

// script is the script of an action's step.
var script = "#!/bin/sh\nset -eu\n\n# What it does, and what for.\n" +
	strings.Repeat("kubectl get pods -n \"$HOST\" -o json | jq -r .items\n", 20)

const rego = `package nuon

deny contains msg if {
	some change in input.plan.resource_changes
	change.type == "aws_eks_cluster"
	change.change.after.vpc_config[_].endpoint_public_access == true
	msg := sprintf("%s: the endpoint is public", [change.address])
}

warn contains msg if {
	some change in input.plan.resource_changes
	"delete" in change.change.actions
	msg := sprintf("%s is deleted", [change.address])
}
`

const kyverno = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: no-latest
spec:
  validationFailureAction: Enforce
  rules:
    - name: no-latest
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        message: name a version
        pattern:
          spec:
            containers:
              - image: "!*:latest"
`
