package appconfig

import "github.com/nuon-toolkit/nuon/pkg/diagnostic"

// checkClouds compares the cloud of the runner with the cloud of the stack. Roles, accounts and
// templates have their own checks.
func (c *checker) checkClouds() {
	if c.stack == nil || c.cloud == "" {
		return
	}
	if cloud := cloudOf(c.stack.value.Type); cloud != "" && cloud != c.cloud {
		c.errorf(ruleCloudMismatch, c.stack.table.Position("type"), "write "+diagnostic.Quote(stackTypes[c.cloud]),
			"the stack is for %s, and the runner is on %s", cloudLabel(cloud), cloudLabel(c.cloud))
	}
}

// stackTypes are the usual stack types, by cloud.
var stackTypes = map[string]string{cloudAWS: "aws-cloudformation", cloudAzure: "azure-bicep", cloudGCP: "gcp-terraform"}
