// Package manifest deploys components of kind kubernetes_manifest: it builds them, plans what an apply would do, applies what was approved,
// and takes away what is wanted no more.
//
// It owns which objects belong to a component: by the inventory that the control plane remembers and by labels on the objects themselves,
// both of which must agree before anything is taken away. It owns the request that applies an object, which plan and apply send alike: a
// server-side apply by the field manager cluster.FieldManager that takes no field from another manager unless the object asks for that.
//
// Of fluxcd/pkg/ssa it uses the order of kinds. The rest of that is not used: its apply takes every field over by force, and its normalising
// goes through Go types, which lose the fields that they do not know, so that the server could not say that there are none such.
//
// It never decides whether a plan may be applied: its Kind does the steps that package deploy asks for. It never reads a file of the
// machine, never runs a program, and never asks a registry other than those of the job.
package manifest

const (
	// labelInstall and labelComponent say to whom an object belongs: an install, and a component on it.
	labelInstall   = "nuon.dev/install"
	labelComponent = "nuon.dev/install-component"
	// annotationForce on an object, "true", lets an apply take fields over that others manage.
	annotationForce = "nuon.dev/force-conflicts"
	// annotationRecreate on an object, "true", lets an apply delete it and make it anew where it cannot change in place.
	annotationRecreate = "nuon.dev/recreate"

	// annotationRelease and annotationReleaseSpace are what Helm writes on the objects of a release.
	annotationRelease      = "meta.helm.sh/release-name"
	annotationReleaseSpace = "meta.helm.sh/release-namespace"

	// formatVersion is the version of the packing rules of an artifact, and fileName the one file in it.
	formatVersion = "1"
	fileName      = "manifest.yaml"
	// annotationTemplates of an artifact says whether its manifest holds templates: "true" or "false".
	annotationTemplates = "dev.nuon.templates"
)

// workers is how many requests are under way at once.
const workers = 8
