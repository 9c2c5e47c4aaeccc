package standin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// moduleMark is the first line of a stand-in module.
const moduleMark = "# Stands in for a module that was not published.\n"

// clouds are the providers and objects that stand-in modules of the clouds create. %s is a name.
var clouds = map[string]string{
	"aws": `provider "aws" {
  region = "us-east-1"
}

resource "aws_ssm_parameter" "standin" {
  name  = "/standin/%s"
  type  = "String"
  value = local.content
}
`,
	"gcp": `provider "google" {
  project = "standin"
  region  = "us-central1"
}

resource "google_storage_bucket" "standin" {
  name     = "standin-%s"
  location = "US"
  labels   = { content = substr(sha256(local.content), 0, 12) }
}
`,
	"azure": `provider "azurerm" {
  features {}
  subscription_id = "00000000-0000-0000-0000-000000000000"
}

resource "azurerm_user_assigned_identity" "standin" {
  name                = "standin-%s"
  resource_group_name = "standin"
  location            = "westus2"
  tags                = { content = substr(sha256(local.content), 0, 12) }
}
`,
}

// awsCluster is the cluster of a module whose output cluster components are deployed to, and
// awsClusterOutput that output.
const (
	awsCluster = `
resource "aws_eks_cluster" "standin" {
  name     = "standin-%s"
  role_arn = "arn:aws:iam::123456789012:role/standin"

  vpc_config {
    subnet_ids = ["subnet-0a1b2c3d4e5f60711", "subnet-0a1b2c3d4e5f60712"]
  }
}
`
	awsClusterOutput = `
output "cluster" {
  value = {
    name                       = aws_eks_cluster.standin.name
    endpoint                   = aws_eks_cluster.standin.endpoint
    certificate_authority_data = aws_eks_cluster.standin.certificate_authority[0].data
  }
}
`
)

// module returns the files of a stand-in module.
func (c *Code) module(release int) map[string]string {
	var text strings.Builder
	text.WriteString(moduleMark)
	for _, name := range c.Variables {
		fmt.Fprintf(&text, "variable %q {\n  default = null\n}\n\n", name)
	}
	text.WriteString("locals {\n  content = jsonencode({\n")
	fmt.Fprintf(&text, "    release = %d\n", release)
	for _, name := range c.Variables {
		fmt.Fprintf(&text, "    %s = var.%s\n", name, name)
	}
	text.WriteString("  })\n}\n\n")
	name := strings.NewReplacer("_", "-", "/", "-", ".", "-").Replace(c.Users[0])
	if object := clouds[c.Cloud]; object != "" {
		fmt.Fprintf(&text, object, name)
	}
	outputs := tree(c.Outputs)
	cluster := c.Cloud == "aws" && outputs["cluster"]["endpoint"] != nil
	if cluster {
		fmt.Fprintf(&text, awsCluster, name)
	}
	text.WriteString("\nresource \"terraform_data\" \"standin\" {\n  input = local.content\n}\n")
	for _, output := range slices.Sorted(maps.Keys(outputs)) {
		if output == "cluster" && cluster {
			text.WriteString(awsClusterOutput)
			continue
		}
		// The condition makes the output unknown until the module is applied, as those of most modules.
		fmt.Fprintf(&text, "\noutput %q {\n  value = terraform_data.standin.id == \"\" ? null : %s\n}\n", output,
			literal(output, outputs[output], c.Cloud))
	}
	return map[string]string{"main.tf": text.String()}
}

// node is a map of names to nodes, empty for a value.
type node map[string]node

// tree joins paths.
func tree(paths [][]string) node {
	root := node{}
	for _, path := range paths {
		at := root
		for _, name := range path {
			if at[name] == nil {
				at[name] = node{}
			}
			at = at[name]
		}
	}
	return root
}

// literal returns the value of an output as text of HCL.
func literal(name string, of node, cloud string) string {
	if len(of) == 0 {
		return Value(name, cloud)
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%q = %s", key, literal(key, of[key], cloud)))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// Value returns a plausible value of an output by its name, as text of HCL and JSON.
func Value(name, cloud string) string {
	ends := func(suffixes ...string) bool {
		return slices.ContainsFunc(suffixes, func(s string) bool { return name == s || strings.HasSuffix(name, "_"+s) })
	}
	switch {
	case ends("port"):
		return "5432"
	case ends("gb", "count", "size"):
		return "20"
	case ends("arn"):
		return `"arn:aws:service:us-east-1:123456789012:standin/` + name + `"`
	case ends("ids", "names", "arns"):
		return `["standin-1", "standin-2"]`
	case ends("ami_id"):
		return `"ami-0123456789abcdef0"`
	case ends("ip"):
		return `"203.0.113.7"`
	case ends("url"):
		return `"https://standin.example"`
	case ends("email"):
		return `"standin@standin.iam.gserviceaccount.com"`
	case ends("host", "hostname", "address", "endpoint"):
		return `"standin.example"`
	case ends("repository"):
		return `"registry.example/standin"`
	case ends("tag"):
		return `"1.0.0"`
	case ends("digest"):
		return `"sha256:` + strings.Repeat("0", 64) + `"`
	case ends("id") && cloud == "azure":
		return `"/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/standin/providers/standin"`
	}
	return fmt.Sprintf("%q", "standin-"+strings.ReplaceAll(name, "_", "-"))
}
