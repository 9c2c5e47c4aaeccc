package module

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
)

// loud fails with all that it knows: the secret in several spellings, megabytes of it, and control sequences.
const loud = `
variable "token" {
  type      = string
  sensitive = true
}
locals {
  token = nonsensitive(var.token)
}
resource "terraform_data" "loud" {
  input = "x"
  provisioner "local-exec" {
    interpreter = ["/bin/sh", "-c"]
    command     = <<-EOT
      printf '\033]0;%s\007\033[2J%s\n' "$T" "$T"
      printf %s "$T" | base64
      printf %s "$T" | od -An -v -tx1 | tr -d ' \n'; echo
      printf %s "$T" | tr a-z A-Z; echo
      i=0; while [ $i -lt 2000 ]; do echo "$i error: cannot log in as $T: $T is wrong, $T$T"; i=$((i+1)); done
      echo "Error: $T" >&2
      exit 1
    EOT
    environment = { T = local.token }
  }
}
resource "terraform_data" "checked" {
  input = "y"
  lifecycle {
    precondition {
      condition     = length(local.token) < 5
      error_message = "the token ${local.token} (${base64encode(local.token)}, ${strrev(local.token)}, ${urlencode(local.token)}) is too long"
    }
  }
}
`

// TestErrorsOfProgramsLeakNothing: what Terraform and the programs that it starts print when they fail holds the secret in none of the
// spellings that are looked for, wherever it goes, and no control sequence reaches whoever reads it.
func TestErrorsOfProgramsLeakNothing(t *testing.T) {
	const secret = "planted-Tok3n-in-an-error"
	r := newRig(t)
	for name, module := range map[string]string{
		"a precondition": loud,
		"a provisioner":  strings.Replace(loud, "length(local.token) < 5", "length(local.token) > 5", 1),
	} {
		spec := r.spec(r.mustBuild("m", "m/main.tf", module))
		spec.Terraform.Vars = map[string]string{"token": "{{.nuon.inputs.inputs.token}}"}
		spec.Values.Sealed = []api.SealedValue{r.sealed("inputs.inputs.token", secret)}
		planned, err := r.plan(spec, false)
		if (err != nil) != (name == "a precondition") {
			t.Fatalf("%s: planned with %v", name, err)
		}
		if err == nil {
			_, err = r.apply(t.Context(), applySpec(spec, planned, false))
		}
		if err == nil {
			t.Fatalf("%s: it did not fail", name)
		}
		if result := r.given[len(r.given)-1]; len(result) > 64<<10 || !strings.Contains(result, redact.Mark) {
			t.Errorf("%s: the result of %d bytes is too long, or says nothing of the failure: %.300s", name, len(result), result)
		}
		if log := r.log.Bytes(); bytes.Contains(log, []byte("\x1b")) || bytes.Contains(log, []byte("\x07")) {
			t.Errorf("%s: the log has control sequences", name)
		}
		r.mustNotLeak(secret)
	}
}
