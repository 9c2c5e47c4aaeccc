package azure_test

import (
	"time"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

// reporter is what a deployment needs of a test.
type reporter interface {
	Helper()
	Fatal(a ...any)
}

// group is the resource group of deployments.
var group = cloudtest.DeploymentOptions{Tenant: "tenant", Subscription: "sub", Group: "rg", Location: "westeurope",
	At: time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)}

// deployment is a deployed template.
type deployment struct {
	t reporter
	*cloudtest.Deployment
}

// deploy deploys a template with what a customer entered.
func deploy(t reporter, raw []byte, entered map[string]any) deployment {
	t.Helper()
	options := group
	options.Parameters = entered
	made, err := cloudtest.EvaluateDeployment(raw, options)
	if err != nil {
		t.Fatal(err)
	}
	return deployment{t, made}
}

// resource returns the only resource of a kind.
func (d deployment) resource(kind string) map[string]any {
	d.t.Helper()
	found, err := d.Resource(kind)
	if err != nil {
		d.t.Fatal(err)
	}
	return found
}
