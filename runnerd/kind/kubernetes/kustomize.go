package kubernetes

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
)

// In the file system of kustomize, the source and the overlay are in separate directories.
const (
	sourceDir  = "/source"
	overlayDir = "/overlay"
)

// maxOutput bounds the output of kustomize, in bytes.
const maxOutput = maxText

// kustomize runs a kustomization of the source, and returns its output. It can read only the
// files of the source, fetches nothing and runs no program. It may need any amount of memory
// and time, so builds call it in a separate process.
func kustomize(files []artifact.File, spec api.KustomizeSpec) (string, error) {
	at := path.Clean(spec.Path)
	if path.IsAbs(spec.Path) || at == ".." || strings.HasPrefix(at, "../") {
		return "", fmt.Errorf("kustomize.path %q is not in the source; write it from the source's root",
			diff.EscapeText(spec.Path))
	}
	tree, err := newSourceFS(files)
	if err != nil {
		return "", err
	}
	root := path.Join(sourceDir, at)
	if !tree.IsDir(root) {
		return "", fmt.Errorf("kustomize.path: there is no directory %q in the source; write it from the source's root",
			diff.EscapeText(spec.Path))
	}
	if len(spec.Patches) > 0 {
		if err := overlay(tree, root, spec.Patches); err != nil {
			return "", err
		}
		root = overlayDir
	}
	options := krusty.MakeDefaultOptions() // plugins are off; links in the tree are already resolved
	switch spec.LoadRestrictor {
	case "", "rootOnly":
		options.LoadRestrictions = types.LoadRestrictionsRootOnly
	case "none":
		options.LoadRestrictions = types.LoadRestrictionsNone
	default:
		return "", fmt.Errorf("kustomize.load_restrictor %q is neither rootOnly nor none",
			diff.EscapeText(spec.LoadRestrictor))
	}
	return runKustomize(tree, root, options)
}

// runKustomize runs kustomize in this process.
func runKustomize(tree *sourceFS, root string, options *krusty.Options) (string, error) {
	made, err := krusty.MakeKustomizer(options).Run(tree, root)
	var text []byte
	if err == nil {
		text, err = made.AsYaml()
	}
	switch {
	case tree.rejected != nil:
		return "", tree.rejected
	case err != nil:
		return "", fmt.Errorf("kustomize: %s; correct the kustomization", kustomizeError(err))
	case len(text) > maxOutput:
		return "", errOutputTooLarge
	}
	return string(text), nil
}

// errOutputTooLarge is the error for too much output of kustomize.
var errOutputTooLarge = fmt.Errorf("kustomize makes more than %d MiB; divide it into several components", maxOutput>>20)

// kustomizeError returns an error of kustomize as text, with paths as in the source.
func kustomizeError(err error) string {
	words := strings.NewReplacer(sourceDir+"/", "", overlayDir+"/", "").Replace(err.Error())
	if len(words) > 2000 {
		words = words[:2000] + "…"
	}
	return diff.EscapeText(strings.ReplaceAll(words, "\n", " "))
}

// overlay writes a kustomization that applies patches to another one. It contains
// the patches inline, so that the load restrictor applies only to the files that the
// kustomization itself loads.
func overlay(tree *sourceFS, root string, patches []string) error {
	// kustomize ignores the order of fields, but not that of patches.
	made := map[string]any{"apiVersion": types.KustomizationVersion, "kind": types.KustomizationKind,
		"resources": []string{"../" + strings.TrimPrefix(root, "/")}}
	var list []types.Patch
	for _, name := range patches {
		text, err := tree.FileSystem.ReadFile(path.Join(sourceDir, path.Join("/", name)))
		if err != nil {
			return fmt.Errorf("kustomize.patches: there is no file %q in the source; write it from the source's root",
				diff.EscapeText(name))
		}
		found, err := patchesIn(name, string(text))
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	made["patches"] = list
	text, err := yaml.Marshal(made)
	if err != nil {
		return fmt.Errorf("write the kustomization of the patches: %w", err)
	}
	return tree.WriteFile(path.Join(overlayDir, "kustomization.yaml"), text)
}

// patchesIn returns the patches of a file. Each document is either a strategic merge patch,
// which looks like a part of its object, or has target and patch, like an element of a
// kustomization's patches, for a JSON patch (RFC 6902).
func patchesIn(name, text string) ([]types.Patch, error) {
	documents, err := split(text)
	if err != nil {
		return nil, err
	}
	var list []types.Patch
	for _, d := range documents {
		var probe any
		if err := yaml.UnmarshalStrict([]byte(d.text), &probe); err != nil {
			return nil, fmt.Errorf("patch %s, %s: %s; correct the YAML", diff.EscapeText(name), d.place(), d.inFile(err))
		}
		whole, ok := probe.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("patch %s, %s: a JSON patch does not say which object it is for; write target, and below "+
				"patch the list as a text", diff.EscapeText(name), d.place())
		}
		if _, inner := whole["patch"]; !inner || whole["apiVersion"] != nil {
			list = append(list, types.Patch{Patch: d.text})
			continue
		}
		var one types.Patch
		if err := yaml.UnmarshalStrict([]byte(d.text), &one); err != nil || one.Path != "" {
			return nil, fmt.Errorf("patch %s, %s: it is no patch; write target, and patch as a text",
				diff.EscapeText(name), d.place())
		}
		list = append(list, one)
	}
	return list, nil
}
