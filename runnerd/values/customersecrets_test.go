package values_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/values"
	"github.com/nuon-toolkit/nuon/runnerd/values/valuestest"
)

func withSecret(t *testing.T) (*values.Values, *redact.Set) {
	t.Helper()
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	known := &redact.Set{}
	opened, err := values.Open("ins_1", api.Values{Plain: json.RawMessage(`{"install":{"id":"ins_1"}}`)}, key, known)
	if err != nil {
		t.Fatal(err)
	}
	opened.AddSecret("db", "planted-value-7")
	return opened, known
}

// TestSecretsOfTheCustomerAreMasked checks that the value, and what a template makes of it, is a secret.
func TestSecretsOfTheCustomerAreMasked(t *testing.T) {
	opened, known := withSecret(t)
	rendered, err := opened.Render("values", "url: postgres://app:{{ .nuon.install.secrets.db | upper }}@db")
	if err != nil || rendered != "url: postgres://app:PLANTED-VALUE-7@db" {
		t.Fatal(err)
	}
	contains := opened.Secrets.Contains()
	for _, text := range []string{"planted-value-7", rendered} {
		if !contains(text) || strings.Contains(strings.ToLower(known.String(text)), "planted") {
			t.Errorf("%d characters that contain the secret are not masked", len(text))
		}
	}
}

// TestRenderReported checks that what is reported in clear is rendered with no secret, of the customer or sealed.
func TestRenderReported(t *testing.T) {
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := values.Open("ins_1", api.Values{Plain: json.RawMessage(`{"inputs":{"inputs":{"zone":"eu"}}}`),
		Sealed: []api.SealedValue{valuestest.SealValue(t, key, "ins_1", "inputs.inputs.password", "planted-value-9")}},
		key, &redact.Set{})
	if err != nil {
		t.Fatal(err)
	}
	opened.AddSecret("db", "planted-value-7")
	for _, text := range []string{"{{ .nuon.install.secrets.db }}", "{{ .nuon.inputs.inputs.password }}",
		"{{ printf \"%x\" .nuon.inputs.inputs.password }}", "{{ toJson .nuon.inputs }}"} {
		if rendered, err := opened.RenderReported("namespace", text); err == nil {
			t.Errorf("%s is rendered as %d characters", text, len(rendered))
		}
	}
	if rendered, err := opened.RenderReported("namespace", "web-{{ .nuon.inputs.inputs.zone }}"); err != nil ||
		rendered != "web-eu" {
		t.Error(rendered, err)
	}
}

// TestSecretsOfTheCustomerStayOutOfSight checks what is never rendered with a secret: namespaces and commands.
func TestSecretsOfTheCustomerStayOutOfSight(t *testing.T) {
	opened, _ := withSecret(t)
	for _, text := range []string{"{{ .nuon.install.secrets.db }}", "x{{ index .nuon.install.secrets \"db\" }}",
		"{{ toJson .nuon.install.secrets }}", "{{ toJson .nuon.install }}",
		"{{ with .nuon.install }}{{ .secrets.db }}{{ end }}",
		"{{ .nuon.install.secrets.other }}"} {
		if rendered, err := opened.RenderPublic("command", text); err == nil {
			t.Errorf("%s is rendered as %d characters", text, len(rendered))
		}
	}
	if rendered, err := opened.RenderPublic("command", "{{ .nuon.install.id }}"); err != nil || rendered != "ins_1" {
		t.Error(rendered, err)
	}
}
