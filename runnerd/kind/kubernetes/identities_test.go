package kubernetes

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// TestIdentitiesDependOnNoSecret checks that a manifest cannot have the runner report a secret as the name of an
// object, in any form, and that a secret elsewhere is no reason to refuse one.
func TestIdentitiesDependOnNoSecret(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\n"
	for name, test := range map[string]struct {
		text  string
		wrong bool
	}{
		"a name":      {head + "metadata: {name: 'x{{ printf \"%x\" .nuon.install.secrets.db }}'}\n", true},
		"hashed":      {head + "metadata: {name: '{{ .nuon.install.secrets.db | sha256sum }}'}\n", true},
		"a part":      {head + "metadata: {name: 'x{{ substr 0 2 .nuon.install.secrets.db }}'}\n", true},
		"a namespace": {head + "metadata: {name: a, namespace: '{{ .nuon.install.secrets.db }}'}\n", true},
		"a kind":      {"apiVersion: v1\nkind: 'K{{ .nuon.install.secrets.db }}'\nmetadata: {name: a}\n", true},
		"one more object": {head + "metadata: {name: a}\n{{ if eq .nuon.install.secrets.db \"planted\" }}---\n" + head +
			"metadata: {name: b}\n{{ end }}", true},
		"interpreted": {head + "metadata: {name: '{{ (fromJson .nuon.install.secrets.json).name }}'}\n", true},
		"data":        {head + "metadata: {name: a}\ndata: {a: '{{ .nuon.install.secrets.db }}'}\n", false},
		"an optional part": {head + "metadata: {name: a}\n{{ if .nuon.install.secrets.none }}---\n" + head +
			"metadata: {name: b}\n{{ end }}", false},
		"data of an interpreted one": {head +
			"metadata: {name: a}\ndata: {a: '{{ (fromJson .nuon.install.secrets.json).name }}'}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			opened, err := values.Open("ins_1", api.Values{}, seal.Identity{}, &redact.Set{})
			if err != nil {
				t.Fatal(err)
			}
			opened.AddSecret("db", "planted")
			opened.AddSecret("json", `{"name":"planted-too"}`)
			opened.AddSecret("none", "")
			text, masked, err := opened.RenderMasked("manifest", test.text)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := decode(text)
			if err != nil {
				t.Fatal(err)
			}
			err = checkIdentities(objects, masked, opened.Secrets.Contains())
			if (err != nil) != test.wrong {
				t.Fatalf("got %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), "document ") || strings.Contains(err.Error(), "planted")) {
				t.Errorf("got %v", err)
			}
		})
	}
}
