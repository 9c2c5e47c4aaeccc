package terraform

import (
	"fmt"
	"io/fs"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

const (
	// formatVersion is the version of the packing rules of a module's artifact.
	formatVersion = "1"
	// annotationDirectory is the root module's directory in the packed tree.
	annotationDirectory = "dev.nuon.directory"
	// lockFileName is the file in which Terraform records the chosen providers.
	lockFileName = ".terraform.lock.hcl"
)

// directoryOf checks that an artifact is a module that this program can read, and returns
// the root module's directory.
func directoryOf(packed artifact.Artifact) (string, error) {
	if packed.Type != artifact.MediaTerraform {
		return "", fmt.Errorf("the artifact is of type %s, not a Terraform module; this is a fault of the control plane, "+
			"report it", packed.Type)
	}
	if version := packed.Annotations[artifact.AnnotationFormat]; version != formatVersion {
		return "", fmt.Errorf("the module was packed in format %q, this runner reads format %s; update the runner, or "+
			"build the component again", version, formatVersion)
	}
	dir := packed.Annotations[annotationDirectory]
	if !fs.ValidPath(dir) {
		return "", fmt.Errorf("the artifact names no module directory inside itself; build the component again")
	}
	return dir, nil
}
