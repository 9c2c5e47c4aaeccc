package terraform

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary/tofutest"
)

// varTofu is set in the process that runs the tests with OpenTofu.
const varTofu = "MODULE_TEST_TOFU"

// testedTool is the tool that the tests of this process use.
var testedTool = modules.Terraform

func init() {
	if os.Getenv(varTofu) != "" {
		testedTool = modules.OpenTofu
	}
}

// withOpenTofu are the tests that run with OpenTofu as well.
var withOpenTofu = []string{
	"TestBuild", "TestBuildIsReproducible", "TestBuildRefuses", "TestLifeOfAComponent", "TestFailures", "TestStale",
	"TestLockHeldByAnother", "TestRestore", "TestModulesArePacked", "TestDriftIsPlanned",
	"TestCancelInMidApply", "TestCancelInTrouble", "TestFailInTrouble", "TestTerraformIsKilled",
	"TestJobProcessIsKilled", "TestStandInIsKilled", "TestErrorsOfProgramsLeakNothing",
	"TestErrorsOfProvidersLeakNothing", "TestTerraformOfAnotherUser",
}

// TestOpenTofu runs tests of this package with the real OpenTofu, in another process.
func TestOpenTofu(t *testing.T) {
	t.Parallel()
	if testedTool == modules.OpenTofu {
		t.Fatal("this process runs the tests with OpenTofu")
	}
	tofu := shared(t, tofutest.Path(t))
	tests := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.parallel=4", "-test.run",
		"^("+strings.Join(withOpenTofu, "|")+")$")
	tests.Env = append(os.Environ(), varTofu+"=1", tfbinary.EnvExecutable+"="+tofu)
	out, err := tests.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range withOpenTofu {
		said := func(end string) bool { return strings.Contains(string(out), "\n--- "+end+": "+name+" ") }
		if !said("PASS") && !said("SKIP") {
			t.Errorf("%s did not pass with OpenTofu", name)
		}
	}
}

// shared returns a copy of a program, as tofu, that another user can run.
func shared(t *testing.T, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "opentofu-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "tofu")
	if os.Link(program, copied) == nil {
		return copied
	}
	from, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(copied, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return copied
}

// TestToolOfAnArtifact: what OpenTofu built without modules from elsewhere is not deployed by Terraform, and
// what Terraform built is deployed by either.
func TestToolOfAnArtifact(t *testing.T) {
	tofu := shared(t, tofutest.Path(t))
	r := newRig(t)
	for _, test := range []struct{ build, deploy, want string }{
		{tofu, "terraform", "the artifact was built with OpenTofu, and this runner has Terraform " + terraformVersion},
		{tofu, "", "OpenTofu is needed, because the component was built with it"},
		{tofu, tofu, ""},
		{"", tofu, ""},
	} {
		t.Setenv(tfbinary.EnvExecutable, test.build)
		built := r.mustBuild("m", "m/main.tf", "output \"a\" {\n  value = 1\n}\n")
		t.Setenv(tfbinary.EnvExecutable, test.deploy)
		_, err := r.plan(r.spec(built), false)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("built with %q, planned with %q: %v, want %q", test.build, test.deploy, err, test.want)
		}
	}
	// A tofu on PATH serves what OpenTofu built.
	t.Setenv(tfbinary.EnvExecutable, tofu)
	spec := r.spec(r.mustBuild("m", "m/main.tf", "output \"b\" {\n  value = 1\n}\n"))
	t.Setenv(tfbinary.EnvExecutable, "")
	t.Setenv("PATH", filepath.Dir(tofu)+":"+os.Getenv("PATH"))
	r.mustApply(applySpec(spec, r.mustPlan(spec, false), false))
	said := "is OpenTofu " + tofutest.Version + "; the component asks for " + terraformVersion
	if log := r.log.String(); !strings.Contains(log, said) {
		t.Error(log)
	}
}
