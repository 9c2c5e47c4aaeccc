package terraform

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/tfmodule"
	"github.com/nuon-toolkit/nuon/runnerd/kind/terraform/modules"
	"github.com/nuon-toolkit/nuon/runnerd/tfbinary"
)

const (
	// formatVersion is the version of the packing rules of a module's artifact.
	formatVersion = "1"
	// annotationDirectory is the root module's directory in the packed tree.
	annotationDirectory = "dev.nuon.directory"
	// annotationTool is the tool that the packed modules and the lock file are for: a value of modules.Tool. Artifacts
	// that Terraform built without modules from outside of their repository do not have it.
	annotationTool = "dev.nuon.tool"
	// lockFileName is the file in which Terraform records the chosen providers.
	lockFileName = ".terraform.lock.hcl"
)

// directoryOf checks that an artifact is a module that this program can read, and returns
// the root module's directory.
func directoryOf(packed artifact.Artifact) (string, error) {
	if packed.Type != artifact.MediaTerraform {
		return "", fmt.Errorf("the artifact is of type %s, not a Terraform module; this is a bug in the control plane; "+
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

// builtWith returns the product that an artifact can be used with, or "" if any can.
func builtWith(packed artifact.Artifact) tfbinary.Product {
	if named := packed.Annotations[annotationTool]; named != "" {
		return productOf(modules.Tool(named))
	}
	return ""
}

// checkPackedModules reports whether an artifact has packed modules. It returns an error if the artifact
// is for another tool than the runner's, and if the module calls modules that were not packed: a deploy
// downloads none.
func checkPackedModules(
	ctx context.Context, packed artifact.Artifact, module *tfmodule.Module, tool tfbinary.Tool,
) (bool, error) {
	wanted, hasModules := builtWith(packed), len(module.Remote) > 0
	if wanted == "" && hasModules {
		call := module.Remote[0]
		return false, fmt.Errorf("%s: module %q (%s) is not in the artifact, and a deploy downloads no modules; build the "+
			"component again", call.Position, call.Module, call.Source)
	}
	if wanted == "" {
		return false, nil
	}
	product, err := tool.Product(ctx)
	if err != nil {
		return false, err
	}
	switch {
	case product == wanted:
		return hasModules, nil
	case hasModules:
		return false, fmt.Errorf("the modules in the artifact were packed for %s, and this runner has %s %s: the same "+
			"addresses mean other modules there; use the same program on the build runner and on this runner",
			wanted, product, tool.Version)
	}
	return false, fmt.Errorf("the artifact was built with %s, and this runner has %s %s: the same addresses mean "+
		"providers of another registry there; use the same program on the build runner and on this runner",
		wanted, product, tool.Version)
}

// toolOf returns the tool that resolves modules for a program.
func toolOf(product tfbinary.Product) modules.Tool {
	if product == tfbinary.OpenTofu {
		return modules.OpenTofu
	}
	return modules.Terraform
}

// productOf returns the name of a tool for people.
func productOf(tool modules.Tool) tfbinary.Product {
	if tool == modules.OpenTofu {
		return tfbinary.OpenTofu
	}
	return tfbinary.Terraform
}
