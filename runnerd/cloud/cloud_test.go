package cloud_test

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/runnerd/cloud"
)

// TestHostileNonces checks that a control plane cannot have anything but a nonce signed.
func TestHostileNonces(t *testing.T) {
	claim := cloud.Claim{Token: "nuonc_1", Cloud: "aws"}
	for _, nonce := range []string{"", "short", strings.Repeat("x", 65), "0123456789abcdef\n",
		"0123456789abcdef\r\nhost: x",
		"0123456789abcdef/../x", "0123456789abcdef?x", "0123456789abcdef x", "0123456789abcdeé"} {
		if proof, err := claim.Prove(t.Context(), "https://runners.example.com", nonce); err == nil ||
			!strings.Contains(err.Error(), "no nonce") {
			t.Errorf("%q: %+v, %v", nonce, proof, err)
		}
	}
}

// TestCheck checks which claims can prove something.
func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		claim cloud.Claim
		good  bool
	}{
		"AWS": {cloud.Claim{Cloud: "aws"}, true}, "GCP": {cloud.Claim{Cloud: "gcp"}, true},
		"Azure":                        {cloud.Claim{Cloud: "azure", AzureAudience: "api://nuon"}, true},
		"Azure without an application": {cloud.Claim{Cloud: "azure"}, false},
		"Azure for the account's API": {cloud.Claim{Cloud: "azure", AzureAudience: "https://management.azure.com"},
			false},
		"another cloud": {cloud.Claim{Cloud: "moon"}, false}, "none": {cloud.Claim{}, false},
	} {
		if err := test.claim.Check(); (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
