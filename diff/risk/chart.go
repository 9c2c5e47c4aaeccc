package risk

import (
	"maps"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// releaseRules returns the rules about custom resources from which a controller releases a chart.
func releaseRules() []Rule {
	kinds := []string{"Application.argoproj.io", "ApplicationSet.argoproj.io", "HelmRelease.helm.toolkit.fluxcd.io",
		"HelmChart.helm.cattle.io", "HelmChartConfig.helm.cattle.io", "HelmRelease.helm.crossplane.io",
		"Release.helm.crossplane.io"}
	return []Rule{
		{
			Name: "chart-values", Source: k8sDocs + "concepts/security/pod-security-standards/", Kinds: kinds,
			Actions: actionsPresent,
			Paths:   []string{"spec"},
			When: "a value of the chart that has the name of a setting of pods newly asks for the node, or the values " +
				"cannot be read",
			holds:   func(l subjectView) bool { return hasNew(chartValues(l.before), chartValues(l.after)) },
			Message: "values of the chart request rights on the node, or cannot be read",
		},
		{
			Name: "chart-source", Source: "https://argo-cd.readthedocs.io/en/stable/user-guide/helm/", Kinds: kinds,
			Actions: actionsChange, Paths: []string{"**.repoURL", "**.repo", "**.repository", "**.chart.name",
				"spec.chart.spec.chart", "**.sourceRef", "**.chart"},
			When:    "the place of the chart or of the manifests is another one",
			holds:   func(l subjectView) bool { return hasNew(chartSources(l.before), chartSources(l.after)) },
			Message: "what is applied comes from another source",
		},
	}
}

// chartValues returns the risky chart values of a custom resource, in the form of riskyValues.
func chartValues(v raw.Value) map[string]bool {
	out := map[string]bool{}
	fieldsIn(get(v, "spec"), maxSearch, func(k string, child raw.Value) bool {
		switch k {
		case "values", "valuesContent", "valuesObject", "set", "parameters":
			release := map[string]any{"values": child}
			if k == "set" || k == "parameters" {
				release = map[string]any{"set": child}
			}
			if child.IsObject() {
				risky("", "", child, maxSearch, out)
			} else {
				maps.Copy(out, riskyValues(raw.Of(release)))
			}
			return false
		}
		return true
	})
	return out
}

// chartSources returns the places from which a release takes its chart or manifests.
func chartSources(v raw.Value) map[string]bool {
	var out map[string]bool
	fieldsIn(get(v, "spec"), maxSearch, func(k string, child raw.Value) bool {
		switch k {
		case "repoURL", "repo", "repository", "chart":
			if t := text(child); t != "" {
				out = addToSet(out, k+" "+t)
			}
		case "sourceRef":
			out = addToSet(out, text(get(child, "kind"))+" "+text(get(child, "namespace"))+"/"+text(get(child, "name")))
		}
		return k != "values" && k != "valuesObject"
	})
	return out
}
