package stackoutputs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/stackoutputs"
)

// configs are apps with and without a stack.
var configs = map[string]*appconfig.App{
	"aws": {Stack: &format.Stack{Type: "aws-cloudformation"}, Secrets: []appconfig.Secret{{Name: "smtp"}}},
	"gcp": {Stack: &format.Stack{}, Runner: &format.Runner{Type: "gcp"}},
	"none": {Components: []appconfig.Component{{Name: "web", Kind: "terraform_module", Terraform: &appconfig.Terraform{
		Vars: map[string]string{"zone": "{{.nuon.install_stack.outputs.zone}}"}}}}},
}

// problemsOf returns the messages of an error of Check, joined.
func problemsOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var p *refusal.Error
	if !errors.As(err, &p) || p.Kind != refusal.Invalid {
		t.Fatalf("error %v", err)
	}
	all := make([]string, 0, len(p.Diagnostics))
	for _, d := range p.Diagnostics {
		all = append(all, d.Message)
	}
	return strings.Join(all, "; ")
}

func TestCheck(t *testing.T) {
	for _, test := range []struct{ name, app, output, want, warns string }{
		{"a text", "aws", `vpc_id="vpc-1"`, "", ""},
		{"a number for a text", "aws", `account_id=111122223333`, "stack output account_id is not a text", ""},
		{"a list", "aws", `private_subnets=["a","b"]`, "", ""},
		{"a text for a list", "aws", `private_subnets="a,b"`, "private_subnets is not a list of texts, such as [", ""},
		{"numbers in a list", "aws", `private_subnets=[1]`, "is not a list of texts", ""},
		{"a map", "aws", `custom_role_arns={"a":"arn:aws:iam::1:role/a"}`, "", ""},
		{"an empty map", "aws", `break_glass_role_arns={}`, "", ""},
		{"a list for a map", "aws", `custom_role_arns=[]`, "is not a map", ""},
		{"nested stacks", "aws", `custom_nested_stacks={"db":{"endpoint":"x","ports":[1,2.5],"on":true}}`, "", ""},
		{"the address of a secret", "aws", `smtp_arn="arn:aws:secretsmanager:eu-west-1:1:secret:smtp"`, "", ""},
		{"that of no secret of the app", "aws", `mail_arn="arn:aws:secretsmanager:eu-west-1:1:secret:mail"`,
			"the app's stack has no output mail_arn", ""},
		{"a misspelled name", "aws", `vpcid="vpc-1"`, `no output vpcid; did you mean "vpc_id"?`, ""},
		{"one of another cloud", "aws", `subscription_id="s"`,
			"the app's stack has no output subscription_id; it has account_id,",
			""},
		{"one of a module on GCP", "gcp", `bucket="b"`, "", "no template of the app reads stack output bucket"},
		{"no stack", "none", `vpc="v"`, "", "no template of the app reads stack output vpc"},
		{"no stack, but a reader", "none", `zone="a"`, "", ""},
		{"no stack, any type", "none", `zone=[true,{"a":1.5}]`, "", ""},
		{"a secret by its name", "none", `db_password="hunter2hunter2"`, "db_password looks like a secret; ", ""},
		{"a secret by its form", "none", `zone="ghp_16C7e42F292c6912E7710c838347Ae178B4a"`, "zone looks like a secret; ", ""},
		{"a secret inside", "none", `zone={"url":"postgres://app:Xk39dkf93kd@db.example/x"}`, "looks like a secret", ""},
		{"no JSON", "none", `zone=eu`, "its value cannot be stored: not JSON", ""},
		{"two values", "none", `zone="a" "b"`, "more than one JSON value", ""},
		{"no value", "none", `zone=`, "its value cannot be stored: not JSON", ""},
		{"null", "none", `zone=null`, "null is not a value", ""},
		{"null inside", "none", `zone={"a":[null]}`, "null is not a value", ""},
		{"NUL", "none", `zone="a\u0000"`, "NUL character", ""},
		{"a large number", "none", `zone=1e999`, "the number 1e999 is too large", ""},
		{"deep", "none", "zone=" + strings.Repeat("[", 11) + "1" + strings.Repeat("]", 11), "nested more than 10 levels", ""},
		{"deepest", "none", "zone=" + strings.Repeat("[", 10) + "1" + strings.Repeat("]", 10), "", ""},
		{"large", "none", `zone="` + strings.Repeat("x", 64<<10) + `"`, "at most 65536 are stored", ""},
		{"a bad name", "none", `a.b="x"`, `cannot be named "a.b"`, ""},
		{"no name", "none", `="x"`, `cannot be named ""`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			warnings, err := stackoutputs.Check(byHand(test.output), nil, configs[test.app])
			said := problemsOf(t, err)
			if (said == "") != (test.want == "") || !strings.Contains(said, test.want) {
				t.Errorf("said %q, want %q", said, test.want)
			}
			if got := strings.Join(warnings, "; "); got != test.warns {
				t.Errorf("warned of %q, want %q", got, test.warns)
			}
			for _, planted := range []string{"hunter2", "ghp_", "Xk39"} {
				if strings.Contains(said, planted) {
					t.Errorf("the value is in the message: %s", said)
				}
			}
		})
	}
}

// TestCheckSaysEverythingAtOnce checks that one error has all problems, and that marks count.
func TestCheckSaysEverythingAtOnce(t *testing.T) {
	c := byHand(`vpc_id=1`, `region="eu"`, `account_id="1"`)
	c.Unset, c.StackVersion = []string{"region"}, "a\nb"
	_, err := stackoutputs.Check(c, []string{"account_id"}, configs["aws"])
	said := problemsOf(t, err)
	for _, want := range []string{"vpc_id is not a text", `"region" is both set and unset`,
		"account_id is marked as sensitive", "the stack version is longer than"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
}

// TestTooMany checks the limits of all outputs together, to which those count that were set before.
func TestTooMany(t *testing.T) {
	many := map[string]string{}
	for i := range 201 {
		many["o"+strings.Repeat("x", i)] = `"v"`
	}
	c := stackoutputs.Change{Source: stackoutputs.Manual, Set: values()}
	for name, value := range many {
		c.Set[name] = []byte(value)
	}
	if _, err := stackoutputs.Merge(nil, c); err == nil || !strings.Contains(err.Error(), "at most 200") {
		t.Errorf("201 outputs: %v", err)
	}
	large := `"` + strings.Repeat("x", 60<<10) + `"`
	m := merge(t, nil, byHand("a="+large, "b="+large, "c="+large, "d="+large))
	if _, err := stackoutputs.Merge(m.Outputs, byHand("e="+large)); err == nil ||
		!strings.Contains(err.Error(), "at most 262144") {
		t.Errorf("300 kB: %v", err)
	}
}
