package terraform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/subprocess/childtest"
)

// TestTerraformOfAnotherUser checks that, where Terraform runs as another user, a module is
// built, planned and applied as usual, and that links that its programs put in place of files
// that root reads are not followed.
func TestTerraformOfAnotherUser(t *testing.T) {
	root := childtest.UseOtherUser(t)
	r := newRig(t)
	r.root = root
	secret := filepath.Join(root, "install.key")
	if err := os.WriteFile(secret, []byte("planted-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := r.spec(r.mustBuild("", "main.tf", `
resource "terraform_data" "it" {
  input = "value"
  provisioner "local-exec" {
    command = <<-EOT
      id -u >&2
      echo "home $HOME" >&2
      for try in "cat ${path.cwd}/../use" "cat ${path.cwd}/../../../install.key" "rm -f ${path.cwd}/../plan" "touch ${path.cwd}/../planted" "ls ${path.cwd}/../../../spool"; do
        $try >/dev/null 2>&1 && echo "could: $try" >&2
      done
      ln -s ${path.cwd}/../../../install.key errored.tfstate
      exit 0
    EOT
  }
}
output "it" { value = terraform_data.it.output }
`))
	planned := r.mustPlan(spec, false)
	result, err := r.apply(t.Context(), applySpec(spec, planned, false))
	log := r.log.String()
	if err == nil || !strings.Contains(err.Error(), "errored.tfstate") || result.Status == api.JobResultStatusSucceeded {
		t.Errorf("a link in the place of a last state was read: %v %v", result.Status, err)
	}
	if !strings.Contains(log, "65534") || strings.Contains(log, "(local-exec): could: ") ||
		strings.Contains(log, "planted-key") {
		t.Errorf("the log:\n%s", log)
	}
	if len(r.states) == 0 {
		t.Error("no state was handed over")
	}
	if left, err := os.ReadDir(filepath.Join(root, "work")); err != nil || len(left) != 1 { // the lock
		t.Errorf("left behind: %v %v", left, err)
	}
}
