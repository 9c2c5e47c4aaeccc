package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

// find follows a path from a kind (GROUP/VERSION/KIND, the core group is
// omitted); [] enters elements, {} a map's values.
func find(t *testing.T, s *Set, kind, path string) *Type {
	t.Helper()
	typ := root(t, s, kind)
	for step := range strings.SplitSeq(strings.NewReplacer("[]", ".[]", "{}", ".[]").Replace(path), ".") {
		if step == "[]" {
			typ = typ.Elem()
			continue
		}
		if !typ.Known(step) {
			t.Fatalf("%s %s: no %s", kind, path, step)
		}
		typ = typ.Field(step)
	}
	return typ
}

// said returns all facts of a type, on one line.
func said(t *Type) string {
	words := []string{
		[]string{"any", "object", "map", "list", "string", "integer", "number", "boolean"}[t.Shape()],
		[]string{"", "quantity", "int-or-string", "duration", "time", "bytes"}[t.Format()],
		[]string{"", "atomic", "set", "by"}[t.List()],
	}
	words = append(words, t.Keys()...)
	if t.Preserve() {
		words = append(words, "open")
	}
	if v, ok := t.Default(); ok {
		text, kind := raw.Text(v)
		if kind == "string" {
			text = strconv.Quote(text)
		}
		words = append(words, "= "+text)
	}
	if t.EmptyIsNone() && t.Shape() != List && t.Shape() != Map {
		words = append(words, "or empty")
	}
	if t.Assigned() {
		words = append(words, "assigned")
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// TestFacts checks facts from the API reference. The two columns are separate
// so that a new release shows what it changes.
func TestFacts(t *testing.T) {
	const pod = "spec.template.spec"
	for _, c := range []struct{ kind, path, want string }{
		{"apps/v1/Deployment", "metadata.ownerReferences", "list by uid"},
		{"apps/v1/Deployment", "metadata.finalizers", "list set"},
		{"apps/v1/Deployment", "metadata.managedFields", "list atomic"},
		{"apps/v1/Deployment", "metadata.managedFields[].fieldsV1", "object open"},
		{"apps/v1/Deployment", "metadata.labels", "map"},
		{"apps/v1/Deployment", "metadata.labels{}", "string"},
		{"apps/v1/Deployment", "metadata.creationTimestamp", "string time"},
		{"apps/v1/Deployment", "spec.replicas", "integer = 1"},
		{"apps/v1/Deployment", "spec.revisionHistoryLimit", "integer = 10"},
		{"apps/v1/Deployment", "spec.progressDeadlineSeconds", "integer = 600"},
		{"apps/v1/Deployment", "spec.strategy", "object = {}"},
		{"apps/v1/Deployment", "spec.strategy.type", `string = "RollingUpdate" or empty`},
		{"apps/v1/Deployment", "spec.strategy.rollingUpdate.maxSurge", `any int-or-string = "25%"`},
		{"apps/v1/Deployment", "status.conditions", "list by type"},
		{"apps/v1/Deployment", "spec.selector.matchExpressions", "list atomic"},
		{"apps/v1/Deployment", pod + ".containers", "list by name"},
		{"apps/v1/Deployment", pod + ".initContainers", "list by name"},
		{"apps/v1/Deployment", pod + ".containers[].ports", "list by containerPort protocol"},
		{"apps/v1/Deployment", pod + ".containers[].ports[].protocol", `string = "TCP"`},
		{"apps/v1/Deployment", pod + ".containers[].env", "list by name"},
		{"apps/v1/Deployment", pod + ".containers[].envFrom", "list atomic"},
		{"apps/v1/Deployment", pod + ".containers[].args", "list atomic"},
		{"apps/v1/Deployment", pod + ".containers[].volumeMounts", "list by mountPath"},
		{"apps/v1/Deployment", pod + ".containers[].volumeDevices", "list by devicePath"},
		{"apps/v1/Deployment", pod + ".containers[].resources", "object = {}"},
		{"apps/v1/Deployment", pod + ".containers[].resources.limits", "map"},
		{"apps/v1/Deployment", pod + ".containers[].resources.limits{}", "string quantity"},
		{"apps/v1/Deployment", pod + ".containers[].resources.claims", "list by name"},
		{"apps/v1/Deployment", pod + ".containers[].livenessProbe.httpGet.port", "any int-or-string"},
		{"apps/v1/Deployment", pod + ".containers[].livenessProbe.timeoutSeconds", "integer = 1 or empty"},
		{"apps/v1/Deployment", pod + ".containers[].livenessProbe.failureThreshold", "integer = 3 or empty"},
		{"apps/v1/Deployment", pod + ".containers[].terminationMessagePath", `string = "/dev/termination-log" or empty`},
		{"apps/v1/Deployment", pod + ".containers[].securityContext.capabilities.add", "list atomic"},
		{"apps/v1/Deployment", pod + ".volumes", "list by name"},
		{"apps/v1/Deployment", pod + ".volumes[].configMap.defaultMode", "integer = 420"},
		{"apps/v1/Deployment", pod + ".volumes[].configMap.items", "list atomic"},
		{"apps/v1/Deployment", pod + ".volumes[].emptyDir.sizeLimit", "string quantity"},
		{"apps/v1/Deployment", pod + ".volumes[].projected.sources", "list atomic"},
		{"apps/v1/Deployment", pod + ".imagePullSecrets", "list by name"},
		{"apps/v1/Deployment", pod + ".hostAliases", "list by ip"},
		{"apps/v1/Deployment", pod + ".tolerations", "list atomic"},
		{"apps/v1/Deployment", pod + ".topologySpreadConstraints", "list by topologyKey whenUnsatisfiable"},
		{"apps/v1/Deployment", pod + ".readinessGates", "list atomic"},
		{"apps/v1/Deployment", pod + ".ephemeralContainers", "list by name"},
		{"apps/v1/Deployment", pod + ".schedulingGates", "list by name"},
		{"apps/v1/Deployment", pod + ".enableServiceLinks", "boolean"},
		{"apps/v1/Deployment", pod + ".dnsPolicy", `string = "ClusterFirst" or empty`},
		{"apps/v1/Deployment", pod + ".securityContext", "object = {}"},
		{"apps/v1/Deployment", pod + ".securityContext.sysctls", "list atomic"},
		{"apps/v1/Deployment", pod + ".securityContext.supplementalGroups", "list atomic"},
		{"apps/v1/Deployment", pod + ".hostNetwork", "boolean or empty"},
		{"apps/v1/Deployment", pod + ".automountServiceAccountToken", "boolean"},
		{"apps/v1/Deployment", pod + ".containers[].env[].value", "string or empty"},
		{"apps/v1/Deployment", pod + ".containers[].securityContext.runAsNonRoot", "boolean"},
		{"apps/v1/Deployment", pod + ".volumes[].hostPath.type", `string = ""`},
		{"apps/v1/Deployment", "spec.paused", "boolean or empty"},
		{"v1/PersistentVolumeClaim", "spec.storageClassName", "string assigned"},
		{"v1/PersistentVolumeClaim", "spec.volumeName", "string or empty assigned"},
		{"v1/Pod", "spec.enableServiceLinks", "boolean = true"},
		{"v1/Pod", "spec.nodeName", "string or empty assigned"},
		{"v1/Pod", "status.podIPs", "list by ip"},
		{"v1/Service", "spec.ports", "list by port protocol"},
		{"v1/Service", "spec.ports[].targetPort", "any int-or-string"},
		{"v1/Service", "spec.clusterIP", "string or empty assigned"},
		{"v1/Service", "spec.ports[].nodePort", "integer or empty assigned"},
		{"v1/Service", "spec.type", `string = "ClusterIP" or empty`},
		{"v1/Service", "spec.sessionAffinity", `string = "None" or empty`},
		{"v1/Service", "spec.loadBalancerSourceRanges", "list atomic"},
		{"v1/Secret", "data{}", "string bytes"},
		{"v1/Secret", "stringData{}", "string"},
		{"v1/Secret", "type", `string = "Opaque" or empty`},
		{"v1/ConfigMap", "binaryData{}", "string bytes"},
		{"v1/ServiceAccount", "secrets", "list by name assigned"},
		{"v1/ServiceAccount", "imagePullSecrets", "list atomic"},
		{"v1/PersistentVolumeClaim", "spec.accessModes", "list atomic"},
		{"v1/PersistentVolumeClaim", "spec.resources.requests{}", "string quantity"},
		{"v1/PersistentVolumeClaim", "spec.volumeMode", `string = "Filesystem"`},
		{"v1/PersistentVolume", "spec.persistentVolumeReclaimPolicy", `string = "Retain" or empty`},
		{"v1/ResourceQuota", "spec.hard{}", "string quantity"},
		{"v1/Namespace", "spec.finalizers", "list atomic assigned"},
		{"apps/v1/StatefulSet", "spec.volumeClaimTemplates", "list atomic"},
		{"apps/v1/StatefulSet", "spec.volumeClaimTemplates[].kind", `string = "PersistentVolumeClaim"`},
		{"apps/v1/StatefulSet", "spec.podManagementPolicy", `string = "OrderedReady" or empty`},
		{"apps/v1/DaemonSet", "spec.updateStrategy.rollingUpdate.maxUnavailable", "any int-or-string = 1"},
		{"apps/v1/ControllerRevision", "data", "object open"},
		{"batch/v1/Job", "spec.backoffLimit", "integer"},
		{"batch/v1/Job", "spec.suspend", "boolean = false"},
		{"batch/v1/CronJob", "spec.concurrencyPolicy", `string = "Allow" or empty`},
		{"batch/v1/CronJob", "spec.jobTemplate.spec.suspend", "boolean"},
		{"networking.k8s.io/v1/Ingress", "spec.rules", "list atomic"},
		{"networking.k8s.io/v1/Ingress", "spec.rules[].http.paths", "list atomic"},
		{"networking.k8s.io/v1/Ingress", "spec.tls", "list atomic"},
		{"networking.k8s.io/v1/NetworkPolicy", "spec.ingress[].ports[].port", "any int-or-string"},
		{"networking.k8s.io/v1/NetworkPolicy", "spec.ingress[].ports[].protocol", `string = "TCP"`},
		{"rbac.authorization.k8s.io/v1/Role", "rules", "list atomic"},
		{"rbac.authorization.k8s.io/v1/Role", "rules[].verbs", "list atomic"},
		{"rbac.authorization.k8s.io/v1/ClusterRoleBinding", "subjects", "list atomic"},
		{"rbac.authorization.k8s.io/v1/ClusterRoleBinding", "roleRef.apiGroup", `string = "rbac.authorization.k8s.io"`},
		{"admissionregistration.k8s.io/v1/MutatingWebhookConfiguration", "webhooks", "list by name"},
		{"admissionregistration.k8s.io/v1/MutatingWebhookConfiguration", "webhooks[].clientConfig.caBundle", "string bytes"},
		{"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "webhooks[].timeoutSeconds", "integer = 10"},
		{"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration", "webhooks[].rules[].scope", `string = "*"`},
		{"autoscaling/v2/HorizontalPodAutoscaler", "spec.metrics",
			`list atomic = [{"resource":{"name":"cpu","target":{"averageUtilization":80,"type":"Utilization"}},"type":"Resource"}]`},
		{"autoscaling/v2/HorizontalPodAutoscaler", "spec.minReplicas", "integer = 1"},
		{"autoscaling/v2/HorizontalPodAutoscaler", "spec.behavior.scaleUp.selectPolicy", `string = "Max"`},
		{"autoscaling/v2/HorizontalPodAutoscaler", "spec.behavior.scaleDown.stabilizationWindowSeconds", "integer"},
		{"policy/v1/PodDisruptionBudget", "spec.minAvailable", "any int-or-string"},
		{"storage.k8s.io/v1/StorageClass", "reclaimPolicy", `string = "Delete"`},
		{"storage.k8s.io/v1/StorageClass", "parameters", "map"},
		{"coordination.k8s.io/v1/Lease", "spec.renewTime", "string time"},
		{"scheduling.k8s.io/v1/PriorityClass", "preemptionPolicy", `string = "PreemptLowerPriority"`},
		{"apiextensions.k8s.io/v1/CustomResourceDefinition", "spec.versions", "list atomic"},
		{"apiextensions.k8s.io/v1/CustomResourceDefinition", "spec.versions[].schema.openAPIV3Schema.properties{}.default",
			"any open"},
		{"apiregistration.k8s.io/v1/APIService", "spec.service.port", "integer = 443"},
	} {
		if got := said(find(t, Builtin(), c.kind, c.path)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.kind, c.path, got, c.want)
		}
	}
}

func TestBuiltinIsWhatItSays(t *testing.T) {
	d, err := decode(builtinTable)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(d.kubernetes, " ", len(d.kinds), " kinds"), "v1.36.3 95 kinds"; got != want {
		t.Errorf("the table holds %s, want %s", got, want)
	}
	if len(d.types) < 1000 || len(d.named) < 500 {
		t.Errorf("%d types, %d of them named: too few for Kubernetes", len(d.types), len(d.named))
	}
	if limit := 150 << 10; len(builtinTable) > limit {
		t.Errorf("the table has %d bytes, more than %d", len(builtinTable), limit)
	}
	if Builtin().Release() != d.kubernetes {
		t.Error("the built-in set is of another release than its table")
	}
}

func TestEveryKindHasMetadata(t *testing.T) {
	d, err := decode(builtinTable)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range d.kinds {
		typ := Builtin().Find(k.Group, k.Version, k.Kind)
		if typ.Shape() != Object || typ.Field("apiVersion").Shape() != String || !typ.Field("metadata").Known("name") {
			t.Errorf("%s/%s %s has no metadata", k.Group, k.Version, k.Kind)
		}
	}
}

func TestFindTakesTheClosestVersion(t *testing.T) {
	s := Builtin()
	for _, c := range []struct{ group, asked, kind, same string }{
		{"apps", "v1beta1", "Deployment", "v1"},
		{"apps", "v7", "Deployment", "v1"},
		{"batch", "v1beta1", "CronJob", "v1"},
		{"autoscaling", "v2beta2", "HorizontalPodAutoscaler", "v2"},
		{"autoscaling", "v1", "HorizontalPodAutoscaler", "v1"},
		{"autoscaling", "nonsense", "HorizontalPodAutoscaler", "v1"},
	} {
		got, want := s.Find(c.group, c.asked, c.kind), s.Find(c.group, c.same, c.kind)
		if got == nil || got != want {
			t.Errorf("%s %s of %s is not taken for %s", c.kind, c.asked, c.group, c.same)
		}
	}
	if s.Find("extensions", "v1beta1", "Deployment") != nil || s.Find("", "v1", "Deployment") != nil {
		t.Error("a kind of another group was found")
	}
}

func TestVersionsAreOrderedByAge(t *testing.T) {
	want := []string{"", "v0", "v01", "v1alpha", "v1alpha0", "vbeta1", "v1alpha1", "v1alpha2", "v1beta1", "v1beta10", "v1",
		"v2alpha1", "v2", "v10"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortStableFunc(got, compareVersions)
	if !slices.Equal(got, want) {
		t.Errorf("sorted: %q", got)
	}
}

func TestNamespaced(t *testing.T) {
	for _, c := range []struct {
		group, kind       string
		namespaced, known bool
	}{
		{"", "Pod", true, true},
		{"", "Namespace", false, true},
		{"", "Node", false, true},
		{"", "Secret", true, true},
		{"apps", "Deployment", true, true},
		{"networking.k8s.io", "Ingress", true, true},
		{"networking.k8s.io", "IngressClass", false, true},
		{"rbac.authorization.k8s.io", "ClusterRole", false, true},
		{"rbac.authorization.k8s.io", "Role", true, true},
		{"storage.k8s.io", "StorageClass", false, true},
		{"apiextensions.k8s.io", "CustomResourceDefinition", false, true},
		{"example.com", "Widget", false, false},
	} {
		if n, k := Builtin().Namespaced(c.group, c.kind); n != c.namespaced || k != c.known {
			t.Errorf("%s of %q: namespaced %v, known %v", c.kind, c.group, n, k)
		}
	}
}

func TestNothingIsKnownOfNil(t *testing.T) {
	var none *Type
	if none.Shape() != Any || none.Field("x") != nil || none.Elem() != nil || !none.Known("x") || none.Fields() != nil ||
		none.List() != Unknown || none.Keys() != nil || none.Format() != Plain || none.Preserve() || none.Assigned() {
		t.Error("nil says something")
	}
	if _, ok := none.Default(); ok || none.IsDefault(raw.Of("x"), raw.Value{}) {
		t.Error("nil has a default")
	}
	if _, ok := none.DefaultIn(raw.Value{}); ok {
		t.Error("nil has a default beside others")
	}
}

func TestKnown(t *testing.T) {
	spec := find(t, Builtin(), "apps/v1/Deployment", "spec")
	if !spec.Known("replicas") || spec.Known("replica") {
		t.Error("a field of a closed type")
	}
	if !find(t, Builtin(), "v1/ConfigMap", "data").Known("anything") {
		t.Error("a key of a map")
	}
	if !find(t, Builtin(), "apps/v1/ControllerRevision", "data").Known("anything") {
		t.Error("a field of an open type")
	}
	if i := slices.Index(spec.Fields(), "replicas"); i < 0 || !slices.IsSorted(spec.Fields()) {
		t.Error("the fields of a spec")
	}
}

func TestDamagedTableIsAnError(t *testing.T) {
	if _, err := load(builtinTable[:len(builtinTable)/2]); err == nil {
		t.Error("half a table was read")
	}
	if (&Set{}).Find("apps", "v1", "Deployment") != nil {
		t.Error("an empty set knows a kind")
	}
}

func BenchmarkDecode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := load(builtinTable); err != nil {
			b.Fatal(err)
		}
	}
}
