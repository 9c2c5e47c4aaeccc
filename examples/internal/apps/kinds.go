package apps

import (
	"regexp"
	"slices"
	"strings"
)

// kind is a kind of the Kubernetes API.
type kind struct{ group, version, kind string }

// objectKind finds the version and the kind of objects in a text with templates.
var objectKind = regexp.MustCompile(`(?m)^apiVersion:\s*["']?([^\s"']+)["']?\s*\nkind:\s*["']?([A-Za-z0-9]+)`)

// foreignKinds returns the kinds of the app's manifests that neither Kubernetes nor the manifests define.
func (a *App) foreignKinds() (kinds []kind) {
	defined := map[string]bool{}
	definition := regexp.MustCompile(`(?m)^ {4,8}kind:\s*([A-Za-z0-9]+)\s*$`)
	for i := range a.config.Components {
		if m := a.config.Components[i].Manifest; m != nil && strings.Contains(m.Text, "kind: CustomResourceDefinition") {
			for _, match := range definition.FindAllStringSubmatch(m.Text, -1) {
				defined[match[1]] = true
			}
		}
	}
	for i := range a.config.Components {
		m := a.config.Components[i].Manifest
		if m == nil {
			continue
		}
		for _, match := range objectKind.FindAllStringSubmatch(m.Text, -1) {
			group, version, found := strings.Cut(match[1], "/")
			k := kind{group, version, match[2]}
			if !found || slices.Contains(builtIn, group) || strings.HasSuffix(group, ".k8s.io") &&
				!strings.HasPrefix(group, "gateway") || defined[k.kind] || slices.Contains(kinds, k) {
				continue
			}
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// clusterKinds are the foreign kinds without a namespace.
var clusterKinds = []string{"ClusterIssuer", "NodePool", "EC2NodeClass", "ProxyClass", "Connector", "ClusterPolicy",
	"NodeClass"}

// definition returns the definition of a kind whose objects may have any field.
func (k kind) definition() map[string]any {
	plural := strings.ToLower(k.kind) + "s"
	switch {
	case strings.HasSuffix(k.kind, "ss"):
		plural = strings.ToLower(k.kind) + "es"
	case strings.HasSuffix(k.kind, "y"):
		plural = strings.ToLower(strings.TrimSuffix(k.kind, "y")) + "ies"
	}
	scope := "Namespaced"
	if slices.Contains(clusterKinds, k.kind) {
		scope = "Cluster"
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + k.group},
		"spec": map[string]any{
			"group": k.group, "scope": scope,
			"names": map[string]any{"kind": k.kind, "plural": plural, "singular": strings.ToLower(k.kind)},
			"versions": []any{map[string]any{"name": k.version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
		},
	}
}
