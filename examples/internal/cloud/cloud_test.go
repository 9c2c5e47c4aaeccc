package cloud

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/testtime"
)

// rig is a cloud and a directory in which Terraform runs.
type rig struct {
	*testing.T
	ctx   context.Context
	cloud *Cloud
	dir   string
}

func newRig(t *testing.T, module string) *rig {
	t.Helper()
	return newRigOf(t, os.DirFS(filepath.Join("testdata", module)))
}

func newRigOf(t *testing.T, module fs.FS) *rig {
	t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("no terraform on the PATH")
	}
	r := &rig{T: t, ctx: testtime.Context(t), dir: t.TempDir()}
	var err error
	r.cloud, err = Start(r.ctx, Options{Dir: t.TempDir()})
	r.must(err)
	t.Cleanup(func() {
		if err := r.cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	r.must(os.CopyFS(r.dir, module))
	r.terraform("init")
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// try runs Terraform and returns its output and its exit code.
func (r *rig) try(args ...string) (string, int) {
	r.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(r.ctx, "terraform", append(args, "-no-color")...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, append(os.Environ(), r.cloud.Env()...), &out, &out
	err := cmd.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		r.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (r *rig) terraform(args ...string) string {
	r.Helper()
	out, code := r.try(args...)
	if code != 0 {
		r.Fatalf("terraform %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// planned returns the actions of a plan, as "created aws_vpc.main"; none means that nothing changes.
func (r *rig) planned() (made []string) {
	r.Helper()
	out, code := r.try("plan", "-detailed-exitcode", "-input=false")
	if code == 1 {
		r.Fatalf("plan: %s", out)
	}
	for _, found := range regexp.MustCompile(`(?m)^  # (\S+) .*?(?:will|must) be (.*)$`).FindAllStringSubmatch(out, -1) {
		made = append(made, found[2]+" "+found[1])
	}
	if len(made) == 0 && code != 0 {
		r.Fatalf("the plan changes something else: %s", out)
	}
	slices.Sort(made)
	return made
}

// ids returns the ids of the objects of a type.
func (r *rig) ids(typ string) (made []string) {
	r.Helper()
	objects, err := r.cloud.Objects(r.ctx)
	r.must(err)
	for _, o := range objects {
		if o.Type == typ {
			made = append(made, o.ID)
		}
	}
	return made
}

func (r *rig) outputs() map[string]any {
	r.Helper()
	var outputs map[string]struct{ Value any }
	r.must(json.Unmarshal([]byte(r.terraform("output", "-json")), &outputs))
	made := map[string]any{}
	for name, output := range outputs {
		made[name] = output.Value
	}
	return made
}

// TestLifeOfACluster applies a module with a VPC, a cluster and what belongs to it, with real
// Terraform, and changes the cloud behind its back.
func TestLifeOfACluster(t *testing.T) {
	r := newRig(t, "eks")
	r.terraform("apply", "-auto-approve")
	if changes := r.planned(); len(changes) > 0 {
		t.Errorf("a second plan changes %v", changes)
	}
	r.checkOutputs()
	r.checkProgram()

	r.must(r.cloud.Drift(r.ctx, "aws_db_instance", r.ids("aws_db_instance")[0], "instance_class", "db.r7g.large"))
	r.must(r.cloud.Remove(r.ctx, "aws_iam_role_policy_attachment", r.ids("aws_iam_role_policy_attachment")[0]))
	if got := r.planned(); !slices.Equal(got, []string{"created aws_iam_role_policy_attachment.a",
		"updated in-place aws_db_instance.d"}) {
		t.Errorf("after drift and a removal, a plan changes %v", got)
	}
	r.terraform("apply", "-auto-approve")
	if changes := r.planned(); len(changes) > 0 {
		t.Errorf("after the repair, a plan changes %v", changes)
	}

	r.must(os.WriteFile(filepath.Join(r.dir, "terraform.tfvars"), []byte(`owner = "ada"`), 0o600))
	for _, change := range r.planned() {
		if !strings.HasPrefix(change, "updated in-place aws_") && !strings.HasPrefix(change, "read ") {
			t.Errorf("a new default tag leads to: %s", change)
		}
	}
	r.terraform("apply", "-auto-approve")

	r.terraform("destroy", "-auto-approve")
	if objects, err := r.cloud.Objects(r.ctx); err != nil || len(objects) > 0 {
		t.Errorf("after the destroy there are %v, %v", objects, err)
	}
}

// checkOutputs checks the values that a module computes from objects.
func (r *rig) checkOutputs() {
	r.Helper()
	outputs := r.outputs()
	endpoint, _ := outputs["endpoint"].(string)
	if !regexp.MustCompile(`^https://[0-9A-F]{32}\.gr7\.eu-west-1\.eks\.amazonaws\.com$`).MatchString(endpoint) {
		r.Errorf("the endpoint is %s", endpoint)
	}
	if outputs["vpc"] != r.ids("aws_vpc")[0] || outputs["subnets"] != true || outputs["external"] != "b" {
		r.Errorf("the outputs are %v", outputs)
	}
	var policy struct {
		Statement []struct{ Principal map[string]string }
	}
	r.must(json.Unmarshal([]byte(outputs["policy"].(string)), &policy))
	if len(policy.Statement) != 1 || policy.Statement[0].Principal["Service"] != "eks.amazonaws.com" {
		r.Errorf("the policy is %s", outputs["policy"])
	}
	pems := outputs["certificate"].([]any)
	pair, err := tls.X509KeyPair([]byte(pems[1].(string)), []byte(pems[0].(string)))
	r.must(err)
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	r.must(err)
	r.must(certificate.VerifyHostname("a.test"))
}

// checkProgram checks that the program does not depend on the commit: lock files have its hash.
func (r *rig) checkProgram() {
	r.Helper()
	info, err := buildinfo.ReadFile(r.cloud.program)
	r.must(err)
	for _, setting := range info.Settings {
		if strings.HasPrefix(setting.Key, "vcs.") {
			r.Errorf("the program has %s", setting.Key)
		}
	}
}

// TestFailures makes operations fail and lets them work later.
func TestFailures(t *testing.T) {
	r := newRig(t, "vpc")
	r.must(r.cloud.SetFaults(r.ctx, Fault{Type: "aws_subnet", Operation: "create", Times: 1, Error: "no capacity"},
		Fault{Type: "aws_vpc", Operation: "after create", Times: 1, Error: "timeout while waiting"}))
	out, code := r.try("apply", "-auto-approve")
	if code != 1 || !strings.Contains(out, "timeout while waiting") || len(r.ids("aws_vpc")) != 1 {
		t.Errorf("the first apply ended with %d: %s", code, out)
	}
	if got := r.planned(); !slices.Equal(got, []string{"created aws_subnet.main", "replaced aws_vpc.main"}) {
		t.Errorf("after an apply that failed half way, a plan changes %v", got)
	}
	out, code = r.try("apply", "-auto-approve")
	if code != 1 || !strings.Contains(out, "no capacity") || len(r.ids("aws_subnet")) != 0 {
		t.Errorf("the second apply ended with %d: %s", code, out)
	}
	r.terraform("apply", "-auto-approve")
	if changes := r.planned(); len(changes) > 0 {
		t.Errorf("after the last apply, a plan changes %v", changes)
	}

	r.must(r.cloud.SetFaults(r.ctx, Fault{Type: "aws_subnet", Operation: "delete", Times: -1, Throttled: 11}))
	out, code = r.try("destroy", "-auto-approve")
	if code != 1 || !strings.Contains(out, "ThrottlingException") || len(r.ids("aws_vpc")) != 1 {
		t.Errorf("the throttled destroy ended with %d: %s", code, out)
	}
	r.must(r.cloud.SetFaults(r.ctx, Fault{Type: "*", Operation: "*", Times: -1, Throttled: 1, Delay: "10ms"}))
	r.terraform("destroy", "-auto-approve")
	if objects, err := r.cloud.Objects(r.ctx); err != nil || len(objects) > 0 {
		t.Errorf("after the destroy there are %v, %v", objects, err)
	}
}

// TestVanishedBeforeApply removes an object between plan and apply.
func TestVanishedBeforeApply(t *testing.T) {
	r := newRig(t, "vpc")
	r.terraform("apply", "-auto-approve")
	r.terraform("plan", "-out=plan", "-var=name=other")
	r.must(r.cloud.Remove(r.ctx, "aws_vpc", r.ids("aws_vpc")[0]))
	if out, code := r.try("apply", "plan"); code != 1 || !strings.Contains(out, "does not exist any more") {
		t.Errorf("the apply ended with %d: %s", code, out)
	}
	r.terraform("apply", "-auto-approve", "-var=name=other")
}
