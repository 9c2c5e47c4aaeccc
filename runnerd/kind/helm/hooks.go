package helm

import (
	"encoding/json"
	"slices"

	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
)

// hookAnnotation makes an object a hook. Helm creates a hook with it.
const hookAnnotation = "helm.sh/hook"

// hookLeftovers returns the hooks whose live objects an earlier run left: a record has a run of the hook, and the
// object has the annotation of a hook. It is never nil. Helm deletes every other object with the name of a hook, too.
func (s *session) hookLeftovers(answers []helmsdk.DryRunResult) map[manifest.ID]bool {
	var ran []manifest.ID
	for _, release := range s.history {
		for _, hook := range release.Hooks {
			if hook.Ran {
				ran = append(ran, s.idOf(hook.Manifest))
			}
		}
	}
	made := map[manifest.ID]bool{}
	for _, each := range answers {
		named := func(id manifest.ID) bool { return isNamed(each, id) }
		if each.Hook && hasHookAnnotation(each.Live) && slices.ContainsFunc(ran, named) {
			made[idOf(each)] = true
		}
	}
	return made
}

// replacingHooks returns the hooks that an uninstallation runs and that delete an object which is no leftover. They
// are those of the newest revision, which may have failed.
func (s *session) replacingHooks(d helmsdk.Decision, answers []helmsdk.DryRunResult,
	leftovers map[manifest.ID]bool) []manifest.Source {
	if len(s.history) == 0 {
		return nil
	}
	var hooks []helmsdk.Hook
	for _, hook := range s.history[len(s.history)-1].Hooks {
		id := s.idOf(hook.Manifest)
		if hook.RunsAt(d.Action) && slices.ContainsFunc(answers, func(a helmsdk.DryRunResult) bool {
			return a.Hook && a.Live != nil && !leftovers[idOf(a)] && isNamed(a, id)
		}) {
			hooks = append(hooks, hook)
		}
	}
	return []manifest.Source{{Name: "the hooks of the release", Data: hooksText(hooks)}}
}

// replacedItems returns the items of lists that are hooks and that replace an object, with the reason. The items have
// no annotation, so the differ compares them as objects of the release.
func replacedItems(answers []helmsdk.DryRunResult) map[manifest.ID]string {
	made := map[manifest.ID]string{}
	for _, each := range answers {
		if each.Hook && each.Live != nil && !hasHookAnnotation(each.Rendered) {
			made[idOf(each)] = "it is in a list that is a hook, and Helm deletes the object that has its name first"
		}
	}
	return made
}

// isNamed reports whether an answer is about the object of a document, which does not state whether its kind is
// namespaced.
func isNamed(answer helmsdk.DryRunResult, document manifest.ID) bool {
	if answer.Ref.Namespace == "" {
		document.Namespace = ""
	}
	return document == idOf(answer)
}

// hasHookAnnotation reports whether an object in JSON has the annotation of a hook.
func hasHookAnnotation(object []byte) bool {
	var read struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	return json.Unmarshal(object, &read) == nil && read.Metadata.Annotations[hookAnnotation] != ""
}
