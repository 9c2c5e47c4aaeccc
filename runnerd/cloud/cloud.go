// Package cloud proves to the control plane which account, project or subscription this machine runs
// in, by the identity that the cloud gives the machine. The packages below it have one cloud each.
package cloud

import (
	"context"
	"fmt"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/aws"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/azure"
	"github.com/nuon-toolkit/nuon/runnerd/cloud/gcp"
)

// Claim is how a machine registers without a token: the install that it belongs to, and the cloud that
// vouches for it.
type Claim struct {
	// Token names the install. It is no secret.
	Token string
	// Cloud is aws, azure or gcp.
	Cloud string
	// AzureAudience is the application that tokens of Azure are for: api://….
	AzureAudience string
}

// IsZero reports whether there is no claim.
func (c Claim) IsZero() bool { return c.Token == "" }

// Check returns an error for a claim that can prove nothing.
func (c Claim) Check() error {
	switch c.Cloud {
	case "aws", "gcp":
		return nil
	case "azure":
		return azure.CheckAudience(c.AzureAudience)
	}
	return fmt.Errorf("%q is no cloud that proves the identity of a machine; it is aws, azure or gcp", c.Cloud)
}

// nonces are those that a proof is made for: a control plane cannot put anything else into one.
var nonces = lazyregexp.New(`^[A-Za-z0-9_-]{16,64}$`)

// Prove returns a proof for one nonce of the control plane at runnerURL.
func (c Claim) Prove(ctx context.Context, runnerURL, nonce string) (api.CloudIdentity, error) {
	if !nonces.MatchString(nonce) {
		return api.CloudIdentity{}, fmt.Errorf("the control plane sent %.80q, which is no nonce", nonce)
	}
	switch c.Cloud {
	case "aws":
		return aws.Prove(ctx, runnerURL, nonce)
	case "gcp":
		return gcp.Prove(ctx, runnerURL, nonce)
	case "azure":
		return azure.Prove(ctx, c.AzureAudience)
	}
	return api.CloudIdentity{}, c.Check()
}
