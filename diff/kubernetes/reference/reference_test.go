package reference

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// objects parses YAML documents. A kind with an example.com group is custom.
func objects(t *testing.T, text string) []Object {
	t.Helper()
	var all []Object
	for document := range strings.SplitSeq(text, "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		encoded, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		v, err := raw.Parse(encoded)
		if err != nil {
			t.Fatal(err)
		}
		group, _, grouped := strings.Cut(raw.TextAt(v, "apiVersion"), "/")
		if !grouped {
			group = ""
		}
		metadata, _ := v.Get("metadata")
		all = append(all, Object{Value: v, Custom: strings.HasSuffix(group, "example.com"), ID: manifest.ID{
			Group: group, Kind: raw.TextAt(v, "kind"), Name: raw.TextAt(metadata, "name"),
			Namespace: raw.TextAt(metadata, "namespace"),
		}})
	}
	return all
}

// found describes the broken references of a change, one per line.
func found(t *testing.T, before, after string) string {
	t.Helper()
	var lines []string
	for _, b := range Find(objects(t, before), objects(t, after)) {
		line := string(b.Rule) + " " + b.Target.Address()
		if b.Part != "" {
			line += " " + b.Part
		}
		for _, user := range b.Users {
			line += " <- " + user.Address()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func object(apiVersion, kind, name, rest string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: a}\n%s\n---\n", apiVersion, kind, name,
		rest)
}

// TestEveryForm removes the target of each form of reference, and expects one finding that names the user.
func TestEveryForm(t *testing.T) {
	pod := "{containers: [{name: c}], %s}"
	in := func(more string) string { return fmt.Sprintf(pod, more) }
	secret := object("v1", "Secret", "x", "data: {k: dg==}")
	service := object("v1", "Service", "x", "spec: {ports: [{port: 443}, {port: 80, name: http}]}")
	role := object("rbac.authorization.k8s.io/v1", "Role", "x", "rules: []")
	account := object("v1", "ServiceAccount", "x", "")
	unbound := func(object string) string { return strings.Replace(object, ", namespace: a", "", 1) }
	for name, c := range map[string]struct{ user, target, want string }{
		"image pull secret": {object("v1", "Pod", "u", "spec: "+in("imagePullSecrets: [{name: x}]")), secret,
			"still-used a/Secret/x <- a/Pod/u"},
		"account of a cron job": {object("batch/v1", "CronJob", "u",
			"spec: {jobTemplate: {spec: {template: {spec: "+in("serviceAccountName: x")+"}}}}"), account,
			"still-used a/ServiceAccount/x <- a/CronJob.batch/u"},
		"claim": {object("v1", "Pod", "u", "spec: "+in("volumes: [{name: v, persistentVolumeClaim: {claimName: x}}]")),
			object("v1", "PersistentVolumeClaim", "x", ""), "still-used a/PersistentVolumeClaim/x <- a/Pod/u"},
		"service of a stateful set": {object("apps/v1", "StatefulSet", "u", "spec: {serviceName: x}"), service,
			"still-used a/Service/x <- a/StatefulSet.apps/u"},
		"service of an API": {unbound(object("apiregistration.k8s.io/v1", "APIService", "u",
			"spec: {service: {name: x, namespace: a}}")), service,
			"still-used a/Service/x <- APIService.apiregistration.k8s.io/u"},
		"service of a webhook": {unbound(object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "u",
			"webhooks: [{clientConfig: {service: {name: x, namespace: a}}}]")), service,
			"still-used a/Service/x <- ValidatingWebhookConfiguration.admissionregistration.k8s.io/u"},
		"service of an OpenShift route": {object("route.openshift.io/v1", "Route", "u",
			"spec: {to: {kind: Service, name: x}}"), service,
			"still-used a/Service/x <- a/Route.route.openshift.io/u"},
		"service of a gateway route": {object("gateway.networking.k8s.io/v1", "HTTPRoute", "u",
			"spec: {rules: [{backendRefs: [{name: x, port: 80}]}]}"), service,
			"still-used a/Service/x <- a/HTTPRoute.gateway.networking.k8s.io/u"},
		"default backend": {object("networking.k8s.io/v1", "Ingress", "u",
			"spec: {defaultBackend: {service: {name: x, port: {number: 80}}}}"), service,
			"still-used a/Service/x <- a/Ingress.networking.k8s.io/u"},
		"backend of an old ingress": {object("extensions/v1beta1", "Ingress", "u",
			"spec: {backend: {serviceName: x, servicePort: 80}}"), service,
			"still-used a/Service/x <- a/Ingress.extensions/u"},
		"target of an autoscaler": {object("autoscaling/v2", "HorizontalPodAutoscaler", "u",
			"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}"),
			object("apps/v1", "Deployment", "x", "spec: {}"),
			"still-used a/Deployment.apps/x <- a/HorizontalPodAutoscaler.autoscaling/u"},
		"storage class of a stateful set": {object("apps/v1", "StatefulSet", "u", "spec: {volumeClaimTemplates: "+
			"[{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: v}, spec: {storageClassName: x}}]}"),
			unbound(object("storage.k8s.io/v1", "StorageClass", "x", "")),
			"still-used StorageClass.storage.k8s.io/x <- a/StatefulSet.apps/u"},
		"role": {object("rbac.authorization.k8s.io/v1", "RoleBinding", "u", "roleRef: {kind: Role, name: x}"), role,
			"still-used a/Role.rbac.authorization.k8s.io/x <- a/RoleBinding.rbac.authorization.k8s.io/u"},
		"subject in another namespace": {unbound(object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "u",
			"roleRef: {kind: ClusterRole, name: view}\nsubjects: [{kind: ServiceAccount, name: x, namespace: a}]")), account,
			"still-used a/ServiceAccount/x <- ClusterRoleBinding.rbac.authorization.k8s.io/u"},
		"storage class": {object("v1", "PersistentVolumeClaim", "u", "spec: {storageClassName: x}"),
			unbound(object("storage.k8s.io/v1", "StorageClass", "x", "")),
			"still-used StorageClass.storage.k8s.io/x <- a/PersistentVolumeClaim/u"},
		"priority class": {object("v1", "Pod", "u", "spec: "+in("priorityClassName: x")),
			unbound(object("scheduling.k8s.io/v1", "PriorityClass", "x", "")),
			"still-used PriorityClass.scheduling.k8s.io/x <- a/Pod/u"},
		"runtime class": {object("v1", "Pod", "u", "spec: "+in("runtimeClassName: x")),
			unbound(object("node.k8s.io/v1", "RuntimeClass", "x", "")), "still-used RuntimeClass.node.k8s.io/x <- a/Pod/u"},
		"ingress class": {object("networking.k8s.io/v1", "Ingress", "u", "spec: {ingressClassName: x}"),
			unbound(object("networking.k8s.io/v1", "IngressClass", "x", "")),
			"still-used IngressClass.networking.k8s.io/x <- a/Ingress.networking.k8s.io/u"},
		"pods of a custom resource": {object("example.com/v1", "Fleet", "u",
			"spec: {podTemplate: {spec: "+in("volumes: [{name: v, secret: {secretName: x}}]")+"}}"), secret,
			"still-used a/Secret/x <- a/Fleet.example.com/u"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := found(t, c.user+c.target, c.user); got != c.want {
				t.Errorf("removed: %q, want %q", got, c.want)
			}
			for state, after := range map[string]string{
				"both are removed": "", "the user is removed": c.target, "nothing changes": c.user + c.target,
			} {
				if got := found(t, c.user+c.target, after); got != "" {
					t.Errorf("%s: %s", state, got)
				}
			}
			if got := found(t, c.user, c.user); got != "" {
				t.Errorf("the target is in no set: %s", got)
			}
		})
	}
}

// TestNoReference checks what looks like a reference and is none: other namespaces, objects in custom
// resources, statuses and optional references.
func TestNoReference(t *testing.T) {
	secret := object("v1", "Secret", "x", "data: {k: dg==}")
	for name, user := range map[string]string{
		"another namespace": strings.Replace(object("v1", "Pod", "u",
			"spec: {containers: [{name: c, envFrom: [{secretRef: {name: x}}]}]}"), "namespace: a", "namespace: b", 1),
		"optional": object("v1", "Pod", "u",
			"spec: {containers: [{name: c, envFrom: [{secretRef: {name: x, optional: true}}]}]}"),
		"a status": object("apps/v1", "Deployment", "u", "status: {volumes: [{secret: {secretName: x}}]}"),
		"an object inside a custom resource": object("example.com/v1", "Bundle", "u",
			"spec: {object: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {imagePullSecrets: [{name: x}]}}}"),
		"a list of objects inside a custom resource": object("example.com/v1", "Bundle", "u",
			"spec: {manifests: [{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {imagePullSecrets: [{name: x}]}}]}"),
		"the data of a ConfigMap": object("v1", "ConfigMap", "u", "data: {serviceAccountName: x, secretName: x}"),
		"a backend of another kind": object("gateway.networking.k8s.io/v1", "HTTPRoute", "u",
			"spec: {rules: [{backendRefs: [{kind: Bucket, name: x}]}]}"),
		"too deep": object("example.com/v1", "Deep", "u",
			"spec: "+strings.Repeat("{a: ", maxDepth)+"{imagePullSecrets: [{name: x}]}"+strings.Repeat("}", maxDepth)),
	} {
		if got := found(t, user+secret, user); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestSelectors checks each operator of a selector, by a policy that matched pods and no longer does.
func TestSelectors(t *testing.T) {
	pods := object("v1", "Pod", "p", "spec: {containers: [{name: c}]}")
	pods = strings.Replace(pods, "name: p,", "name: p, labels: {app: web, tier: front},", 1)
	budget := func(selector string) string {
		return object("policy/v1", "PodDisruptionBudget", "b", "spec: {selector: "+selector+"}")
	}
	was := budget("{matchLabels: {app: web}}")
	const lost = "selects-no-pods a/PodDisruptionBudget.policy/b <- a/Pod/p"
	for selector, want := range map[string]string{
		"{matchLabels: {app: web, tier: front}}":                                    "",
		"{matchLabels: {app: web, tier: back}}":                                     lost,
		"{matchLabels: {zone: a}}":                                                  lost,
		"{matchExpressions: [{key: app, operator: In, values: [web, api]}]}":        "",
		"{matchExpressions: [{key: app, operator: In, values: [api]}]}":             lost,
		"{matchExpressions: [{key: app, operator: NotIn, values: [api]}]}":          "",
		"{matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}":           "",
		"{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}":          lost,
		"{matchExpressions: [{key: app, operator: Exists}]}":                        "",
		"{matchExpressions: [{key: zone, operator: Exists}]}":                       lost,
		"{matchExpressions: [{key: zone, operator: DoesNotExist}]}":                 "",
		"{matchExpressions: [{key: app, operator: DoesNotExist}]}":                  lost,
		"{matchExpressions: [{key: app, operator: Newer, values: [a]}]}":            "", // an unknown operator matches
		"{matchLabels: {app: web}, matchExpressions: [{key: z, operator: Exists}]}": lost,
		"{}": "", // all pods
	} {
		if got := found(t, was+pods, budget(selector)+pods); got != want {
			t.Errorf("%s: %q, want %q", selector, got, want)
		}
	}
}

// TestBudget checks that a set with too many pairs of selectors and pods reports nothing as lost.
func TestBudget(t *testing.T) {
	pod := object("v1", "Pod", "p", "spec: {containers: [{name: c}]}")
	pod = strings.Replace(pod, "name: p,", "name: p, labels: {app: web},", 1)
	s := read(objects(t, pod))
	miss := selector{expressions: []expression{{key: "app", operator: "In", values: []string{"api"}}}}
	if got := s.matching("a", miss); len(got) != 0 {
		t.Fatalf("matches %v within the budget", got)
	}
	s.budget = 0
	if got := s.matching("a", miss); len(got) != 1 {
		t.Errorf("matches %v beyond the budget, want all", got)
	}
}
