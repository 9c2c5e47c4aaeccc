package planpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/image"
)

// builtIn evaluates a policy of nuon itself on a plan.
func builtIn(p api.PolicySpec, in Input) []diff.PolicyMessage {
	if p.Name != api.MirroredImagesPolicy {
		return notEvaluated("this version of the runner does not know the policy; update the runner")
	}
	return mirroredImages(in)
}

// mirroredImages denies objects with images that the cluster would pull from outside the install's registry.
func mirroredImages(in Input) []diff.PolicyMessage {
	if in.Registry == "" {
		return notEvaluated("the install has no registry")
	}
	var messages []diff.PolicyMessage
	for _, object := range in.Objects {
		images := image.InObject(object)
		slices.Sort(images)
		for _, address := range slices.Compact(images) {
			if strings.HasPrefix(address, in.Registry+"/") {
				continue
			}
			messages = append(messages, diff.PolicyMessage{Status: diff.PolicyDeny, Object: titleOf(object),
				Text: fmt.Sprintf("image %s is not in the install's registry, %s", address, in.Registry)})
		}
	}
	return messages
}
