// Package azure uses the managed identities of this machine on Azure. It proves the subscription to the
// control plane, and acts under the roles of the stack, which are identities of the machine too.
package azure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
)

// The paths of the metadata service of a machine: where it issues tokens, and where it has the text that the stack set.
const (
	tokenPath = "/metadata/identity/oauth2/token"
	userPath  = "/metadata/instance/compute/userData"
)

// metadataAddress returns the address of the metadata service. Azure's own libraries read the same variable.
func metadataAddress() string {
	if address := os.Getenv("AZURE_POD_IDENTITY_AUTHORITY_HOST"); address != "" {
		return strings.TrimSuffix(address, "/")
	}
	return "http://169.254.169.254"
}

// maxAnswer bounds the answer of the metadata service.
const maxAnswer = 64 << 10

// CheckAudience refuses audiences for which a token would give its reader access to the account: only
// an application that was made to prove identities, api://…, is accepted.
func CheckAudience(audience string) error {
	if rest, ok := strings.CutPrefix(audience, "api://"); !ok || rest == "" || strings.ContainsAny(rest, " ?#\\") {
		return fmt.Errorf("%q is no identifier URI of an application for identities; it is api://…", audience)
	}
	return nil
}

// Prove returns an access token of this machine's managed identity for an application of the vendor.
// Azure cannot bind it to a nonce.
func Prove(ctx context.Context, audience string) (api.CloudIdentity, error) {
	if err := CheckAudience(audience); err != nil {
		return api.CloudIdentity{}, err
	}
	status, body, err := getMetadata(ctx, metadataAddress()+tokenPath+"?api-version=2018-02-01&resource="+
		url.QueryEscape(audience))
	if err != nil {
		return api.CloudIdentity{}, fmt.Errorf("get the identity token of this machine on Azure: %w", err)
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	if status != http.StatusOK || json.Unmarshal(body, &answer) != nil || answer.Token == "" {
		return api.CloudIdentity{}, fmt.Errorf("get the identity token of this machine on Azure: its metadata "+
			"service answers %d: %.300q", status, body)
	}
	return api.CloudIdentity{Cloud: "azure", Token: answer.Token}, nil
}

// Stack returns what the stack of this machine set in its user data.
func Stack(ctx context.Context) (report api.StackReport, err error) {
	status, body, err := getMetadata(ctx, metadataAddress()+userPath+"?api-version=2021-01-01&format=text")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("its metadata service answers %d: %.300q", status, body)
	}
	if err == nil {
		body, err = base64.StdEncoding.DecodeString(string(body))
	}
	if err == nil {
		err = json.Unmarshal(body, &report)
	}
	if err != nil {
		return api.StackReport{}, fmt.Errorf("read the user data of this machine on Azure: %w", err)
	}
	return report, nil
}

// getMetadata returns the answer of the metadata service.
func getMetadata(ctx context.Context, address string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Metadata", "true")
	// The metadata service is on this machine: its requests must not leave through a proxy.
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return response.StatusCode, body, err
}
