package terraform

import (
	"fmt"
	"net/url"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
)

// moduleService is the service of a registry that has modules, in a host block.
const moduleService = "modules.v1"

// registryServices returns the addresses of module registries, by host, that a CLI configuration
// sets in its host blocks. Terraform itself does not use them for a build: it runs with the modules
// that are already there.
func registryServices(file string) (map[string]string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	parsed, problems := hclparse.NewParser().ParseHCL(content, file)
	if problems.HasErrors() {
		return nil, problems
	}
	hosts, _, problems := parsed.Body.PartialContent(&hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: "host", LabelNames: []string{"name"}}}})
	if problems.HasErrors() {
		return nil, problems
	}
	services := map[string]string{}
	for _, block := range hosts.Blocks {
		attributes, problems := block.Body.JustAttributes()
		if problems.HasErrors() {
			return nil, problems
		}
		set, is := attributes["services"]
		if !is {
			continue
		}
		value, problems := set.Expr.Value(nil)
		if problems.HasErrors() {
			return nil, problems
		}
		if !value.Type().IsObjectType() || !value.Type().HasAttribute(moduleService) {
			continue
		}
		address := value.GetAttr(moduleService)
		if address.IsNull() || address.Type().FriendlyName() != "string" {
			return nil, fmt.Errorf("%s of the host %s is no text", moduleService, block.Labels[0])
		}
		services[block.Labels[0]] = address.AsString()
	}
	return services, nil
}

// useRegistries adds the registries of a CLI configuration to the options. The runner's owner wrote it,
// so they may be in private networks.
func useRegistries(file string, allowed func(host string) bool) (
	services map[string]string, allow func(host string) bool, err error) {
	services, err = registryServices(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read the host blocks of Terraform's CLI configuration: %w", err)
	}
	named := map[string]bool{}
	for host, address := range services {
		parsed, err := url.Parse(address)
		if err != nil || parsed.Host == "" {
			return nil, nil, fmt.Errorf("read the host blocks of Terraform's CLI configuration: %s of %s is no URL: %q",
				moduleService, host, address)
		}
		named[parsed.Hostname()] = true
	}
	return services, func(host string) bool { return named[host] || allowed(host) }, nil
}
