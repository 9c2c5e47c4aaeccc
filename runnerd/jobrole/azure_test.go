package jobrole

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/grant"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
)

// group is the resource group of an install's stack.
const group = "/subscriptions/sub-1/resourceGroups/acme"

const (
	management = "https://management.azure.com/"
	vaults     = "https://vault.azure.net"
)

// identity returns the id of the identity of a role.
func identity(role string) string {
	return group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/" + role
}

// newAzureRig is a resource group with the identities of an install, and a machine that has them.
func newAzureRig(t *testing.T, roles ...string) *rig {
	t.Helper()
	address, err := shared.Azure.StartMachine(cloudtest.AzureMachine{Tenant: "t-1",
		Resource: group + "/providers/Microsoft.Compute/virtualMachines/" + install + "-runner"})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		shared.Azure.AddIdentity(identity(role))
	}
	t.Setenv("NUON_JOB_ROLE", "") // its end undoes what Open set
	for _, entry := range append(shared.Environ(), "AZURE_POD_IDENTITY_AUTHORITY_HOST="+address,
		"AZURE_CLIENT_ID=of-the-runner", "ARM_CLIENT_SECRET=of-the-runner", "ARM_TENANT_ID=t-1") {
		name, value, _ := strings.Cut(entry, "=")
		t.Setenv(name, value)
	}
	return &rig{dir: t.TempDir(), now: time.Now(), seen: &redact.Set{}}
}

func azureSpec(role, kind string) api.JobSpec {
	s := spec(role, kind)
	s.Role.Cloud = "azure"
	return s
}

// program sets the environment of the test to that of a program of the job.
func program(t *testing.T) map[string]string {
	t.Helper()
	environ := jobenv.ToolEnv(os.Environ())
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); environ[name] == "" && (strings.HasPrefix(name, "AZURE_") ||
			strings.HasPrefix(name, "ARM_")) {
			_ = os.Unsetenv(name) // newAzureRig's end undoes it
		}
	}
	for name, value := range environ {
		t.Setenv(name, value)
	}
	return environ
}

// claims returns what a token says of its holder and its audience.
func claims(t *testing.T, token string) (holder, audience string) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%.40q is no token", token)
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	var made struct {
		Holder   string `json:"xms_mirid"`
		Audience string `json:"aud"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &made)
	}
	if err != nil {
		t.Fatal(err)
	}
	return made.Holder, made.Audience
}

// TestRoleOnAzure checks that Azure's own library finds the identity of the job in the environment of a program, for
// each audience, and no other identity.
func TestRoleOnAzure(t *testing.T) {
	const role = install + "-maintenance"
	r := newAzureRig(t, role, install+"-deprovision")
	shared.Azure.Throttle(1)
	s := r.open(t, azureSpec(role, "maintenance"), "")
	environ := program(t)
	if environ["ARM_SUBSCRIPTION_ID"] != "sub-1" || environ["ARM_TENANT_ID"] != "t-1" ||
		environ["ARM_CLIENT_SECRET"] != "" || environ["AZURE_CLIENT_ID"] != "" ||
		environ["AZURE_POD_IDENTITY_AUTHORITY_HOST"] != "" {
		t.Errorf("a program has %v", environ)
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, audience := range []string{management, vaults} {
		got, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{audience + "/.default"}})
		if err != nil {
			t.Fatal(err)
		}
		if holder, of := claims(t, got.Token); holder != identity(role) || strings.TrimRight(of, "/") !=
			strings.TrimRight(audience, "/") {
			t.Errorf("the token is of %s for %s", holder, of)
		}
		if left := got.ExpiresOn.Sub(r.now); left < 23*time.Hour {
			t.Errorf("the library reads an end in %s", left)
		}
		if text := r.seen.String("x " + got.Token + " y"); strings.Contains(text, got.Token) {
			t.Error("a log would show the token")
		}
	}
	for _, other := range []azidentity.ManagedIDKind{azidentity.ResourceID(identity(install + "-deprovision")),
		azidentity.ClientID("another"), azidentity.ObjectID("another")} {
		chosen, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{ID: other})
		if err != nil {
			continue // the library itself refuses it
		}
		got, err := chosen.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{management + "/.default"}})
		if err == nil {
			t.Errorf("another identity gave %v", got)
		}
	}
	log, err := audit.Read(r.dir, time.Time{})
	if err != nil || len(log) == 0 || log[0].What != audit.RoleAssumed || log[0].Role != role {
		t.Errorf("the audit log is %v, %v", log, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// azureToken requests a token as Terraform's provider does: with the address of ARM_MSI_ENDPOINT and no header.
func azureToken(t *testing.T, address, audience string) (status int, body map[string]string) {
	t.Helper()
	return fetch(t, address+"?api-version=2019-08-01&resource="+audience, "")
}

// TestTerraformOnAzure checks the address that Terraform's provider gets, and what a job cannot do with it.
func TestTerraformOnAzure(t *testing.T) {
	const role = install + "-maintenance"
	r := newAzureRig(t, role)
	r.open(t, azureSpec(role, "maintenance"), "")
	environ := jobenv.ToolEnv(os.Environ())
	if environ["ARM_USE_MSI"] != "true" || environ["ARM_USE_CLI"] != "false" {
		t.Errorf("a program has %v", environ)
	}
	address := environ["ARM_MSI_ENDPOINT"]
	status, got := azureToken(t, address, management)
	if holder, _ := claims(t, got["access_token"]); status != http.StatusOK || holder != identity(role) ||
		got["expires_in"] == "" || got["token_type"] != "Bearer" {
		t.Errorf("%d %v", status, got)
	}
	if status, got := azureToken(t, address+"x", management); status != http.StatusForbidden || got["access_token"] != "" {
		t.Errorf("another token of a job gave %d %v", status, got)
	}
	if status, got := azureToken(t, address, ""); status != http.StatusBadRequest || got["access_token"] != "" {
		t.Errorf("no resource gave %d %v", status, got)
	}
	if text := r.seen.String(address); text == address {
		t.Error("a log would show the address")
	}
	r.now = r.now.Add(24 * time.Hour)
	shared.Azure.RemoveIdentity(identity(role))
	status, got = azureToken(t, address, management)
	if status != http.StatusForbidden || !strings.Contains(got["message"], "the role is switched off in the stack") {
		t.Errorf("after the customer switched the role off: %d %v", status, got)
	}
}

// TestRefusedRolesOnAzure checks what a control plane cannot make a runner do there.
func TestRefusedRolesOnAzure(t *testing.T) {
	r := newAzureRig(t, install+"-maintenance", other+"-maintenance")
	for name, c := range map[string]struct{ role, file, want string }{
		"a role of another install": {other + "-maintenance", "", "does not assume the role"},
		"a role that is off":        {install + "-gone", "", "the role is switched off in the stack"},
		"an id": {"/subscriptions/sub-2/resourceGroups/b/providers/Microsoft.ManagedIdentity/userAssignedIdentities/" +
			install + "-maintenance", "", "is not the name of a managed identity"},
		"a query": {install + "-x&msi_res_id=y", "", "is not the name of a managed identity"},
		"everything allowed, and an id": {identity(install + "-maintenance"), "[roles]\nallow = [\"*\"]\n",
			"is not the name of a managed identity"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), r.options(azureSpec(c.role, "maintenance"), c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
				_ = s.Close()
			}
		})
	}
}

// TestGrantsOnAzure checks that programs receive the end of the grant as the end of a token, and none after it.
func TestGrantsOnAzure(t *testing.T) {
	const role = install + "-repair"
	r := newAzureRig(t, role)
	until := r.now.Add(30 * time.Minute)
	if err := grant.Add(t.Context(), r.dir, grant.Grant{Role: role, Until: until, By: "vera", At: r.now}); err != nil {
		t.Fatal(err)
	}
	r.open(t, azureSpec(role, "break_glass"), "")
	address := jobenv.ToolEnv(os.Environ())["ARM_MSI_ENDPOINT"]
	status, got := azureToken(t, address, management)
	ends, err := strconv.ParseInt(got["expires_on"], 10, 64)
	if err != nil || status != http.StatusOK || time.Unix(ends, 0).After(until) {
		t.Errorf("%d, %v: the token ends at %s, and the grant at %s", status, err, time.Unix(ends, 0), until)
	}
	r.now = until
	for _, audience := range []string{management, vaults} {
		status, got := azureToken(t, address, audience)
		if status != http.StatusForbidden || !strings.Contains(got["message"], "ended at") {
			t.Errorf("at the end: %d %v", status, got)
		}
	}
}
