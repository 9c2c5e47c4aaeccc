package sandboxes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

// rig is a simulated cloud and the Terraform that works in it.
type rig struct {
	*testing.T
	ctx       context.Context
	cloud     *cloud.Cloud
	terraform string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, ctx: testtime.Context(t)}
	tool, err := tfbinary.Find(r.ctx, tfbinary.Options{Root: t.TempDir(), Version: "1.11.4"})
	r.must(err)
	r.terraform = tool.Path
	r.cloud, err = cloud.Start(r.ctx, cloud.Options{Dir: t.TempDir()})
	r.must(err)
	t.Cleanup(func() { r.must(r.cloud.Close()) })
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// run runs Terraform in a directory and returns its output.
func (r *rig) run(dir string, args ...string) []byte {
	r.Helper()
	var out, all bytes.Buffer
	cmd := exec.CommandContext(r.ctx, r.terraform, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), r.cloud.Env()...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &all), &all
	if err := cmd.Run(); err != nil {
		r.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, all.Bytes())
	}
	return out.Bytes()
}

// open copies a sandbox and initializes the copy.
func (r *rig) open(name string) (dir string) {
	r.Helper()
	dir = filepath.Join(r.TempDir(), name)
	r.must(os.CopyFS(dir, os.DirFS(name)))
	r.run(dir, "init", "-input=false", "-no-color")
	return dir
}

// in returns the rig for a subtest, which has as much time as any test.
func (r *rig) in(t *testing.T) *rig {
	inner := *r
	inner.T, inner.ctx = t, testtime.Context(t)
	return &inner
}

// TestTerraform runs the tests that each sandbox has in Terraform, and checks the format of its files.
func TestTerraform(t *testing.T) {
	r := newRig(t)
	for _, name := range directories(t) {
		t.Run(name, func(t *testing.T) {
			r := r.in(t)
			r.run(name, "fmt", "-check", "-diff", "-recursive", "-no-color")
			dir := r.open(name)
			if out := r.run(dir, "test", "-no-color"); !bytes.Contains(out, []byte("Success! ")) {
				t.Errorf("no test ran:\n%s", out)
			}
		})
	}
}

// network creates the VPC of an install stack and returns its ID.
func (r *rig) network(install string) any {
	r.Helper()
	vpc, err := r.cloud.Create(r.ctx, "aws_vpc", map[string]any{"cidr_block": "10.128.0.0/16"})
	r.must(err)
	for i, domain := range []string{"public", "public", "internal", "internal", "runner"} {
		visibility := "private"
		if domain == "public" {
			visibility = domain
		}
		_, err := r.cloud.Create(r.ctx, "aws_subnet", map[string]any{
			"vpc_id": vpc["id"], "cidr_block": fmt.Sprintf("10.128.%d.0/24", i), "availability_zone": "eu-west-1a",
			"tags": map[string]string{"install.nuon.co/id": install, "visibility": visibility, "network.nuon.co/domain": domain},
		})
		r.must(err)
	}
	return vpc["id"]
}

// settings returns what nuon and an app pass to a sandbox, besides enable_nuon_dns.
func (r *rig) settings(p public) map[string]any {
	r.Helper()
	const install = "inexample"
	all := map[string]any{
		"nuon_id": install, "public_root_domain": "inexample.example.com",
		"internal_root_domain": "internal.inexample.example.com",
	}
	role := func(name string) string { return "arn:aws:iam::123456789012:role/" + install + "-" + name }
	switch p.Directory {
	case "aws-eks", "aws-min":
		maps.Copy(all, map[string]any{"maintenance_iam_role_arn": role("maintenance"),
			"provision_iam_role_arn": role("provision"), "deprovision_iam_role_arn": role("deprovision")})
		fallthrough
	case "aws-ecs":
		maps.Copy(all, map[string]any{"region": "eu-west-1", "vpc_id": r.network(install)})
	case "gcp-gke":
		all["gke_node_pool_sa_email"] = "nodes@example.iam.gserviceaccount.com"
		fallthrough
	case "gcp-min":
		maps.Copy(all, map[string]any{"region": "europe-west1", "project_id": "example"})
	case "azure-aks", "azure-min":
		maps.Copy(all, map[string]any{"location": "westeurope", "resource_group_name": "example",
			"vnet_name": "example", "private_subnet_names": "private-1,private-2", "public_subnet_names": "public-1"})
	}
	if p.Variant == "existing-cluster" {
		_, err := r.cloud.Create(r.ctx, "aws_eks_cluster", map[string]any{"name": "existing", "role_arn": role("cluster"),
			"vpc_config": []any{map[string]any{"subnet_ids": []string{"subnet-1"}, "security_group_ids": []string{"sg-1"}}}})
		r.must(err)
		all["cluster_name"] = "existing"
	}
	return all
}

// output is an output as the state file has it.
type output struct {
	Type  any
	Value any
}

// applied applies a sandbox, checks that a second plan is empty, and returns the outputs.
func (r *rig) applied(dir string, settings map[string]any, args ...string) map[string]output {
	r.Helper()
	content, err := json.Marshal(settings)
	r.must(err)
	r.must(os.WriteFile(filepath.Join(dir, "settings.json"), content, 0o600))
	r.run(dir, append([]string{"apply", "-auto-approve", "-input=false", "-no-color"}, args...)...)
	// It fails where something would change.
	r.run(dir, append([]string{"plan", "-detailed-exitcode", "-input=false", "-no-color"}, args...)...)
	state, err := os.ReadFile(filepath.Join(dir, "terraform.tfstate"))
	r.must(err)
	var stored struct{ Outputs map[string]output }
	r.must(json.Unmarshal(state, &stored))
	return stored.Outputs
}

// objects returns the addresses of all objects of the cloud.
func (r *rig) objects() (all []string) {
	r.Helper()
	objects, err := r.cloud.Objects(r.ctx)
	r.must(err)
	for _, o := range objects {
		all = append(all, o.Type+" "+o.ID)
	}
	slices.Sort(all)
	return all
}

// TestOutputs applies each sandbox in the place of each public one, without DNS and with it, checks that its outputs
// are those of the contract in both cases, and destroys it.
func TestOutputs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; make test LONG=1 runs it")
	}
	r := newRig(t)
	sandboxes, _ := contract(t)
	for _, name := range slices.Sorted(maps.Keys(sandboxes)) {
		t.Run(name, func(t *testing.T) {
			r, p := r.in(t), sandboxes[name]
			dir, settings, args := r.open(p.Directory), r.settings(p), []string{"-var-file=settings.json"}
			if p.Variant != "" {
				args = append(args, "-var-file=variants/"+p.Variant+".tfvars")
			}
			before := r.objects()
			if _, is := declarations(t, p.Directory, "variable")["enable_nuon_dns"]; is {
				settings["enable_nuon_dns"] = "false"
			}
			apply := func() map[string]output {
				outputs := r.applied(dir, settings, args...)
				checkOutputs(t, p, outputs)
				checkZones(t, outputs)
				return outputs
			}
			without := apply()
			if settings["enable_nuon_dns"] != nil {
				settings["enable_nuon_dns"] = "true"
				if diff := cmp.Diff(types(without), types(apply())); diff != "" {
					t.Errorf("the outputs have another shape with DNS:\n%s", diff)
				}
			}
			r.run(dir, append([]string{"destroy", "-auto-approve", "-input=false", "-no-color"}, args...)...)
			if diff := cmp.Diff(before, r.objects()); diff != "" {
				t.Errorf("destroyed:\n%s", diff)
			}
		})
	}
}

// types returns the types of outputs. The keys of maps of things that are there or not do not count.
func types(outputs map[string]output) map[string]any {
	all := map[string]any{}
	for name, o := range outputs {
		all[name] = o.Type
	}
	return all
}

// checkOutputs compares outputs with the contract.
func checkOutputs(t *testing.T, p public, outputs map[string]output) {
	t.Helper()
	for name, form := range p.Outputs {
		want := map[string]string{}
		switch form := form.(type) {
		case string:
			want[name] = form
		case []any:
			for _, attribute := range form {
				attribute, typ, typed := strings.Cut(attribute.(string), ": ")
				if !typed {
					typ = "string"
				}
				want[name+"."+attribute] = typ
			}
		default:
			t.Fatalf("contract.toml: %s is a %T", name, form)
		}
		for path, typ := range want {
			value, found := lookup(outputs, path)
			if reason := p.Exceptions[name]; reason != "" {
				if found {
					t.Errorf("output %s is no exception", path)
				}
				continue
			}
			if got := typeOf(value); !found || got != typ {
				t.Errorf("output %s is %s, and must be %s", path, got, typ)
			}
		}
	}
}

// checkZones checks that the zones are also where older apps read them.
func checkZones(t *testing.T, outputs map[string]output) {
	t.Helper()
	for _, name := range []string{"public_domain", "internal_domain"} {
		zone, _ := lookup(outputs, "nuon_dns."+name)
		if again, found := lookup(outputs, name); found && !cmp.Equal(zone, again) {
			t.Errorf("output %s is %v, and nuon_dns has %v", name, again, zone)
		} else if _, noZones := outputs["domains"]; !found && !noZones {
			t.Errorf("there is no output %s", name)
		}
	}
}

// lookup returns the value at a path of outputs.
func lookup(outputs map[string]output, path string) (value any, found bool) {
	parts := strings.Split(path, ".")
	value = outputs[parts[0]].Value
	for _, part := range parts[1:] {
		object, _ := value.(map[string]any)
		if value, found = object[part]; !found {
			return nil, false
		}
	}
	return value, value != nil
}

// typeOf returns the name that the contract has for the type of a value.
func typeOf(value any) string {
	switch value := value.(type) {
	case string:
		return "string"
	case bool:
		return "bool"
	case map[string]any:
		return "object"
	case []any:
		for _, element := range value {
			if _, is := element.(string); !is {
				return "a list with something else than strings"
			}
		}
		return "list(string)"
	}
	return fmt.Sprintf("%T", value)
}
