package appconfig

import "github.com/nuon-toolkit/nuon/pkg/diagnostic"

// checkClouds compares the cloud of the runner with that of the stack. Roles, accounts and templates are compared where they are
// looked at.
func (c *checker) checkClouds() {
	if c.stack == nil || c.cloud == "" {
		return
	}
	if cloud := cloudOf(c.stack.value.Type); cloud != "" && cloud != c.cloud {
		c.errorf(ruleCloudMismatch, c.stack.table.Place("type"), "write "+diagnostic.Quote(stackTypes[c.cloud]),
			"the stack is for %s, and the runner is on %s", label(cloud), label(c.cloud))
	}
}

// stackTypes are the usual ones.
var stackTypes = map[string]string{cloudAWS: "aws-cloudformation", cloudAzure: "azure-bicep", cloudGCP: "gcp-terraform"}
