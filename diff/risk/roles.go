package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// capability is a right that a finding names when a role gains it.
// https://kubernetes.io/docs/concepts/security/rbac-good-practices/
type capability struct {
	message string
	// A role rule with one element of each of groups, resources and verbs grants the capability.
	groups, resources, verbs []string
	// cluster marks a right on the cluster, as opposed to objects in namespaces.
	cluster bool
}

var (
	reading = []string{"get", "list", "watch"}
	writing = []string{"create", "update", "patch"}
	rbacAPI = []string{"rbac.authorization.k8s.io"}
	coreAPI = []string{""}
)

// roleCapabilities lists the rights that findings name, strongest first.
var roleCapabilities = []capability{
	{message: "act as other users, groups or service accounts", groups: []string{"", "authentication.k8s.io"},
		resources: []string{"users", "groups", "serviceaccounts", "uids", "userextras"}, verbs: []string{"impersonate"},
		cluster: true},
	{message: "give rights that it lacks itself", groups: rbacAPI, resources: []string{"roles", "clusterroles"},
		verbs: []string{"escalate", "bind"}},
	{message: "read secrets", groups: coreAPI, resources: []string{"secrets"}, verbs: reading},
	{message: "write secrets", groups: coreAPI, resources: []string{"secrets"}, verbs: writing},
	{message: "exec into pods", groups: coreAPI, resources: []string{"pods/exec", "pods/attach"},
		verbs: []string{"create", "get"}},
	{message: "mint tokens of service accounts", groups: coreAPI, resources: []string{"serviceaccounts/token"},
		verbs: []string{"create"}},
	{message: "add containers to running pods", groups: coreAPI, resources: []string{"pods/ephemeralcontainers"},
		verbs: writing},
	{message: "start pods, and so use every account and secret beside them", groups: []string{"", "apps", "batch"},
		resources: []string{"pods", "replicationcontrollers", "deployments", "daemonsets", "statefulsets", "replicasets",
			"jobs", "cronjobs"},
		verbs: writing},
	{message: "connect to pods and services", groups: coreAPI,
		resources: []string{"pods/portforward", "pods/proxy", "services/proxy"}, verbs: []string{"create", "get", "update"}},
	{message: "change roles and bindings", groups: rbacAPI,
		resources: []string{"roles", "clusterroles", "rolebindings", "clusterrolebindings"}, verbs: writing},
	{message: "reach the kubelet of every node", groups: coreAPI, resources: []string{"nodes/proxy"},
		verbs: []string{"get", "create"}, cluster: true},
	{message: "change nodes", groups: coreAPI, resources: []string{"nodes"}, verbs: append([]string{"delete"}, writing...),
		cluster: true},
	{message: "make volumes of any source", groups: coreAPI, resources: []string{"persistentvolumes"},
		verbs: []string{"create"}, cluster: true},
	{message: "change what admission checks", groups: []string{"admissionregistration.k8s.io"},
		resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies",
			"validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"},
		verbs: append([]string{"delete"}, writing...), cluster: true},
	{message: "change custom resource definitions", groups: []string{"apiextensions.k8s.io"},
		resources: []string{"customresourcedefinitions"}, verbs: append([]string{"delete"}, writing...), cluster: true},
	{message: "approve or sign certificates", groups: []string{"certificates.k8s.io"},
		resources: []string{"certificatesigningrequests/approval", "certificatesigningrequests/status", "signers"},
		verbs:     []string{"update", "patch", "approve", "sign"}, cluster: true},
	{message: "change or delete namespaces", groups: coreAPI, resources: []string{"namespaces"},
		verbs: []string{"update", "patch", "delete"}, cluster: true},
	{message: "use security context constraints", groups: []string{"security.openshift.io"},
		resources: []string{"securitycontextconstraints"}, verbs: []string{"use"}, cluster: true},
	{message: "read the logs of pods", groups: coreAPI, resources: []string{"pods/log"}, verbs: []string{"get"}},
}

// Texts for other gains of a role.
const (
	gainsAll    = "do everything"
	gainsPaths  = "reach every path of the API"
	gainsRead   = "read more kinds of objects"
	gainsWrite  = "create or change more kinds of objects"
	gainsMore   = "and more"
	gainsDelete = "delete more kinds of objects"
	everyPlace  = "in all namespaces: "
	onCluster   = "on the cluster: "
	onSomeNames = " of certain names"
)

// roleGains lists what a role newly allows, as texts for the finding.
func roleGains(l subjectView) []string {
	was, is := roleGrants(l.before), roleGrants(l.after)
	if all(is) {
		return []string{gainsAll}
	}
	var here, cluster []string
	for _, c := range roleCapabilities {
		words := c.message
		switch had, has := c.level(was), c.level(is); {
		case has <= had:
			continue
		case has == 1:
			words += onSomeNames
		}
		if c.cluster {
			cluster = append(cluster, words)
		} else {
			here = append(here, words)
		}
	}
	if len(here)+len(cluster) == 0 {
		return otherGains(was, is)
	}
	if strings.HasPrefix(l.kind, "ClusterRole") && len(here) > 0 {
		here[0] = everyPlace + here[0]
	}
	if len(cluster) > 0 {
		cluster[0] = onCluster + cluster[0]
	}
	all := slices.Concat(here, cluster)
	if len(all) > maxGains {
		all = append(all[:maxGains], gainsMore)
	}
	return all
}

// maxGains bounds how many gains of a role are listed; the strongest come first.
const maxGains = 8

// otherGains describes, by verb, gains of a role that are not in roleCapabilities.
func otherGains(was, is []grant) []string {
	kinds := []struct {
		words string
		verbs []string
	}{{gainsRead, reading}, {gainsWrite, writing}, {gainsDelete, []string{"delete", "deletecollection"}}}
	gained := map[string]bool{}
	had := newCoverage(roleComparators, was)
	for _, g := range is {
		if had.covers(g) {
			continue
		}
		gained[gainsPaths] = gained[gainsPaths] || slices.Contains(g.dims[4].items, "*")
		for _, k := range kinds {
			gained[k.words] = gained[k.words] || !slices.Contains(g.dims[0].items, "none") &&
				slices.ContainsFunc(k.verbs, func(verb string) bool { return g.gains(verb, had) })
		}
	}
	var out []string
	for _, words := range []string{gainsRead, gainsWrite, gainsDelete, gainsPaths} {
		if gained[words] {
			out = append(out, words)
		}
	}
	return out
}

// gains reports whether a grant of a role newly allows a verb.
func (g grant) gains(verb string, had *coverage) bool {
	if !slices.Contains(g.dims[2].items, verb) && !slices.Contains(g.dims[2].items, "*") {
		return false
	}
	one := grant{dims: slices.Clone(g.dims)}
	one.dims[2] = itemsOnly(verb)
	return !had.covers(one)
}

// all reports whether a role allows every verb on every resource of every group.
func all(grants []grant) bool {
	return slices.ContainsFunc(grants, func(g grant) bool {
		return slices.Contains(g.dims[0].items, "*") && slices.Contains(g.dims[1].items, "*") &&
			slices.Contains(g.dims[2].items, "*")
	})
}

// level returns 2 if the grants give the capability, 1 if only for objects with certain names, and 0
// otherwise.
func (c capability) level(grants []grant) int {
	level := 0
	for _, g := range grants {
		if !overlap(g.dims[0].items, c.groups, wordCovers) || !overlap(g.dims[1].items, c.resources, resourceCovers) ||
			!overlap(g.dims[2].items, c.verbs, wordCovers) {
			continue
		}
		if slices.Contains(g.dims[3].items, "*") {
			return 2
		}
		level = 1
	}
	return level
}

func overlap(has, needs []string, covers func(outer, inner string) bool) bool {
	return slices.ContainsFunc(has, func(h string) bool {
		return slices.ContainsFunc(needs, func(n string) bool { return covers(h, n) })
	})
}

// GainTexts returns all texts with which the rule role-widens describes what a role gains.
func GainTexts() []string {
	out := []string{gainsAll, gainsPaths, gainsRead, gainsWrite, gainsDelete, gainsMore}
	for _, c := range roleCapabilities {
		for _, scope := range []string{"", everyPlace, onCluster} {
			out = append(out, scope+c.message, scope+c.message+onSomeNames)
		}
	}
	return out
}

// aggregates returns the aggregation labels of a ClusterRole. Each adds its rules to another role.
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
func aggregates(v raw.Value) map[string]bool {
	var out map[string]bool
	labels := get(v, "metadata", "labels")
	for _, k := range labels.Keys() {
		if strings.HasPrefix(k, "rbac.authorization.k8s.io/aggregate-to-") && text(get(labels, k)) == "true" {
			out = addToSet(out, k)
		}
	}
	return out
}
