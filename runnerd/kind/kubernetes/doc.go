// Package kubernetes deploys components of kind kubernetes_manifest: it builds them, plans
// an apply, applies what was approved, and deletes objects that are no longer desired.
//
// It owns which objects belong to a component: by the inventory that the control plane stores,
// and by labels on the objects themselves. Both must agree before an object is deleted.
// It owns the request that applies an object, which is the same for plan and apply:
// a server-side apply by the field manager cluster.FieldManager, which takes no field from
// another manager unless the object allows that.
//
// It uses the order of kinds from fluxcd/pkg/ssa, but not the rest of that package:
// its apply takes over every field by force, and its normalization converts objects to Go
// types, which lose unknown fields, so that the server could not report them.
//
// It never decides whether a plan may be applied: its Kind implements the steps that package
// deploy calls. It never reads a file of the machine, never runs a foreign program,
// and accesses no registry other than those of the job.
package kubernetes

const (
	// labelInstall and labelComponent identify the owner of an object: an install,
	// and a component on it.
	labelInstall   = "nuon.dev/install"
	labelComponent = "nuon.dev/install-component"
	// annotationForce with the value "true" on an object allows an apply to take over
	// fields of other managers.
	annotationForce = "nuon.dev/force-conflicts"
	// annotationRecreate with the value "true" on an object allows an apply to delete
	// and recreate it if it cannot be changed in place.
	annotationRecreate = "nuon.dev/recreate"

	// annotationRelease and annotationReleaseSpace are set by Helm on the objects of a release.
	annotationRelease      = "meta.helm.sh/release-name"
	annotationReleaseSpace = "meta.helm.sh/release-namespace"

	// formatVersion is the version of the packing rules of an artifact, and
	// fileName its only file.
	formatVersion = "1"
	fileName      = "manifest.yaml"
	// annotationTemplates states whether the manifest of an artifact has
	// templates: "true" or "false".
	annotationTemplates = "dev.nuon.templates"
)

// workers is the number of concurrent requests.
const workers = 8
