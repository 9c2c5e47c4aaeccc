package azure

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

// TestAudiences checks that a token is asked for applications of the vendor only: one for an API of
// Azure would give its reader access to the account.
func TestAudiences(t *testing.T) {
	cloud, err := cloudtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	address, err := cloud.Azure.StartMachine(cloudtest.AzureMachine{Tenant: "t", Resource: "r"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", address)
	proof, err := Prove(t.Context(), "api://nuon.example.com")
	if err != nil || strings.Count(proof.Token, ".") != 2 || proof.Cloud != "azure" {
		t.Errorf("%+v, %v", proof, err)
	}
	for _, audience := range []string{"", "https://management.azure.com/", "https://vault.azure.net", "api://", "api:// x",
		"api://x?resource=https://management.azure.com", "00000000-0000-0000-0000-000000000000"} {
		if proof, err := Prove(t.Context(), audience); err == nil {
			t.Errorf("%q: %+v", audience, proof)
		}
	}
}

// TestStack reads the report that a stack's template leaves in the user data of the machine.
func TestStack(t *testing.T) {
	cloud, err := cloudtest.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	for text, want := range map[string]string{
		`{"install": "ins_1", "stack_version": "3", "outputs": {"region": "westeurope"}}`: "",
		`{`: "read the user data of this machine on Azure", "": "read the user data of this machine on Azure",
	} {
		address, err := cloud.Azure.StartMachine(cloudtest.AzureMachine{
			UserData: base64.StdEncoding.EncodeToString([]byte(text))})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", address)
		report, err := Stack(t.Context())
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", text, err)
			}
		case err != nil || report.Install != "ins_1" || report.StackVersion != "3" ||
			string(report.Outputs["region"]) != `"westeurope"`:
			t.Errorf("%+v, %v", report, err)
		}
	}
}
