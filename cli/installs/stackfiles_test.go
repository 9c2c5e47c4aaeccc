package installs

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/console"
	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// templates are versions 1 and 2 of a stack on AWS.
var templates = []api.Stack{
	{Version: 1, Release: 4, Cloud: "aws", Name: "shop", Files: []api.StackFile{{Name: "template.json",
		Content: `{"Parameters": {"A": {"Default": ""}}, "Resources": {"Gone": {"Type": "X"}, "Kept": {"Properties": {"Size": 1}}}}`}}},
	{Version: 2, Release: 5, Cloud: "aws", Name: "shop", Region: "eu-central-1",
		Findings: []api.Diagnostic{{Severity: "warning", File: "role x", Message: "allows everything"}},
		Status:   api.StackStatus{Status: api.StackOutOfDate, Newest: 2, Running: "1"},
		Files: []api.StackFile{{Name: "template.json",
			Content: `{"Parameters": {"A": {"Default": ""}, "RunnerToken": {}}, "Resources": {"Kept": {"Properties": {"Size": 2}}}}`}}},
}

// serveStackVersions answers the requests about versions of a stack; the newest is rendered.
func serveStackVersions(mux *http.ServeMux) {
	newest := templates[len(templates)-1]
	mux.HandleFunc("POST /v1/installs/{install}/stack", func(w http.ResponseWriter, _ *http.Request) { give(w, newest) })
	mux.HandleFunc("GET /v1/installs/{install}/stack/versions", func(w http.ResponseWriter, _ *http.Request) {
		give(w, api.StackVersionList{Items: []api.StackVersion{{Version: 2, Release: 5, Name: "shop",
			Digest: "sha256:0123456789abcdef"}}})
	})
	mux.HandleFunc("GET /v1/installs/{install}/stack/versions/1", func(w http.ResponseWriter, _ *http.Request) {
		give(w, templates[0])
	})
}

// runStack runs a command of a stack and returns what it prints.
func runStack(t *testing.T, args ...string) (out, messages string, err error) {
	t.Helper()
	_, e := start(t)
	err = execute(t, New(e), append([]string{"stack"}, args...)...)
	return e.Console.Out.(*strings.Builder).String(), e.Console.Err.(*strings.Builder).String(), err
}

func TestStackRender(t *testing.T) {
	out, messages, err := runStack(t, "render", "acme")
	if err != nil || out != templates[1].Files[0].Content || messages != "warning: role x: allows everything\n" {
		t.Errorf("%v: %s, %s", err, out, messages)
	}
	dir := filepath.Join(t.TempDir(), "new")
	out, _, err = runStack(t, "render", "acme", "--version", "1", "--output-dir", dir)
	written, _ := os.ReadFile(filepath.Join(dir, "template.json"))
	if err != nil || string(written) != templates[0].Files[0].Content ||
		out != "wrote "+filepath.Join(dir, "template.json")+" (version 1, release 4)\n" {
		t.Errorf("%v: %s", err, out)
	}
	if _, _, err := runStack(t, "render", "acme", "--version", "0"); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("--version 0: %v", err)
	}
	if out, _, err := runStack(t, "versions", "acme"); err != nil || !strings.Contains(out, "0123456789ab") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestStackFilesStayInside checks that a control plane can choose neither where files are written nor files that other
// programs run or read, and that nothing is written if one of the names is refused.
func TestStackFilesStayInside(t *testing.T) {
	for _, name := range []string{"../outside", "../a.json", ".git/config", "a/b.json", `a\b.json`, ".envrc", ".a.json",
		"Makefile", "a.json\n", "", "/a.json", "a.json/", ".json", "-a.json", "a.tfrc"} {
		dir := filepath.Join(t.TempDir(), "stack")
		err := writeStack(dir, api.Stack{Files: []api.StackFile{{Name: "main.tf"}, {Name: name, Content: "x"}}})
		if _, there := os.Stat(dir); err == nil || there == nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"template.json", "install.tf", "boot.sh", "nuon-runner.service"} {
		if err := writeStack(dir, api.Stack{Files: []api.StackFile{{Name: name}}}); err != nil {
			t.Error(err)
		}
	}
}

// TestStackCommandsCanBePasted checks that a shell splits the commands for a stack into the same words if its names
// contain what a shell would run, and that its region cannot be another host.
func TestStackCommandsCanBePasted(t *testing.T) {
	const bad = "; touch x $(id) `id` ' \n\x1b[2J"
	words := func(stack api.Stack) (all []string) {
		commands, err := stackCommands("acme", stack)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range commands {
			out, err := exec.Command("sh", "-c", `printf '%s\0' `+command).Output()
			if err != nil || console.Text(command) != command {
				t.Fatalf("%s: %v", command, err)
			}
			text := strings.ReplaceAll(string(out), console.Line(bad), "")
			all = append(all, strings.Split(text, "\x00")...)
		}
		return all
	}
	template := func(name string) string {
		content, _ := json.Marshal(map[string]any{"parameters": map[string]any{name: map[string]string{"type": "string"}}})
		return string(content)
	}
	module := []api.StackFile{{Name: "install.tf"}, {Name: "main.tf"}}
	for cloud, files := range map[string][2][]api.StackFile{
		"aws": {{{Name: "template.json", Content: template("a")}}, {{Name: "template.json" + bad,
			Content: template("a" + bad)}}},
		"azure": {{{Name: "azuredeploy.json", Content: template("a")}}, {{Name: "azuredeploy.json" + bad,
			Content: template("a" + bad)}}},
		"gcp": {module, module},
	} {
		plain := words(api.Stack{Cloud: cloud, Name: "shop", Region: "here", Files: files[0]})
		got := words(api.Stack{Cloud: cloud, Name: "shop" + bad, Region: "here" + bad, Files: files[1]})
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Errorf("%s: %s", cloud, diff)
		}
	}
	for _, region := range []string{"evil.example/", "a.b", "a\n"} {
		stack := templates[1]
		stack.Region, stack.TemplateURL = region, "https://b.s3.amazonaws.com/t.json"
		if link, err := linkOf(t.Context(), "acme", stack, ""); err == nil {
			t.Errorf("region %q: %+v", region, link)
		}
	}
}

func TestStackDiff(t *testing.T) {
	out, _, err := runStack(t, "diff", "acme")
	want := `from version 1 to version 2:
  + Parameters.RunnerToken  {}
  - Resources.Gone  {"Type":"X"}
  ~ Resources.Kept.Properties.Size  1 → 2
`
	if err != nil || out != want {
		t.Errorf("%v: %s", err, cmp.Diff(want, out))
	}
	if out, _, err := runStack(t, "diff", "acme", "--from", "1", "--to", "1"); err != nil ||
		out != "versions 1 and 1 are the same\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestStackDiffOfLines compares files that are no JSON, and files that only one version has.
func TestStackDiffOfLines(t *testing.T) {
	changes := stackChanges(api.Stack{Files: []api.StackFile{{Name: "main.tf", Content: "a\nb\nc\n"}}},
		api.Stack{Files: []api.StackFile{{Name: "main.tf", Content: "a\nx\nc\n"}, {Name: "new.tf", Content: "n\n"}}})
	var text strings.Builder
	if err := showStackDiff(&text, StackDiff{From: 1, To: 2, Changes: changes}); err != nil {
		t.Fatal(err)
	}
	want := "from version 1 to version 2:\nmain.tf\n  - b\n  + x\nnew.tf\n  + n\n"
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}

func TestStackLink(t *testing.T) {
	out, _, err := runStack(t, "link", "acme")
	want := `nuon installs stack render acme --output-dir shop
aws cloudformation deploy --template-file shop/template.json \
  --stack-name shop --capabilities CAPABILITY_NAMED_IAM CAPABILITY_AUTO_EXPAND --region eu-central-1 \
  --parameter-overrides RunnerToken=VALUE
`
	if err != nil || out != want {
		t.Errorf("%v: %s", err, cmp.Diff(want, out))
	}
	link := consoleLink("https://b.s3.amazonaws.com/t.json?v=1", templates[1])
	if want := "https://eu-central-1.console.aws.amazon.com/cloudformation/home?region=eu-central-1#/stacks/quickcreate?" +
		"templateUrl=https%3A%2F%2Fb.s3.amazonaws.com%2Ft.json%3Fv%3D1&stackName=shop"; link != want {
		t.Errorf("link %s", link)
	}
	published := templates[1]
	published.TemplateURL = "https://b.s3.amazonaws.com/ab/template.json"
	if link, err := linkOf(t.Context(), "acme", published, ""); err != nil || link.Commands != nil ||
		link.Link != consoleLink(published.TemplateURL, published) {
		t.Errorf("%+v, %v", link, err)
	}
	for _, bad := range []string{"http://b.s3.amazonaws.com/t.json", "t.json"} {
		if _, _, err := runStack(t, "link", "acme", "--template-url", bad); exitcode.CodeOf(err) != exitcode.Usage {
			t.Errorf("--template-url %s: %v", bad, err)
		}
	}
}

// TestUploadedTemplate checks that the link to a file that a person uploaded is printed only for the newest version.
func TestUploadedTemplate(t *testing.T) {
	stack := templates[1]
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/newest.json":
			_, _ = io.WriteString(w, stack.Files[0].Content)
		case "/older.json":
			_, _ = io.WriteString(w, "{}")
		case "/longer.json":
			_, _ = io.WriteString(w, stack.Files[0].Content+" ")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	before := http.DefaultClient
	t.Cleanup(func() { http.DefaultClient = before })
	http.DefaultClient = server.Client()
	for file, want := range map[string]string{"/newest.json": "", "/older.json": "is not version",
		"/longer.json": "is not version", "/none.json": "404"} {
		link, err := linkOf(t.Context(), "acme", stack, server.URL+file)
		switch {
		case want == "" && (err != nil || link.Link != consoleLink(server.URL+file, stack)):
			t.Errorf("%s: %+v, %v", file, link, err)
		case want != "" && (err == nil || link.Link != "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %+v, %v", file, link, err)
		}
	}
}

// TestStackLinkOnAzure checks the commands of a stack on Azure, which name the parameters without a default but for
// secrets, the commands of the module, and the link to the portal.
func TestStackLinkOnAzure(t *testing.T) {
	stack := api.Stack{Cloud: "azure", Name: "shop", Files: []api.StackFile{{Name: "azuredeploy.json",
		Content: `{"parameters": {"a": {"type": "bool", "defaultValue": false}, "registry": {"type": "string"},
			"licence": {"type": "securestring"}}}`}}}
	commands, err := stackCommands("acme", stack)
	want := []string{"nuon installs stack render acme --output-dir shop",
		"az group create --name shop --location LOCATION",
		"az deployment group create --resource-group shop --name shop \\\n" +
			"  --template-file shop/azuredeploy.json \\\n  --parameters registry=VALUE"}
	if diff := cmp.Diff(want, commands); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	module := api.Stack{Cloud: "azure", Name: "shop", Region: "westeurope",
		Files: []api.StackFile{{Name: "main.tf"}, {Name: "azuredeploy.json"}}}
	commands, err = stackCommands("acme", module)
	want = []string{"nuon installs stack render acme --output-dir shop",
		"az group create --name shop --location westeurope", "terraform -chdir=shop init",
		"terraform -chdir=shop apply -var resource_group_name=shop"}
	if diff := cmp.Diff(want, commands); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
	if link := consoleLink("https://b.example.com/t.json", stack); link !=
		"https://portal.azure.com/#create/Microsoft.Template/uri/https%3A%2F%2Fb.example.com%2Ft.json" {
		t.Errorf("link %s", link)
	}
}

// TestStackLinkOnGCP checks the commands of a stack on GCP: Terraform's own, and those of Infrastructure Manager.
func TestStackLinkOnGCP(t *testing.T) {
	stack := api.Stack{Cloud: "gcp", Name: "shop", Region: "europe-west1",
		Files: []api.StackFile{{Name: "install.tf"}, {Name: "main.tf"}}}
	commands, err := stackCommands("acme", stack)
	want := []string{"nuon installs stack render acme --output-dir shop", "terraform -chdir=shop init",
		"terraform -chdir=shop apply", "# or, instead of the two commands before, with Infrastructure Manager, which keeps " +
			"the state; ACCOUNT needs roles/config.agent:",
		"gcloud infra-manager deployments apply projects/PROJECT/locations/europe-west1/deployments/shop \\\n" +
			"  --local-source=shop --service-account=projects/PROJECT/serviceAccounts/ACCOUNT"}
	if diff := cmp.Diff(want, commands); err != nil || diff != "" {
		t.Errorf("%v: %s", err, diff)
	}
}

// TestDescribedStacks reads the outputs of a stack as the command of AWS prints them.
func TestDescribedStacks(t *testing.T) {
	got, err := parseOutputs([]byte(`{"Stacks": [{"StackName": "shop", "Outputs": [
		{"OutputKey": "VpcId", "OutputValue": "vpc-1", "Description": "vpc_id"},
		{"OutputKey": "PrivateSubnets", "OutputValue": "subnet-1,subnet-2", "Description": "private_subnets"},
		{"OutputKey": "A", "OutputValue": "arn:a", "Description": "custom_role_arns.ins_1-a.b"},
		{"OutputKey": "B", "OutputValue": "arn:b", "Description": "custom_role_arns.ins_1-b"},
		{"OutputKey": "C", "OutputValue": "x", "Description": "custom_nested_stacks.storage.outputs.Bucket"},
		{"OutputKey": "D", "OutputValue": "", "Description": "provision_iam_role_arn"},
		{"OutputKey": "E", "OutputValue": "large", "Description": "install_inputs.size"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for name, o := range got {
		values[name] = string(o.Value)
	}
	want := map[string]string{"vpc_id": `"vpc-1"`, "private_subnets": `["subnet-1","subnet-2"]`,
		"custom_role_arns":     `{"ins_1-a.b":"arn:a","ins_1-b":"arn:b"}`,
		"custom_nested_stacks": `{"storage":{"outputs":{"Bucket":"x"}}}`, "install_inputs": `{"size":"large"}`}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`{"Stacks": []}`, `{"Stacks": [{}, {}]}`, `{"Stacks": [{"Outputs": []}]}`, `{"Stacks": 1}`} {
		if _, err := parseOutputs([]byte(bad)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}
