package installstack

import (
	_ "embed"
	"strings"
)

// unit runs the runner under systemd; CLOUD and METADATA depend on the cloud.
//
//go:embed nuon-runner.service
var unit string

// metadataAddresses are the services of a cloud that give a machine its identity and its settings.
var metadataAddresses = map[string]string{
	"aws": "169.254.169.254", "azure": "169.254.169.254 168.63.129.16", "gcp": "169.254.169.254"}

// Unit returns the file by which systemd starts the runner on a machine of a cloud.
func Unit(cloud string) string {
	return strings.NewReplacer("CLOUD", cloud, "METADATA", metadataAddresses[cloud]).Replace(unit)
}
