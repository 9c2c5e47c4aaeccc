package risk

import (
	"slices"
	"strings"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/internal/tree"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// judgeHeld judges the Kubernetes object that a Terraform resource manages as a manifest, and
// returns the findings that found does not have yet.
func (j *judge) judgeHeld(found []diff.Finding) []diff.Finding {
	s := j.subject
	applied := []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Destroy}
	if s.Engine != diff.KindTerraform || !slices.Contains(applied, j.change.Action) {
		return nil
	}
	before, after, at, ok := heldManifests(s.Kind, s.Before, s.After)
	if !ok {
		return nil
	}
	shown := s.Shown
	if shown == nil {
		shown = func(tree.Step) string { return diff.MarkHidden }
	}
	said := map[string]bool{}
	for _, f := range found {
		said[f.Rule] = true
	}
	var out []diff.Finding
	add := func(before, after raw.Value) {
		for _, f := range JudgeManifest(before, after, at, shown) {
			if !said[f.Rule] {
				out = append(out, f)
			}
		}
	}
	if !get(before, "items").IsList() && !get(after, "items").IsList() {
		add(before, after)
		return out
	}
	was, is := nested(before), nested(after)
	for _, id := range sortedIDs(was, is) {
		add(was[id], is[id])
	}
	return out
}

// heldManifests returns the manifests of the object that a resource manages, and their path.
func heldManifests(kind string, before, after raw.Value) (was, is raw.Value, at tree.Path, ok bool) {
	switch kind {
	case "kubernetes_manifest":
		return get(before, "manifest"), get(after, "manifest"), tree.Path{}.Field("manifest"), true
	case "kubectl_manifest":
		was, _ := readDocument(get(before, "yaml_body"))
		is, _ := readDocument(get(after, "yaml_body"))
		return was, is, tree.Path{}.Field("yaml_body").Into("yaml"), true
	}
	object, known := typedObjects[versionSuffix.ReplaceAllString(kind, "")]
	if !known {
		return raw.Value{}, raw.Value{}, nil, false
	}
	return object.manifest(before), object.manifest(after), nil, true
}

// readDocument parses a text that holds one document of YAML or JSON. A missing value yields null.
func readDocument(v raw.Value) (doc raw.Value, ok bool) {
	t := text(v)
	if strings.TrimSpace(t) == "" {
		return raw.Value{}, true
	}
	// A single line could be anything; the added comment line makes it YAML.
	_, doc, _, ok = tree.Embedded("", t+"\n#")
	return doc, ok
}

var versionSuffix = lazyregexp.New(`_v\d+(beta\d+)?(_data)?$`)

// typedObject is the kind that a resource type of the Kubernetes provider manages.
type typedObject struct{ apiVersion, kind string }

const rbacVersion = "rbac.authorization.k8s.io/v1"

// typedObjects maps resource types, without their version suffix, to kinds.
var typedObjects = map[string]typedObject{
	"kubernetes_api_service":                      {"apiregistration.k8s.io/v1", "APIService"},
	"kubernetes_cluster_role":                     {rbacVersion, "ClusterRole"},
	"kubernetes_cluster_role_binding":             {rbacVersion, "ClusterRoleBinding"},
	"kubernetes_config_map":                       {"v1", "ConfigMap"},
	"kubernetes_cron_job":                         {"batch/v1", "CronJob"},
	"kubernetes_daemon_set":                       {"apps/v1", "DaemonSet"},
	"kubernetes_daemonset":                        {"apps/v1", "DaemonSet"},
	"kubernetes_default_service_account":          {"v1", "ServiceAccount"},
	"kubernetes_deployment":                       {"apps/v1", "Deployment"},
	"kubernetes_endpoints":                        {"v1", "Endpoints"},
	"kubernetes_horizontal_pod_autoscaler":        {"autoscaling/v2", "HorizontalPodAutoscaler"},
	"kubernetes_ingress":                          {"networking.k8s.io/v1", "Ingress"},
	"kubernetes_job":                              {"batch/v1", "Job"},
	"kubernetes_limit_range":                      {"v1", "LimitRange"},
	"kubernetes_mutating_webhook_configuration":   {"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"},
	"kubernetes_namespace":                        {"v1", "Namespace"},
	"kubernetes_network_policy":                   {"networking.k8s.io/v1", "NetworkPolicy"},
	"kubernetes_persistent_volume":                {"v1", "PersistentVolume"},
	"kubernetes_persistent_volume_claim":          {"v1", "PersistentVolumeClaim"},
	"kubernetes_pod":                              {"v1", "Pod"},
	"kubernetes_pod_disruption_budget":            {"policy/v1", "PodDisruptionBudget"},
	"kubernetes_replication_controller":           {"v1", "ReplicationController"},
	"kubernetes_resource_quota":                   {"v1", "ResourceQuota"},
	"kubernetes_role":                             {rbacVersion, "Role"},
	"kubernetes_role_binding":                     {rbacVersion, "RoleBinding"},
	"kubernetes_secret":                           {"v1", "Secret"},
	"kubernetes_service":                          {"v1", "Service"},
	"kubernetes_service_account":                  {"v1", "ServiceAccount"},
	"kubernetes_stateful_set":                     {"apps/v1", "StatefulSet"},
	"kubernetes_storage_class":                    {"storage.k8s.io/v1", "StorageClass"},
	"kubernetes_validating_webhook_configuration": {"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"},
	"kubernetes_labels":                           {},
	"kubernetes_annotations":                      {},
}

// manifest converts the attributes of a resource to the form of the API. Null stays null.
func (o typedObject) manifest(v raw.Value) raw.Value {
	if !v.IsObject() {
		return raw.Value{}
	}
	out := map[string]any{}
	for _, k := range v.Keys() {
		switch child, _ := v.Get(k); k {
		case "id", "timeouts", "api_version", "kind", "field_manager", "force":
		default:
			if value, ok := o.value(k, "", child); ok {
				out[fieldName(k, child)] = value
			}
		}
	}
	if o.kind == "" {
		// These resources set labels and annotations of an object that something else manages.
		metadata, _ := out["metadata"].(map[string]any)
		if metadata == nil {
			metadata = map[string]any{}
		}
		for _, k := range []string{"labels", "annotations"} {
			if m, ok := out[k]; ok {
				metadata[k] = m
				delete(out, k)
			}
		}
		out["metadata"] = metadata
		o = typedObject{text(get(v, "api_version")), text(get(v, "kind"))}
	}
	out["apiVersion"], out["kind"] = o.apiVersion, o.kind
	return raw.Of(out)
}

// value converts an attribute or a block. A block is a list of one object unless the API has a list
// there; the keys of a map stay unchanged. The result is false for a value that nobody set.
func (o typedObject) value(key, parent string, v raw.Value) (any, bool) {
	switch {
	case v.IsNull() || text(v) == "" && !v.IsObject() && !v.IsList():
		return nil, false
	case v.IsList() && v.Len() == 0:
		return nil, false
	case !v.IsList() || !v.At(0).IsObject():
		return v, true
	}
	list := make([]any, v.Len())
	for i := range list {
		fields := map[string]any{}
		for _, k := range v.At(i).Keys() {
			child, _ := v.At(i).Get(k)
			if value, ok := o.value(k, key, child); ok {
				fields[fieldName(k, child)] = value
			}
		}
		list[i] = fields
	}
	_, isList := listBlocks[key]
	one := key == "port" && parent == "service" || key == "secret" && o.kind != "ServiceAccount"
	if len(list) == 1 && (!isList || one) {
		return list[0], true
	}
	return list, true
}

// listBlocks maps the blocks that are lists in the API to their API names.
var listBlocks = map[string]string{
	"address": "addresses", "cluster_role_selectors": "clusterRoleSelectors", "container": "containers",
	"egress": "egress", "env": "env", "env_from": "envFrom", "ephemeral_container": "ephemeralContainers",
	"from": "from", "host_aliases": "hostAliases", "image_pull_secret": "imagePullSecrets",
	"image_pull_secrets": "imagePullSecrets", "ingress": "ingress", "init_container": "initContainers",
	"items": "items", "limit": "limits", "match_expressions": "matchExpressions", "metric": "metrics",
	"path": "paths", "port": "ports", "ports": "ports", "rule": "rules", "secret": "secrets",
	"sources": "sources", "subject": "subjects", "subset": "subsets", "sysctl": "sysctls", "tls": "tls",
	"to": "to", "toleration": "tolerations", "topology_spread_constraint": "topologySpreadConstraints",
	"volume": "volumes", "volume_claim_template": "volumeClaimTemplates", "volume_mount": "volumeMounts",
	"webhook": "webhooks",
}

// otherNames maps the provider's names to API names where these differ by more than camel case.
var otherNames = map[string]string{
	"host_pid": "hostPID", "host_ipc": "hostIPC", "cluster_ip": "clusterIP", "external_ips": "externalIPs",
	"load_balancer_ip": "loadBalancerIP", "non_resource_urls": "nonResourceURLs",
	"insecure_skip_tls_verify": "insecureSkipTLSVerify",
}

// fieldName returns the API name of an attribute or a block.
func fieldName(key string, v raw.Value) string {
	if name, ok := otherNames[key]; ok {
		return name
	}
	if name, ok := listBlocks[key]; ok && v.IsList() && v.At(0).IsObject() && key != "secret" {
		return name
	}
	head, rest, _ := strings.Cut(key, "_")
	for word := range strings.SplitSeq(rest, "_") {
		if word != "" {
			head += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return head
}

// Places of a held object that rules judge, by API names: some with everything below them, others
// as wholes.
var (
	judgedBelow = textSetOf(raw.Of([]any{
		"roleRef", "subjects", "securityContext", "hostPath", "hostNetwork", "hostPID", "hostIPC", "image",
		"serviceAccountName", "verbs", "apiGroups", "resourceNames", "nonResourceURLs", "aggregationRule",
		"loadBalancerSourceRanges", "externalIPs", "externalName", "ipBlock", "kind", "apiVersion", "yaml_body",
	}))
	judgedAsWhole = textSetOf(raw.Of([]any{
		"manifest", "spec", "template", "jobTemplate", "containers", "initContainers", "ephemeralContainers",
		"volumes", "rules", "webhooks", "clientConfig", "ingress", "egress", "from", "to",
	}))
)

// unjudgedHeld finds a value of the held object that is known only after apply and that a rule would
// judge. It returns the path of its field.
func (j *judge) unjudgedHeld() (path string, found bool) {
	s := j.subject
	if _, _, _, ok := heldManifests(s.Kind, s.Before, s.After); !ok || !slices.Contains(actionsPresent, j.change.Action) {
		return "", false
	}
	for _, i := range j.fields {
		t := s.Differences[i]
		if j.change.Fields[i].After.Unknown && markedAt(s.Unknown, t.Path) && judgedPlace(s, t.Path) {
			return j.change.Fields[i].Path, true
		}
	}
	return "", false
}

// judgedPlace reports whether rules judge the value at a path of a held object.
func judgedPlace(s *Subject, p tree.Path) bool {
	if s.Kind == "kubernetes_manifest" && len(p) > 0 && p[0].Key != "manifest" {
		return false
	}
	last := ""
	for _, step := range p {
		if step.Key == "" {
			continue
		}
		last = apiName(step.Key)
		if judgedBelow[last] || last == "resources" && strings.Contains(s.Kind, "role") {
			return true
		}
		if last == "data" && text(get(get(s.After, "metadata").At(0), "name")) == "aws-auth" {
			return true
		}
	}
	return judgedAsWhole[last]
}

// markedAt reports whether a tree of marks has one at, above or below a path. List indexes are
// ignored.
func markedAt(m raw.Value, p tree.Path) bool {
	switch {
	case m.IsTrue():
		return true
	case len(p) == 0:
		return anyTrue(m)
	case p[0].Key != "":
		child, _ := m.Get(p[0].Key)
		return markedAt(child, p[1:])
	}
	return slices.ContainsFunc(oneOrMore(m), func(e raw.Value) bool { return markedAt(e, p[1:]) })
}

// apiName returns the API name of an attribute, or of a block that may be a list in the API.
func apiName(key string) string {
	if name, ok := listBlocks[key]; ok {
		return name
	}
	return fieldName(key, raw.Value{})
}
