package kubernetes_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/reference"
)

// web returns a Deployment with further fields in its pod spec. Labels are those of the pods.
func web(labels, spec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {app: web}}, " +
		"template: {metadata: {labels: {" +
		labels + "}}, spec: {" + spec + "}}}\n---\n"
}

const (
	containers = "containers: [{name: c, image: 'a:1', ports: [{name: http, containerPort: 80}]}]"
	webService = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80, " +
		"name: http, targetPort: http}]}\n---\n"
	settings   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '1', b: '2'}\n---\n"
	oneSetting = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '1'}\n---\n"
	secret     = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: sesame-open-1}\n---\n"
	account    = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: acc}\n---\n"
	claim      = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: p}\nspec: {resources: {requests: " +
		"{storage: 1Gi}}}\n---\n"
	role    = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules: []\n---\n"
	binding = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: b}\n" +
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\nsubjects: [{kind: ServiceAccount, name: " +
		"acc}]\n---\n"
	rollout = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\n" +
		"spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, envFrom: [{configMapRef: {name: " +
		"c}}]}]}}}\n---\n"
)

func ingress(port string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\nspec: {rules: [{host: h, http: " +
		"{paths: [{path: /, pathType: Prefix, " +
		"backend: {service: {name: web, port: {" + port + "}}}}]}}], tls: [{secretName: s}]}\n---\n"
}

func policy(kind, selector string) string {
	return "apiVersion: " + kind + "\nmetadata: {name: pol}\nspec: {" + selector + "}\n---\n"
}

// TestReferences checks that a reference between objects that a change breaks
// leads to a finding at that change, and nothing else does.
func TestReferences(t *testing.T) {
	pods := func(more string) string { return web("app: web", containers+", "+more) }
	volume := func(v string) string { return pods("volumes: [{name: v, " + v + "}]") }
	plain := web("app: web", containers)
	env := web("app: web", "containers: [{name: c, env: [{name: E, valueFrom: {configMapKeyRef: {name: c, key: b}}}]}]")
	maybe := web("app: web",
		"containers: [{name: c, env: [{name: E, valueFrom: {configMapKeyRef: {name: c, key: b, optional: true}}}]}]")
	other := web("app: other", containers)
	selected := strings.Replace(other, "matchLabels: {app: web}", "matchLabels: {app: other}", 1)
	pdb, netpol := "policy/v1\nkind: PodDisruptionBudget", "networking.k8s.io/v1\nkind: NetworkPolicy"
	certificate := "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: x}\nspec: {secretName: s}\n---\n"
	for _, test := range []struct{ name, before, after, want string }{
		{"a ConfigMap in a volume", volume("configMap: {name: c}") + settings, volume("configMap: {name: c}"),
			"ConfigMap/c still-used Deployment.apps/web"},
		{"an optional one", volume("configMap: {name: c, optional: true}") + settings,
			volume("configMap: {name: c, optional: true}"), ""},
		{"one that nobody uses", plain + settings, plain, ""},
		{"one that goes with its user", volume("configMap: {name: c}") + settings, "", ""},
		{"one that was never there", plain, volume("configMap: {name: c}"), ""},
		{"a projected Secret", volume("projected: {sources: [{secret: {name: s}}]}") + secret,
			volume("projected: {sources: [{secret: {name: s}}]}"),
			"Secret/s still-used Deployment.apps/web"},
		{"a Secret that a Certificate makes from now on", ingress("number: 80") + webService + plain + secret,
			ingress("number: 80") + webService + plain + certificate, ""},
		{"a Secret of an Ingress", ingress("number: 80") + webService + plain + secret, ingress("number: 80") + webService +
			plain, "Secret/s still-used Ingress.networking.k8s.io/i"},
		{"an account", pods("serviceAccountName: acc") + account, pods("serviceAccountName: acc"),
			"ServiceAccount/acc still-used Deployment.apps/web"},
		{"an account of a binding", role + binding + account, role + binding,
			"ServiceAccount/acc still-used RoleBinding.rbac.authorization.k8s.io/b"},
		{"a claim", volume("persistentVolumeClaim: {claimName: p}") + claim, volume("persistentVolumeClaim: {claimName: p}"),
			"PersistentVolumeClaim/p still-used Deployment.apps/web"},
		{"a role", role + binding, binding,
			"Role.rbac.authorization.k8s.io/r still-used RoleBinding.rbac.authorization.k8s.io/b"},
		{"a Service", ingress("number: 80") + webService + plain, ingress("number: 80") + plain,
			"Service/web still-used Ingress.networking.k8s.io/i"},
		{"what a custom resource uses", rollout + settings, rollout, "ConfigMap/c still-used Rollout.argoproj.io/web"},
		{"a key", env + settings, env + oneSetting, "ConfigMap/c key-still-used Deployment.apps/web"},
		{"an optional key", maybe + settings, maybe + oneSetting, ""},
		{"a key that was missing", env + oneSetting, env + strings.Replace(oneSetting, "{a:", "{x:", 1), ""},
		{"a port by number", ingress("number: 80") + webService + plain, ingress("number: 80") +
			strings.Replace(webService, "port: 80", "port: 81", 1) + plain,
			"Service/web port-still-used Ingress.networking.k8s.io/i"},
		{"a port by name", ingress("name: http") + webService + plain, ingress("name: http") +
			strings.Replace(webService, "name: http", "name: x", 1) + plain,
			"Service/web port-still-used Ingress.networking.k8s.io/i"},
		{"a port of the other name", ingress("name: http") + webService + plain, ingress("number: 80") +
			strings.Replace(webService, "name: http", "name: x", 1) + plain, ""},
		{"an Ingress that takes a port that is not there", ingress("number: 80") + webService + plain, ingress("number: 82") +
			webService + plain,
			"Ingress.networking.k8s.io/i port-still-used Service/web"},
		{"a port of the containers", webService + plain, webService + strings.Replace(plain, "name: http", "name: x", 1),
			"Deployment.apps/web port-still-used Service/web"},
		{"a Service without pods", webService + plain, webService, "Deployment.apps/web selects-no-pods Service/web"},
		{"a Service with another selector", webService + plain, strings.Replace(webService, "app: web", "app: x", 1) + plain,
			"Service/web selects-no-pods Deployment.apps/web"},
		{"a Service that never had pods here", webService, strings.Replace(webService, "app: web", "app: x", 1), ""},
		{"pods under other labels that have the same", webService + plain, webService + web("app: web, more: x", containers),
			""},
		{"a budget", policy(pdb, "minAvailable: 1, selector: {matchLabels: {app: web}}") + plain,
			policy(pdb, "minAvailable: 1, selector: {matchLabels: {app: x}}") + plain,
			"PodDisruptionBudget.policy/pol selects-no-pods Deployment.apps/web"},
		{"a network policy by expression",
			policy(netpol, "podSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}") + plain,
			policy(netpol, "podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}") + plain,
			"NetworkPolicy.networking.k8s.io/pol selects-no-pods Deployment.apps/web"},
		{"a policy for all pods", policy(netpol, "podSelector: {}") + plain, policy(netpol, "podSelector: {}"), ""},
		{"labels that the selector does not match", plain, other, "Deployment.apps/web selector-mismatch"},
		{"labels and selector together", plain, selected, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := compare(t, test.before, test.after, kubernetes.Options{})
			if got := broken(report); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// broken returns the findings of the reference rules, each with its object
// and the first object that it names.
func broken(report *diff.Report) string {
	var out []string
	for _, c := range report.Changes {
		for _, f := range c.Findings {
			if !slices.Contains(reference.Rules(), reference.Rule(f.Rule)) {
				continue
			}
			line := c.Address + " " + f.Rule
			for _, word := range strings.FieldsFunc(f.Message, func(r rune) bool { return r == ' ' || r == ',' || r == ':' }) {
				if strings.Contains(word, "/") {
					line += " " + word
					break
				}
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, "; ")
}

// TestReferencesOfNames covers a renamed ConfigMap that is still read under
// its old name, and one object with many users.
func TestReferencesOfNames(t *testing.T) {
	old := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web-aaaaaaaaaa}\ndata: {a: '1', b: '2', c: '3'}\n---\n"
	renamed := strings.Replace(old, "web-aaaaaaaaaa", "web-bbbbbbbbbb", 1)
	users := ""
	for i := range 5 {
		users += strings.Replace(web("app: web", containers+", volumes: [{name: v, configMap: {name: web-aaaaaaaaaa}}]"),
			"name: web", fmt.Sprintf("name: web%d", i), 1)
	}
	report := compare(t, users+old, users+renamed, kubernetes.Options{})
	if len(report.Changes) != 1 || !report.Changes[0].Renamed || len(report.Changes[0].Findings) == 0 {
		t.Fatalf("changes: %+v", report.Changes)
	}
	const want = "its old name is still used by Deployment.apps/web0, Deployment.apps/web1, Deployment.apps/web2 " +
		"and 2 more"
	if !slices.ContainsFunc(report.Changes[0].Findings, func(f diff.Finding) bool {
		return f.Message == want && f.Rule == string(reference.Gone)
	}) {
		t.Errorf("findings: %+v", report.Changes[0].Findings)
	}
}

// TestReferencesAreDescribed checks that docs/diff.md explains every reference rule.
func TestReferencesAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/diff.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reference.Rules() {
		if !strings.Contains(string(page), "| `"+string(r)+"` |") {
			t.Errorf("docs/diff.md does not explain %s", r)
		}
	}
}
