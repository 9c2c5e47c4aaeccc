package appconfig

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// This file has what the checks need of the table of template paths. It is made at its first use, because most
// commands of nuon need none of it.

// pathRoots maps the keys below .nuon to the keys below each. nil means that any name may follow.
var pathRoots = sync.OnceValue(func() map[string][]string {
	roots := map[string][]string{}
	for _, root := range keysBelow("", nil) {
		roots[root] = keysBelow(root, nil)
		if slices.ContainsFunc(roots[root], isVariable) {
			roots[root] = nil
		}
	}
	return roots
})

var (
	componentFields = fieldsBelow("components.COMPONENT")
	actionFields    = fieldsBelow("actions.workflows.ACTION")
	secretFields    = fieldsBelow("secrets.SECRET")
	imageFields     = fieldsBelow("components.COMPONENT.outputs.image")
)

// outputRoots are the outputs that each kind of component can have. The outputs of a kind that is
// not listed depend on its module.
var outputRoots = sync.OnceValue(func() map[string][]string {
	roots := map[string][]string{}
	for _, kind := range slices.Concat(imageKinds, objectKinds) {
		roots[kind] = keysBelow("components.COMPONENT.outputs",
			func(p TemplatePath) bool { return slices.Contains(p.Kinds, kind) })
	}
	return roots
})

// The clouds.
const (
	cloudAWS   = "aws"
	cloudAzure = "azure"
	cloudGCP   = "gcp"
)

var clouds = []string{cloudAWS, cloudAzure, cloudGCP}

// cloudLabels are the names of the clouds in messages.
var cloudLabels = map[string]string{cloudAWS: "AWS", cloudAzure: "Azure", cloudGCP: "GCP"}

// accountFields are the keys of .nuon.cloud_account, by cloud.
var accountFields = sync.OnceValue(func() map[string][]string { return byCloud("cloud_account.") })

// stackOutputs are the outputs of the customer's stack, by cloud. Those of GCP depend on the
// modules of the stack, so others are possible there.
var stackOutputs = sync.OnceValue(func() map[string][]string {
	return map[string][]string{
		cloudAWS: stackOutputsOf(cloudAWS), cloudAzure: stackOutputsOf(cloudAzure), cloudGCP: stackOutputsOf(cloudGCP),
	}
})

// sharedStackOutputs exist on every cloud.
var sharedStackOutputs = sync.OnceValue(func() []string { return slices.DeleteFunc(stackOutputsOf(""), isVariable) })

// fieldsBelow returns a function that returns the keys directly below a path.
func fieldsBelow(path string) func() []string {
	return sync.OnceValue(func() []string { return keysBelow(path, nil) })
}

// byCloud returns the keys below a path, which ends with the name of a cloud, by cloud.
func byCloud(prefix string) map[string][]string {
	all := map[string][]string{}
	for _, cloud := range clouds {
		all[cloud] = keysBelow(prefix+cloud, nil)
	}
	return all
}

// stackOutputsOf returns the outputs that only the stacks of a cloud report; those of all clouds for "".
func stackOutputsOf(cloud string) []string {
	return keysBelow("install_stack.outputs", func(p TemplatePath) bool { return p.Cloud == cloud })
}

const nestedStacksOutput = "custom_nested_stacks"

// cloudsOfOutput returns the clouds whose stacks have an output.
func cloudsOfOutput(name string) []string {
	var found []string
	for _, cloud := range clouds {
		if slices.Contains(stackOutputs()[cloud], name) {
			found = append(found, cloudLabels[cloud])
		}
	}
	return found
}

// cloudOf returns the cloud of a runner type or of a stack type, empty if it has none.
func cloudOf(kind string) string {
	cloud, _, _ := strings.Cut(kind, "-")
	if slices.Contains(clouds, cloud) {
		return cloud
	}
	return ""
}

// rootNames returns the keys below .nuon.
func rootNames() []string { return slices.Collect(maps.Keys(pathRoots())) }
