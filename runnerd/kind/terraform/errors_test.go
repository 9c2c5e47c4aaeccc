package terraform

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/providertest"
)

// loud fails with everything that it has: the secret in several spellings, megabytes of it,
// and control sequences.
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

// TestErrorsOfProgramsLeakNothing checks that the output of Terraform and its programs on
// a failure contains the secret in none of the masked spellings, wherever it goes, and that no
// control sequence reaches a reader.
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
		if result := r.given[len(r.given)-1]; len(result) > 64<<10 || !strings.Contains(result, redact.Mask) {
			t.Errorf("%s: the result of %d bytes is too long, or says nothing of the failure: %.300s", name, len(result), result)
		}
		if log := r.log.Bytes(); bytes.Contains(log, []byte("\x1b")) || bytes.Contains(log, []byte("\x07")) {
			t.Errorf("%s: the log has control sequences", name)
		}
		r.mustNotLeak(secret)
	}
}

// TestADiagnosticIsCutBetweenSecrets checks that the error of a job has the start of a long
// diagnostic, and never ends with the start of a secret.
func TestADiagnosticIsCutBetweenSecrets(t *testing.T) {
	const secret = "planted-Tok3n-in-an-error"
	secrets := &redact.Set{}
	secrets.Add([]byte(secret))
	for before := maxDiagnostic - len(secret) - 4; before < maxDiagnostic+4; before += 3 {
		shown := &outputParser{log: job.NewLog(io.Discard, secrets)}
		shown.addDiagnostic(diagnostic{Severity: "error", Summary: strings.Repeat("x", before) + secret +
			strings.Repeat("y", 4<<10)})
		said := secrets.String((&diagnosticsFailure{verb: "apply", errors: shown.errors}).Error())
		if strings.Contains(said, secret[:5]) || len(said) > maxDiagnostic+100 {
			t.Errorf("cut after %d bytes, the error ends with %q", before, said[len(said)-50:])
		}
	}
}

// TestErrorsOfProvidersLeakNothing uses a provider whose diagnostics contain its configuration,
// in several spellings, megabytes long and with control sequences, and conditions that
// show what it returned.
func TestErrorsOfProvidersLeakNothing(t *testing.T) {
	const secret = "planted-Tok3n-in-an-error"
	for name, module := range map[string]string{
		// The provider quotes these values in the detail of its diagnostics.
		"an attribute": `
resource "trouble_object" "a" {
  name = join("", [for i in range(1000) : "${i} ${local.all} ${local.all} ${local.all} \u001b]0;x\u0007 \u009b2J"])
}`,
		"many attributes": `
resource "trouble_object" "a" {
  count        = 50
  name         = "a"
  drifts_after = local.all
  slow         = { create = local.all, read = "\u001b[2J${local.all}" }
}`,
		"a key of a map": `
resource "trouble_object" "a" {
  name = "a"
  fail = { (local.all) = 1 }
}`,
		"a condition after the provider": `
resource "trouble_object" "a" {
  name  = "a"
  value = local.all
  lifecycle {
    postcondition {
      condition     = length(self.value) < 5 || self.name == "never"
      error_message = "\u001b]0;${self.value}\u0007\u009b2J${nonsensitive(self.value)} is what there is"
    }
  }
}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			directory := providertest.Use(t)
			spec := r.spec(r.mustBuild("m", "m/main.tf", providertest.Required+fmt.Sprintf("provider \"trouble\" {\n  directory = %q\n}\n", directory)+`
variable "token" {
  type      = string
  sensitive = true
}
locals {
  all = nonsensitive("${var.token} ${base64encode(var.token)} ${strrev(var.token)} ${upper(var.token)} ${join(" ", split("", var.token))}")
}
`+module))
			spec.Terraform.Vars = map[string]string{"token": "{{.nuon.inputs.inputs.token}}"}
			spec.Values.Sealed = []api.SealedValue{r.sealed("inputs.inputs.token", secret)}
			planned, err := r.plan(spec, false)
			if err == nil {
				_, err = r.apply(t.Context(), applySpec(spec, planned, false))
			}
			if err == nil {
				t.Fatal("it did not fail")
			}
			result := r.given[len(r.given)-1]
			if len(result) > 64<<10 || !strings.Contains(result, redact.Mask) {
				t.Errorf("the result of %d bytes is too long, or says nothing of the failure: %.300s", len(result), result)
			}
			if strings.ContainsFunc(err.Error(), func(c rune) bool { return unicode.IsControl(c) && c != '\n' }) {
				t.Errorf("the error has control characters: %.300q", err)
			}
			if r.log.Len() > 2*job.MaxLogBytes {
				t.Errorf("the log has %d bytes", r.log.Len())
			}
			r.mustNotLeak(secret)
		})
	}
}
