package image

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// The clouds whose registries are known by their hosts.
const (
	AWS   = "aws"
	GCP   = "gcp"
	Azure = "azure"
)

// The hosts of registries. The only group of that of Amazon ECR is the region.
var (
	ecrHost = lazyregexp.New(`^\d{12}\.dkr[.-]ecr(?:-fips)?\.([a-z]{2}(?:-[a-z]+)+-\d)\.` +
		`(?:amazonaws\.com|amazonaws\.com\.cn|on\.aws|on\.amazonwebservices\.com\.cn)$`)
	garHost = lazyregexp.New(`^(?:[a-z][a-z0-9-]*-docker\.pkg\.dev|(?:[a-z]+\.)?gcr\.io)$`)
	acrHost = lazyregexp.New(`^[a-z0-9-]+\.azurecr\.(?:io|cn|us)$`)
)

// Cloud returns the cloud of a registry by its host, or "" for any other registry.
func Cloud(host string) string {
	switch host = strings.ToLower(host); {
	case ecrHost.MatchString(host):
		return AWS
	case garHost.MatchString(host):
		return GCP
	case acrHost.MatchString(host):
		return Azure
	}
	return ""
}

// ECRRegion returns the region in the host of a registry of Amazon ECR, or "".
func ECRRegion(host string) string {
	if found := ecrHost.FindStringSubmatch(strings.ToLower(host)); found != nil {
		return found[1]
	}
	return ""
}
