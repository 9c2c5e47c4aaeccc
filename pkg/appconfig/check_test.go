package appconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/golden"
)

// ledger returns the app of testdata/base.txtar with files added or replaced.
func ledger(t *testing.T, more files) fstest.MapFS {
	t.Helper()
	base := maps.Clone(brokenBase(t))
	maps.Copy(base, more.fs())
	return base
}

const (
	extraModule = "type = \"terraform_module\"\nname = \"extra\"\nterraform_version = \"1.11.4\"\n[public_repo]\nrepo = " +
		"\"acme/infra\"\ndirectory = \".\"\nbranch = \"main\"\n"
	extraAction = "name = \"extra\"\n[[triggers]]\ntype = \"manual\"\n[[steps]]\nname = \"s\"\ninline_contents = " +
		"\"#!/bin/sh\"\n"
)

// vars returns a module with these variables.
func vars(lines ...string) files {
	return files{"components/extra.toml": extraModule + "[vars]\n" + strings.Join(lines, "\n") + "\n"}
}

// TestRightConfigs: rare but valid forms cause only no-effect-yet warnings.
func TestRightConfigs(t *testing.T) {
	gcp := files{
		"runner.toml": "runner_type = \"gcp\"\n", "stack.toml": "type = \"gcp-terraform\"\nname = \"n\"\ndescription = " +
			"\"d\"\n[[custom_nested_stacks]]\nname = \"a\"\ntemplate_url = \"acme/infra//gcp/modules/a\"\n",
		"permissions/provision.toml": "type = \"provision\"\nname = \"a\"\ndescription = \"d\"\n[[policies]]\n" +
			"gcp_predefined_role = \"roles/owner\"\ngcp_permissions = [\"a.b.c\"]\n",
		"permissions/maintenance.toml": "type = \"maintenance\"\nname = \"b\"\ndescription = \"d\"\ncloud_platform = " +
			"\"gcp\"\n[[policies]]\ngcp_permissions = [\"a.b.c\"]\n",
	}
	for name, more := range map[string]files{
		"the base": {},
		"an output that only the modules of a stack on GCP know": gcp.and(vars(
			`a = "{{.nuon.install_stack.outputs.my_bucket}}"`)),
		"an alias of a component": files{"components/network.toml": strings.Replace(extraModule, `"extra"`,
			"\"network\"\nvar_name = \"net\"", 1)}.and(vars(`a = "{{.nuon.components.net.outputs.x}}"`)),
		"the cluster of the sandbox": {"components/extra.toml": strings.Replace(extraModule, "[public",
			"kubernetes_context = \"sandbox\"\n[public", 1)},
		"a role with something unknown": {"actions/extra.toml": "role = \"{{.nuon.inputs.inputs.domain}}-x\"\n" +
			extraAction},
		"a role in another spelling": {"actions/extra.toml": "role = \"{{ .nuon.id }}-maintenance\"\n" + extraAction},
		"every type of custom role": {"permissions/a.toml": "type = \"custom\"\nname = \"a\"\ndescription = \"d\"\n" +
			"[[policies]]\nmanaged_policy_name = \"x\"\n", "permissions/b.toml": "type = \"custom\"\nname = \"b\"\n" +
			"description = \"d\"\n[[policies]]\nmanaged_policy_name = \"x\"\n"},
		"a secret that goes many ways": {"secrets.toml": "[[secret]]\nname = \"smtp_password\"\ndescription = \"d\"\n" +
			"kubernetes_sync = true\nkubernetes_sync_targets = [{namespaces = [\"a\", \"b\"], name = \"n\"}, {namespaces = " +
			"[\"a\"], name = \"n\", key = \"k\"}]\n"},
		"the address of a secret": vars(
			`a = "{{.nuon.secrets.smtp_password.arn}}{{.nuon.install_stack.outputs.smtp_password_arn}}"`),
		"all outputs of a component": vars(`a = "{{range $k, $v := .nuon.components.network.outputs}}{{$k}}{{end}}"`),
		"roles by their names": vars(
			`a = "{{index .nuon.install_stack.outputs.custom_role_arns \"x\"}}{{.nuon.install_stack.outputs.install_inputs.domain}}"`),
		"status and older names": vars(
			`a = "{{.nuon.id}}{{.nuon.components.populated}}{{.nuon.components.api.status}}{{.nuon.actions.workflows.smoke_test.status}}{{.nuon.app.variables.x}}"`),
		"Helm's own templates": vars(`a = "{{ .Values.x }}"`),
		"a chart of a registry": {"components/extra.toml": "type = \"helm_chart\"\nname = \"extra\"\nchart_name " +
			"= \"extra-chart\"\n[helm_repo]\nrepo_url = \"oci://ghcr.io/acme/charts\"\nchart = \"x\"\nversion = \"1.4.0\"\n"},
		"values with templates": {"components/extra.toml": "type = \"helm_chart\"\nname = \"extra\"\nchart_name " +
			"= \"extra-chart\"\n[helm_repo]\nrepo_url = \"https://charts.example.com\"\nchart = \"x\"\nversion = \"~1.4\"\n" +
			"[[values_file]]\ncontents = \"a: [{{.nuon.install.id}}\"\n"},
		"values that say nothing": {"components/extra.toml": "type = \"helm_chart\"\nname = \"extra\"\nchart_name " +
			"= \"extra-chart\"\n[helm_repo]\nrepo_url = \"https://charts.example.com\"\nchart = \"x\"\nversion = \"~1.4\"\n" +
			"[[values_file]]\ncontents = \"# nothing\"\n"},
		"a release elsewhere": {"components/extra.toml": "type = \"helm_chart\"\nname = \"extra\"\nchart_name " +
			"= \"ledger-api\"\nnamespace = \"other\"\n[helm_repo]\nrepo_url = \"https://charts.example.com\"\nchart = \"x\"\n" +
			"version = \"1.4.0\"\n"},
		"a command in a runbook": {"runbooks/a.toml": "name = \"a\"\n[[steps]]\nname = \"s\"\ntype = \"action\"\n" +
			"command = \"kubectl get pods\"\n"},
		"no boundary": {"permissions/provision.toml": "type = \"provision\"\nname = \"a\"\ndescription " +
			"= \"d\"\npermissions_boundary = \"{}\"\n[[policies]]\nname = \"x\"\ncontents = " +
			"'{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"*\",\"Resource\":\"{{.nuon.install.id}}\"}]}'\n"},
		"a policy of charts on manifests": {"policies.toml": "[[policy]]\ntype = \"helm_chart\"\nengine = \"opa\"\n" +
			"components = [\"api\", \"quota\"]\ncontents = \"package nuon\\n\\ndeny contains msg if { msg := " +
			"input.review.kind.kind }\\n\"\n"},
		"an echo of what nothing deploys yet": {
			"components/extra.toml": "type = \"pulumi\"\nname = \"extra\"\nruntime = \"go\"\n[public_repo]\nrepo = " +
				"\"acme/infra\"\ndirectory = \".\"\nbranch = \"main\"\n[config]\na = " +
				"\"{{.nuon.actions.workflows.extra.outputs.x}}\"\n",
			"actions/extra.toml": extraAction + "[[triggers]]\ntype = \"post-deploy-component\"\ncomponent_name = \"extra\"\n",
		},
		"a script whose template names what runs it": {
			"actions/extra.toml": strings.Replace(extraAction, "#!/bin/sh", "{{.nuon.inputs.inputs.domain}}", 1),
		},
		"a break-glass role that is watched": {
			"break_glass.toml": "[[role]]\nname = \"fix\"\ndescription = \"d\"\n[[role.policies]]\nmanaged_policy_name " +
				"= \"x\"\n",
			"actions/extra.toml": "break_glass_role = \"fix\"\nname = \"extra\"\n[[triggers]]\ntype = \"manual\"\n" +
				"[[triggers]]\ntype = \"role-enabled\"\n[[steps]]\nname = \"s\"\ninline_contents = \"#!/bin/sh\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := Load(ledger(t, more), Options{})
			if got := told(found, false); got != "" {
				t.Error(got)
			}
		})
	}
}

// TestWrongConfigs: errors that testdata/broken does not cover, with their diagnostics in
// testdata/checks.golden.
func TestWrongConfigs(t *testing.T) {
	wrong := map[string]files{
		"reserved names": {
			"components/a.toml": strings.Replace(extraModule, `"extra"`, `"sandbox"`, 1),
			"components/b.toml": strings.Replace(extraModule, `"extra"`, `"populated"`, 1),
			"components/c.toml": strings.Replace(extraModule, `"extra"`, "\"c\"\nvar_name = \"api\"", 1),
		},
		"nothing renders these": {"components/api_image.toml": "type = \"container_image\"\nname = \"api_image\"\n" +
			"[public]\nimage_url = \"ghcr.io/acme/api\"\ntag = \"v-{{.nuon.inputs.inputs.domain}}\"\n"},
		"images of actions": {"actions/extra.toml": "name = \"extra\"\nimage = \"alpine\"\n[[triggers]]\ntype = " +
			"\"pre-teardown-component\"\ncomponent_name = \"api_image\"\nindex = -1\n[[triggers]]\ntype = " +
			"\"post-enable-component\"\ncomponent_name = \"api\"\n[[steps]]\nname = \"s\"\ncommand = \"x\"\n"},
		"scripts that nothing runs": {
			"actions/extra.toml": strings.Replace(extraAction, "#!/bin/sh", "echo hello", 1),
			"actions/other.toml": strings.NewReplacer(`"extra"`, `"other"`, "#!/bin/sh", "./other.sh").Replace(extraAction),
			"actions/other.sh":   "\n#!/bin/sh\n",
		},
		"addresses of repositories": {
			"components/a.toml": strings.NewReplacer(`"extra"`, `"a"`, "acme/infra", "git@github.com:acme/infra.git").Replace(
				extraModule),
			"components/b.toml": strings.NewReplacer(`"extra"`, `"b"`, "acme/infra", "github.com/acme/infra").Replace(
				extraModule),
		},
		"policies that check nothing": {"policies.toml": "[[policy]]\ntype = \"runner_job_action_workflow\"\ncontents = " +
			"\"x\"\n[[policy]]\ntype = \"sandbox\"\nengine = \"opa\"\ncomponents = [\"api\"]\ncontents = \"package " +
			"nuon\\n\\ndeny contains msg if { msg := input.review.x }\\n\"\n[[policy]]\ntype = \"kubernetes_cluster\"\nengine " +
			"= \"opa\"\ncontents = \"package nuon\\n\\ndeny contains msg if { msg := input.review.x }\\n\"\n[[policy]]\ntype " +
			"= \"sandbox\"\ncontents = '''apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: x}\nspec:\n  " +
			"rules:\n  - name: a\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {message: m, pattern: {spec: " +
			"{x: y}}}\n'''\n"},
		"addresses of charts and images": {
			"components/a.toml": "type = \"helm_chart\"\nname = \"a\"\nchart_name = \"a-chart\"\n[helm_repo]\nrepo_url = " +
				"\"https://me:hunter2@charts.example.com\"\nchart = \"x\"\n",
			"components/b.toml": "type = \"container_image\"\nname = \"b\"\n[public]\nimage_url = " +
				"\"https://ghcr.io/acme/api/\"\ntag = \"a b\"\n",
			"components/c.toml": "type = \"container_image\"\nname = \"c\"\n[public]\nimage_url = " +
				"\"ghcr.io:443/acme/api:1.0\"\ntag = \"1.0\"\n",
			"components/d.toml": "type = \"container_image\"\nname = \"d\"\n[public]\nimage_url = \"a b\"\ntag = \"1.0\"\n",
		},
		"the sandbox reads itself": {"sandbox.toml": "terraform_version = \"1.11.4\"\n[public_repo]\nrepo = \".\"\n" +
			"directory = \".\"\n[vars]\na = \"{{.nuon.install.sandbox.outputs.x}}\"\n"},
		"a secret where an input is meant": vars(`a = "{{.nuon.inputs.inputs.smtp_password}}"`,
			`b = "{{.nuon.install.secrets.other}}"`, `c = "{{.nuon.vars.x}}"`),
		"an install that gives a secret": {"installs/a.toml": "name = \"a\"\n[inputs]\ndomain = \"x\"\nsmtp_password = " +
			"\"hunter2\"\n"},
		"paths that climb": {
			"components/a.toml": "type = \"docker_build\"\nname = \"a\"\ndockerfile = \"../../Dockerfile\"\n[public_repo]\n" +
				"repo = \".\"\ndirectory = \".\"\n",
			"components/b.toml": "type = \"kubernetes_manifest\"\nname = \"b\"\nnamespace = \"n\"\n[kustomize]\npath = " +
				"\"../x\"\n[public_repo]\nrepo = \".\"\ndirectory = \".\"\n",
		},
		"two roles of an action": {"actions/extra.toml": "role = \"x\"\nbreak_glass_role = " +
			"\"{{.nuon.install.id}}-maintenence\"\n" + extraAction},
		"principals": {"operation_roles.toml": "[[rules]]\nprincipal = \"nuon::sandbox:x\"\noperation = " +
			"\"provision\"\nrole = \"{{.nuon.install.id}}-provision\"\n[[rules]]\nprincipal = \"nuon::component:\"\noperation " +
			"= \"deploy\"\nrole = \"{{.nuon.install.id}}-provision\"\n[[rules]]\nprincipal = \"nuon::componnt:*\"\noperation " +
			"= \"deploy\"\nrole = \"{{.nuon.install.id}}-provision\"\n[[rules]]\nprincipal = \"me\"\noperation = \"deploy\"\n" +
			"role = \"{{.nuon.install.id}}-provision\"\n"},
		"a manifest that is none": {"components/a.toml": "type = \"kubernetes_manifest\"\nname = \"a\"\nnamespace = " +
			"\"n\"\nmanifest = \"\"\n", "components/b.toml": "type = \"kubernetes_manifest\"\nname = \"b\"\nnamespace = " +
			"\"n\"\nmanifest = \"- a\"\n", "components/c.toml": "type = \"kubernetes_manifest\"\nname = \"c\"\nnamespace = " +
			"\"n\"\nmanifest = \"# a\"\n"},
		"a stack without templates": {"stack.toml": "type = \"aws-cloudformation\"\nname = \"n\"\ndescription = \"d\"\n" +
			"[[custom_nested_stacks]]\nname = \"a\"\ntemplate_url = \"s3://x/y\"\n"},
	}
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		dir := ledger(t, wrong[name])
		_, found := Load(dir, Options{})
		checkTold(t, dir, found)
		fmt.Fprintf(&got, "== %s\n%s", name, told(found, false))
	}
	golden.Check(t, "testdata/checks.golden", got.String())
	if strings.Contains(got.String(), "hunter2") {
		t.Error("a password is told")
	}
}

func TestSameRepository(t *testing.T) {
	spellings := []string{
		"acme/infra", "Acme/Infra", "acme/infra.git", "https://github.com/acme/infra", "https://github.com/acme/infra.git/",
		"git@github.com:acme/infra.git",
		"ssh://git@github.com/acme/infra",
	}
	for _, a := range spellings {
		for _, b := range spellings {
			if !sameRepository(a, b) {
				t.Errorf("%s and %s are one repository", a, b)
			}
		}
		for _, b := range []string{"", ".", "acme/other", "https://git.example.com/acme/infra", "other/acme/infra"} {
			if sameRepository(a, b) {
				t.Errorf("%s and %s are two repositories", a, b)
			}
		}
	}
}

// TestBranchTips: no warning for a version tag or commit, or for another repository than the
// app's own.
func TestBranchTips(t *testing.T) {
	for branch, told := range map[string]bool{
		"main": true, "release": false, "v1.4.0": false, "chart-1.2": false,
		"0123456789abcdef0123456789abcdef01234567": false, "feature/x": true,
	} {
		dir := ledger(t, files{"components/extra.toml": strings.Replace(extraModule, `"main"`, `"`+branch+`"`, 1)})
		for repository, own := range map[string]bool{"https://github.com/acme/infra.git": true, "acme/other": false,
			"": false} {
			_, found := Load(dir, Options{Repository: repository, Branch: "release"})
			got := slices.ContainsFunc(found,
				func(d Diagnostic) bool { return d.Rule == ruleBranchTip && d.File == "components/extra.toml" })
			if got != (told && own) {
				t.Errorf("branch %s of acme/infra, with the app on release of %q: told %t", branch, repository, got)
			}
		}
	}
}

func TestMergeIdle(t *testing.T) {
	idle := func(file string, line int, message string) Diagnostic {
		return Diagnostic{File: file, Line: line, Column: 1, Severity: "warning", Rule: ruleNoEffectYet, Message: message}
	}
	got := mergeNoEffectYet(Diagnostics{
		idle("a", 5, noEffectYetPrefix+"role, labels"), {File: "a", Line: 4, Rule: ruleBadName},
		idle("a", 3, noEffectYetPrefix+"trigger cron"), idle("b", 1, noEffectYetPrefix+"x"),
		idle("a", 9, noValueYetPrefix+".nuon.domain"), idle("a", 7, noEffectYetPrefix+"trigger cron"),
	})
	got.Sort()
	want := Diagnostics{
		idle("a", 3, "accepted, no effect yet: labels, role, trigger cron; reads what has no value yet, so that it cannot "+
			"be rendered: .nuon.domain"),
		{File: "a", Line: 4, Rule: ruleBadName}, idle("b", 1, noEffectYetPrefix+"x"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSameRole(t *testing.T) {
	for name, want := range map[string]string{
		"{{ .nuon.install.id }}-x": "{{.nuon.install.id}}-x", " {{- .nuon.id -}}-x": "{{.nuon.install.id}}-x",
		"plain": "plain",
	} {
		if got := normalizeRoleName(name); got != want {
			t.Errorf("sameRole(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestYAMLMistakes: the line is right, and the message does not repeat the text.
func TestYAMLMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"a: b\nc: {hunter2\n":             "2:1: error: values_file[0].contents is not YAML: did not find expected",
		"a: b\n\tc: hunter2\n":            "2:1: error: values_file[0].contents is not YAML: a tab cannot indent",
		"a: *hunter2\n":                   "1:1: error: values_file[0].contents is not YAML: unknown anchor",
		"a: b\nc\n":                       "2:1: error: values_file[0].contents is not YAML: could not find expected",
		"- a\n":                           "1:1: error: values_file[0].contents: Helm values are a table",
		strings.Repeat("[", 20000) + "\n": "1:1: error: values_file[0].contents is not YAML: exceeded max depth",
	} {
		chart := "type = \"helm_chart\"\nname = \"extra\"\nchart_name = \"extra-chart\"\n[helm_repo]\nrepo_url = " +
			"\"https://charts.example.com\"\nchart = \"x\"\nversion = \"~1.4\"\n[[values_file]]\ncontents = \"./v.yaml\"\n"
		dir := ledger(t, files{"components/extra.toml": chart, "components/v.yaml": text})
		_, found := Load(dir, Options{})
		checkTold(t, dir, found)
		got := told(found, false)
		if !strings.Contains(got, want) || strings.Contains(got, "hunter2") || strings.Count(got, "\n") != 1 {
			t.Errorf("%.30q: %s", text, got)
		}
	}
}

// TestNearIsBounded: a config with thousands of long wrong names does not take minutes.
func TestNearIsBounded(t *testing.T) {
	c := &checker{reporter: &reporter{}}
	if got := c.nearestHint("ledgr", []string{"ledger", "other"}); got != `did you mean "ledger"?` {
		t.Errorf("near gave %q", got)
	}
	var long []string
	for i := range 2000 {
		long = append(long, fmt.Sprintf("%s%04d", strings.Repeat("x", 90), i))
	}
	asked := 0
	for c.nearestHint(strings.Repeat("x", 90)+"abcd", long) != "" {
		if asked++; asked > 100 {
			t.Fatal("it goes on comparing")
		}
	}
}

// TestCyclesAreTold: the checks report a cycle exactly when a simple search finds one.
func TestCyclesAreTold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c", "d", "e"}
		config := small()
		needs := map[string][]string{}
		for _, name := range names {
			listed := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID[string]).Draw(rt, name)
			listed = slices.DeleteFunc(listed, func(other string) bool { return other == name })
			read := rapid.SampledFrom(append([]string{""}, names...)).Draw(rt, name+" reads")
			rest, vars := "", ""
			if len(listed) > 0 {
				rest = `dependencies = ["` + strings.Join(listed, `", "`) + `"]`
			}
			needs[name] = listed
			if read != "" {
				vars = "[vars]\nx = \"{{.nuon.components." + read + ".outputs.y}}\"\n"
				needs[name] = append(needs[name], read)
			}
			config["components/"+name+".toml"] = moduleFile(name, rest) + vars
		}
		_, found := Load(config.fs(), Options{})
		for _, d := range found {
			if d.Rule != ruleCycle {
				rt.Fatalf("unexpected: %v", d)
			}
		}
		if (len(found) > 0) != circular(needs) {
			rt.Fatalf("circular: %t, told: %v", circular(needs), found)
		}
	})
}

// circular removes names that need none of the remaining ones until none is left or a cycle
// remains.
func circular(needs map[string][]string) bool {
	needs = maps.Clone(needs)
	for {
		before := len(needs)
		maps.DeleteFunc(needs, func(_ string, ups []string) bool {
			return !slices.ContainsFunc(ups, func(up string) bool { _, left := needs[up]; return left })
		})
		if len(needs) == before {
			return before > 0
		}
	}
}

// TestNamesMoveNoTerminal: diagnostics contain no control characters from templates.
func TestNamesMoveNoTerminal(t *testing.T) {
	text := `a = '{{index .nuon "install" "secrets" "x\x1b[2J"}}{{index .nuon "cloud_account" "aws" "\a"}}{{index .nuon "\r"}}'`
	_, found := Load(ledger(t, vars(text)), Options{})
	if len(found) < 3 {
		t.Fatalf("told: %v", found)
	}
	for _, d := range found {
		if strings.ContainsAny(d.Message+d.Hint, "\x1b\a\r\n") {
			t.Errorf("%q", d.String())
		}
	}
}
