package cloudformation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/golden"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/cloudformation"
	"github.com/nuon-toolkit/nuon/reconciler/installstack/stacktest"
)

var (
	logicalID = regexp.MustCompile(`^[A-Za-z0-9]{1,255}$`)
	// expected are errors that hostile texts cause.
	expected = regexp.MustCompile("cloud account|cannot be rendered|control character")
	roleName = regexp.MustCompile(`^[\w+=,.@-]{1,64}$`)
)

func render(t testing.TB, stack *installstack.Stack) []byte {
	t.Helper()
	raw, findings := cloudformation.Render(stack)
	if raw == nil {
		t.Fatal(findings.Err())
	}
	return raw
}

// variants are stacks that differ in their shape, by name.
func variants(t testing.TB) map[string]*installstack.Stack {
	t.Helper()
	full := stacktest.Stack(t, stacktest.App("aws"), stacktest.Facts())
	existing, small, pinned := *full, *full, *full
	existing.ExistingNetwork = true
	small.Roles, small.Secrets, small.Inputs, small.Nested = nil, nil, nil, nil
	pinned.Account, pinned.Region = "111122223333", "eu-central-1"
	return map[string]*installstack.Stack{"full": full, "existing network": &existing, "small": &small, "pinned": &pinned}
}

// template is what tests read of a template.
type template struct {
	Description string
	Metadata    map[string]json.RawMessage
	Parameters  map[string]map[string]any
	Rules       map[string]any
	Conditions  map[string]any
	Resources   map[string]struct {
		Type       string
		Condition  string
		DependsOn  []string
		Properties map[string]any
	}
	Outputs map[string]struct {
		Description, Condition string
		Value                  any
	}
}

func parse(t testing.TB, raw []byte) template {
	t.Helper()
	var parsed template
	if err := json.Unmarshal(raw, &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestGolden compares the template of a stack with everything with the one that was reviewed.
func TestGolden(t *testing.T) {
	golden.Check(t, "testdata/template.json",
		string(render(t, stacktest.Stack(t, stacktest.App("aws"), stacktest.Facts()))))
}

// structure checks that all names of a template lead somewhere.
type structure struct {
	testing.TB
	template
	needs map[string][]string // resource → resources that it is created after
}

func (s structure) check() {
	for id, r := range s.Resources {
		s.walk("resource "+id, r.Condition, r.Properties, func(to string) { s.needs[id] = append(s.needs[id], to) })
		for _, to := range r.DependsOn {
			if _, has := s.Resources[to]; !has {
				s.Errorf("%s depends on %s, which does not exist", id, to)
			}
			s.needs[id] = append(s.needs[id], to)
		}
		if _, both := s.Parameters[id]; both {
			s.Errorf("%s is a parameter and a resource", id)
		}
	}
	for id, o := range s.Outputs {
		s.walk("output "+id, o.Condition, o.Value, func(string) {})
	}
	for id, c := range s.Conditions {
		s.walk("condition "+id, "", c, func(to string) { s.Errorf("condition %s reads resource %s", id, to) })
	}
	for id := range s.Resources {
		s.cycle(id, nil)
	}
	for _, id := range slices.Concat(slices.Collect(maps.Keys(s.Resources)), slices.Collect(maps.Keys(s.Parameters)),
		slices.Collect(maps.Keys(s.Outputs)), slices.Collect(maps.Keys(s.Conditions))) {
		if !logicalID.MatchString(id) {
			s.Errorf("%q is no logical id", id)
		}
	}
}

// walk checks the references of a value that exists where condition is true.
func (s structure) walk(where, condition string, v any, reads func(resource string)) {
	object, _ := v.(map[string]any)
	if to, is := object["Ref"].(string); is {
		s.reference(where, condition, to, reads)
	}
	if get, is := object["Fn::GetAtt"].([]any); is {
		s.reference(where, condition, get[0].(string), reads)
	}
	if choice, is := object["Fn::If"].([]any); is {
		name := choice[0].(string)
		if _, has := s.Conditions[name]; !has {
			s.Errorf("%s reads condition %s, which does not exist", where, name)
		}
		s.walk(where, name, choice[1], reads)
		s.walk(where, condition, choice[2], reads)
		return
	}
	for _, item := range object {
		s.walk(where, condition, item, reads)
	}
	if items, is := v.([]any); is {
		for _, item := range items {
			s.walk(where, condition, item, reads)
		}
	}
}

func (s structure) reference(where, condition, to string, reads func(resource string)) {
	r, resource := s.Resources[to]
	_, parameter := s.Parameters[to]
	switch {
	case resource && r.Condition != "" && r.Condition != condition:
		s.Errorf("%s (under %q) reads %s, which exists only under %q", where, condition, to, r.Condition)
	case !resource && !parameter && !strings.HasPrefix(to, "AWS::"):
		s.Errorf("%s reads %s, which does not exist", where, to)
	}
	if resource {
		reads(to)
	}
}

func (s structure) cycle(id string, path []string) {
	if slices.Contains(path, id) {
		s.Fatalf("a cycle: %s", strings.Join(append(path, id), " → "))
	}
	for _, to := range s.needs[id] {
		s.cycle(to, append(slices.Clone(path), id))
	}
}

// TestStructure checks that references, conditions and groups of parameters lead somewhere, and nothing in a circle.
func TestStructure(t *testing.T) {
	for name, stack := range variants(t) {
		t.Run(name, func(t *testing.T) {
			parsed := parse(t, render(t, stack))
			structure{TB: t, template: parsed, needs: map[string][]string{}}.check()
			var layout struct {
				ParameterGroups []struct{ Parameters []string }
				ParameterLabels map[string]any
			}
			if err := json.Unmarshal(parsed.Metadata["AWS::CloudFormation::Interface"], &layout); err != nil {
				t.Fatal(err)
			}
			var grouped []string
			for _, g := range layout.ParameterGroups {
				grouped = append(grouped, g.Parameters...)
			}
			slices.Sort(grouped)
			if want := slices.Sorted(maps.Keys(parsed.Parameters)); !slices.Equal(grouped, want) ||
				!slices.Equal(slices.Sorted(maps.Keys(layout.ParameterLabels)), want) {
				t.Errorf("parameters %q are in groups %q", want, grouped)
			}
		})
	}
}

// TestTags checks the tags by which sandboxes find subnets and the security group of the runner.
func TestTags(t *testing.T) {
	parsed := parse(t, render(t, variants(t)["full"]))
	for _, c := range []struct{ id, visibility, domain string }{
		{"PublicSubnet1", "public", "public"}, {"PublicSubnet3", "public", "public"},
		{"PrivateSubnet2", "private", "internal"}, {"RunnerSubnet", "private", "runner"},
		{"RunnerSecurityGroup", "", "runner"},
	} {
		tags := map[any]any{}
		for _, tag := range parsed.Resources[c.id].Properties["Tags"].([]any) {
			tags[tag.(map[string]any)["Key"]] = tag.(map[string]any)["Value"]
		}
		if tags["install.nuon.co/id"] != stacktest.InstallID || tags["network.nuon.co/domain"] != c.domain ||
			c.visibility != "" && tags["visibility"] != c.visibility {
			t.Errorf("%s has the tags %v", c.id, tags)
		}
	}
}

// TestOutputs checks that the stack has all outputs of AWS that templates know.
func TestOutputs(t *testing.T) {
	has := map[string]bool{}
	for _, o := range parse(t, render(t, variants(t)["full"])).Outputs {
		name, _, _ := strings.Cut(o.Description, ".")
		has[name] = true
		if appconfig.StackOutputType(name) == appconfig.PathObject != strings.Contains(o.Description, ".") {
			t.Errorf("output %q has another type than templates expect", o.Description)
		}
	}
	app := stacktest.App("aws")
	names, _ := app.StackOutputs()
	for _, name := range names {
		switch name {
		case "phone_home_type", "runner_log_group_name", "telemetry_endpoint": // nothing makes them
			continue
		}
		if !has[name] {
			t.Errorf("the stack has no output %s", name)
		}
	}
}

// TestRoles checks the roles of a stack: their names, boundaries, switches, and who may assume them.
func TestRoles(t *testing.T) {
	app := stacktest.App("aws")
	long := strings.Repeat("very-", 14) + "long"
	app.Permissions = append(app.Permissions, format.StandingRole{Type: "custom", Role: format.Role{Name: long,
		Description: "A dash — and\na line", Policies: []format.RolePolicy{{ManagedPolicyName: "ViewOnlyAccess"}},
		NamedPolicies: []any{"ours", "arn:aws:iam::1:policy/theirs"}}})
	parsed := parse(t, render(t, stacktest.Stack(t, app, stacktest.Facts())))
	names := map[string]bool{}
	for id, r := range parsed.Resources {
		name, _ := r.Properties["RoleName"].(string)
		if r.Type != "AWS::IAM::Role" || id == "RunnerRole" || id == "PhoneHomeRole" {
			continue
		}
		if names[name] || len(name) > 64 || r.Condition != id+"Enabled" {
			t.Errorf("%s is named %q, under %q", id, name, r.Condition)
		}
		names[name] = true
		trust := fmt.Sprint(r.Properties["AssumeRolePolicyDocument"])
		if !strings.Contains(trust, "AWS:map[Fn::GetAtt:[RunnerRole Arn]]") || strings.Contains(trust, "Service") {
			t.Errorf("%s trusts %s", id, trust)
		}
	}
	fitted := installstack.FitRoleName(long)
	if !names[fitted] || fitted == long || !names[stacktest.InstallID+"-web-deploy"] {
		t.Errorf("roles are named %q", slices.Sorted(maps.Keys(names)))
	}
	for id, enabled := range map[string]string{"EnableProvision": "true", "EnableWebDeploy": "true",
		"EnableUnused": "false", "EnableRepair": "false"} {
		if got := parsed.Parameters[id]["Default"]; got != enabled {
			t.Errorf("%s is %v", id, got)
		}
	}
	allowed := fmt.Sprint(parsed.Resources["RunnerPermissions"].Properties)
	if !strings.Contains(allowed, "role/"+fitted) || strings.Contains(allowed, "role/*") {
		t.Errorf("the runner may %s", allowed)
	}
	raw, _ := json.Marshal(parsed.Resources)
	for _, want := range []string{`:policy/job-function/ViewOnlyAccess"`, `:policy/ours"`, `"arn:aws:iam::1:policy/theirs"`,
		`"A dash - and a line"`, `{"Fn::Join":["",["arn:aws:s3:::ledger-",{"Ref":"AWS::Region"},"/${aws:PrincipalTag/team}/*"]]}`} {
		if !bytes.Contains(raw, []byte(want)) {
			t.Errorf("the template has no %s", want)
		}
	}
}

// TestTarget checks the rules that refuse another account or region before anything is created.
func TestTarget(t *testing.T) {
	rules := fmt.Sprint(parse(t, render(t, variants(t)["pinned"])).Rules)
	for _, want := range []string{"Assert:map[Fn::Equals:[map[Ref:AWS::AccountId] 111122223333]]",
		"Assert:map[Fn::Equals:[map[Ref:AWS::Region] eu-central-1]]"} {
		if !strings.Contains(rules, want) {
			t.Errorf("no %s in %s", want, rules)
		}
	}
}

// TestBootScript checks that a shell reads the script of the machine, with hostile addresses.
func TestBootScript(t *testing.T) {
	facts := stacktest.Facts()
	facts.Runner.URL = `https://x.example/'; touch pwned; echo '${HOME}$(id)`
	parsed := parse(t, render(t, stacktest.Stack(t, stacktest.App("aws"), facts)))
	data := parsed.Resources["RunnerTemplate"].Properties["LaunchTemplateData"].(map[string]any)
	var script strings.Builder
	for _, part := range data["UserData"].(map[string]any)["Fn::Base64"].(map[string]any)["Fn::Join"].([]any)[1].([]any) {
		if text, is := part.(string); is {
			script.WriteString(text)
		} else {
			script.WriteString("value")
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "boot.sh")
	if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "bash", "-n", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	head, _, _ := strings.Cut(script.String(), "# Boots")
	command := exec.CommandContext(t.Context(), "bash", "-c", head+`printf %s "$runner_url"`)
	command.Dir = dir
	said, err := command.CombinedOutput()
	if _, pwned := os.Stat(filepath.Join(dir, "pwned")); err != nil || string(said) != facts.Runner.URL || pwned == nil {
		t.Errorf("the script reads the address %q: %v", said, err)
	}
	for _, want := range []string{"sha256sum --check", "--job-user nuon-job", "NoNewPrivileges=yes", "shutdown -P +15"} {
		if !strings.Contains(script.String(), want) {
			t.Errorf("the script has no %q", want)
		}
	}
	if strings.Contains(script.String(), "docker") {
		t.Error("the runner gets access to docker")
	}
}

// TestLimits checks that what AWS would refuse is an error before anything is published.
func TestLimits(t *testing.T) {
	big := func(bytes int) string {
		return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::` +
			strings.Repeat("x", bytes) + `"}]}`
	}
	for name, c := range map[string]struct {
		change func(app *appconfig.App)
		want   string
	}{
		"a large boundary": {func(app *appconfig.App) { app.Permissions[0].PermissionsBoundary = big(6144) },
			"the permissions boundary would have up to 6244 bytes without spaces, and IAM allows 6144"},
		"large inline policies": {func(app *appconfig.App) {
			app.Permissions[0].Policies = append(app.Permissions[0].Policies,
				format.RolePolicy{Name: "a", Contents: big(5000)}, format.RolePolicy{Name: "b", Contents: big(5000)})
		}, "all inline policies together would have up to 1"},
		"many policies": {func(app *appconfig.App) {
			for i := range 21 {
				app.Permissions[0].Policies = append(app.Permissions[0].Policies,
					format.RolePolicy{ManagedPolicyName: fmt.Sprintf("P%d", i)})
			}
		}, "it has 22 managed policies, and IAM allows 20"},
		"many parameters": {func(app *appconfig.App) { *app = *stacktest.Large(100, 100) },
			"parameters, and CloudFormation allows 200"},
		"many bytes": {func(app *appconfig.App) {
			for i := range 110 {
				app.Permissions = append(app.Permissions, format.StandingRole{Type: "custom", Role: format.Role{
					Name: fmt.Sprint(i), Description: "d", Policies: []format.RolePolicy{{Name: "a", Contents: big(10000)}}}})
			}
		}, "bytes, and CloudFormation allows 1000000"},
	} {
		t.Run(name, func(t *testing.T) {
			app := stacktest.App("aws")
			c.change(app)
			raw, findings := cloudformation.Render(stacktest.Stack(t, app, stacktest.Facts()))
			if raw != nil || !strings.Contains(findings.String(), c.want) {
				t.Errorf("found %s", findings)
			}
		})
	}
}

// TestLargeStack checks that a stack of 20 roles and 40 parameters is far below the limits of CloudFormation.
func TestLargeStack(t *testing.T) {
	raw := render(t, stacktest.Stack(t, stacktest.Large(20, 10), stacktest.Facts()))
	parsed, roles := parse(t, raw), 0
	for _, r := range parsed.Resources {
		if r.Type == "AWS::IAM::Role" {
			roles++
		}
	}
	if roles < 20 || len(parsed.Parameters) < 40 {
		t.Fatalf("%d roles and %d parameters", roles, len(parsed.Parameters))
	}
	if len(raw) > 1_000_000/2 || len(parsed.Parameters) > 200/2 || len(parsed.Resources) > 500/2 {
		t.Errorf("%d bytes, %d parameters, %d resources", len(raw), len(parsed.Parameters), len(parsed.Resources))
	}
}

// TestHostileTexts renders stacks whose texts come from an attacker: the same bytes each time, nothing that
// CloudFormation would interpret, and names within the limits.
func TestHostileTexts(t *testing.T) {
	substitutes := regexp.MustCompile(`[^\\]"Fn::Sub":`) // a name may end with the escaped text
	piece := rapid.SampledFrom([]string{"a", "Z", "9", "-", "_", " ", "'", `"`, `\`, "\n", "${", "}", "${AWS::Region}", "{{",
		"</script>", "é", "—", "\u202e", "\uE0F0region\uE0F1", "\uE0F0", "$(id)", "`",
		strings.Repeat("x", 70), "Fn::Sub", "&"})
	text := rapid.Custom(func(r *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 8).Draw(r, "text"), "") })
	rapid.Check(t, func(r *rapid.T) {
		app := stacktest.App("aws")
		app.Stack.Description = text.Draw(r, "description")
		app.Stack.Name = "s" + text.Draw(r, "name")
		app.Groups[0].DisplayName = text.Draw(r, "group")
		for i := range app.Permissions {
			p := &app.Permissions[i]
			p.Name, p.Description = fmt.Sprint(i)+text.Draw(r, "role"), text.Draw(r, "about")
			p.DisplayName = text.Draw(r, "label")
			p.Policies[1].Name = "p" + text.Draw(r, "policy")
		}
		for i := range app.Secrets {
			app.Secrets[i].Description = text.Draw(r, "secret")
		}
		app.Inputs[0].DisplayName = text.Draw(r, "input")
		facts := stacktest.Facts()
		facts.Inputs["size"] = text.Draw(r, "size")
		read := installstack.Read(app, facts)
		if read.Stack == nil {
			for _, d := range read.Findings {
				if d.Severity == "error" && !expected.MatchString(d.Message) {
					r.Fatalf("%s", d)
				}
			}
			return
		}
		raw, findings := cloudformation.Render(read.Stack)
		if raw == nil {
			r.Fatal(findings.Err())
		}
		again, _ := cloudformation.Render(installstack.Read(app, facts).Stack)
		if !bytes.Equal(raw, again) {
			r.Fatal("the second rendering differs")
		}
		if substitutes.Match(raw) || bytes.Contains(raw, []byte("{{resolve:")) {
			r.Fatalf("CloudFormation interprets a text: %s", raw)
		}
		parsed := parse(t, raw)
		structure{TB: t, template: parsed, needs: map[string][]string{}}.check()
		for id, res := range parsed.Resources {
			name, _ := res.Properties["RoleName"].(string)
			if res.Type == "AWS::IAM::Role" && !roleName.MatchString(name) {
				r.Fatalf("%s is named %q", id, name)
			}
		}
	})
}

// BenchmarkRender reads the config of a stack of 20 roles and 40 parameters and renders it, beside encoding/json, which
// decodes and indents the same template.
func BenchmarkRender(b *testing.B) {
	app, facts := stacktest.Large(20, 10), stacktest.Facts()
	raw := render(b, stacktest.Stack(b, app, facts))
	if parameters := len(parse(b, raw).Parameters); parameters < 40 {
		b.Fatalf("%d parameters", parameters)
	}
	var ours, peer time.Duration
	for b.Loop() {
		begin := time.Now()
		render(b, stacktest.Stack(b, app, facts))
		ours += time.Since(begin)

		begin = time.Now()
		var decoded any
		if err := json.Unmarshal(raw, &decoded); err != nil {
			b.Fatal(err)
		}
		if _, err := json.MarshalIndent(decoded, "", " "); err != nil {
			b.Fatal(err)
		}
		peer += time.Since(begin)
	}
	b.ReportMetric(0, "ns/op") // the sum of both is meaningless
	b.ReportMetric(float64(len(raw)), "template-bytes")
	b.ReportMetric(1000*ours.Seconds()/float64(b.N), "ms/render")
	b.ReportMetric(1000*peer.Seconds()/float64(b.N), "ms/json")
	b.ReportMetric(ours.Seconds()/peer.Seconds(), "ratio")
}

// TestBreakGlassEnds checks that a break-glass role cannot be switched on without an end, and that its trust and its
// permissions end there.
func TestBreakGlassEnds(t *testing.T) {
	parsed := parse(t, render(t, stacktest.Stack(t, stacktest.App("aws"), stacktest.Facts())))
	found := false
	for id, resource := range parsed.Resources {
		if resource.Type != "AWS::IAM::Role" {
			continue
		}
		raw, err := json.Marshal(resource.Properties)
		if err != nil {
			t.Fatal(err)
		}
		end := `{"aws:CurrentTime":{"Ref":"Until` + strings.TrimPrefix(id, "Role") + `"}}`
		trust, deny := `"Condition":{"DateLessThan":`+end+`}`, `"Condition":{"DateGreaterThanEquals":`+end+`},"Effect":"Deny"`
		ends := strings.Contains(string(raw), trust) && strings.Contains(string(raw), deny)
		if ends != strings.Contains(id, "Repair") {
			t.Errorf("%s: its end is in the role: %v\n%s", id, ends, raw)
		}
		found = found || ends
	}
	rendered := string(render(t, stacktest.Stack(t, stacktest.App("aws"), stacktest.Facts())))
	if !found || !strings.Contains(rendered, `"EndRepair": {"Assertions":[{"Assert":{"Fn::Not":[{"Fn::Equals":[{"Ref":"UntilRepair"},""]}]}`) {
		t.Errorf("a role can be switched on without an end")
	}
}
