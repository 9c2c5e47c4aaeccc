// Package gcp uses the identity that this machine has on Google Cloud. It proves the project to the
// control plane, and reads the metadata of the machine.
package gcp

import (
	"context"
	"fmt"
	"net/url"

	"cloud.google.com/go/compute/metadata"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/cloudproof"
)

// Prove returns an identity token of this machine for one nonce of the control plane at runnerURL. It
// gives nobody access to the project.
func Prove(ctx context.Context, runnerURL, nonce string) (api.CloudIdentity, error) {
	audience, err := cloudproof.Audience(runnerURL, nonce)
	if err != nil {
		return api.CloudIdentity{}, err
	}
	token, err := metadata.GetWithContext(ctx,
		"instance/service-accounts/default/identity?format=full&audience="+url.QueryEscape(audience))
	if err != nil {
		return api.CloudIdentity{}, fmt.Errorf("get the identity token of this machine on GCP: %w", err)
	}
	return api.CloudIdentity{Cloud: "gcp", Token: token}, nil
}

// Attribute returns a custom attribute of this machine, empty if it has none of this name.
func Attribute(ctx context.Context, name string) (string, error) {
	value, err := metadata.InstanceAttributeValueWithContext(ctx, name)
	if _, missing := err.(metadata.NotDefinedError); missing { //nolint:errorlint // the library returns it as it is
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the attribute %s of this machine: %w", name, err)
	}
	return value, nil
}
