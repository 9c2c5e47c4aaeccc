package schema

import (
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
)

func parse(t testing.TB, text string) raw.Value {
	t.Helper()
	v, err := raw.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestEveryDefaultHasItsPlace(t *testing.T) {
	d, err := decode(builtinTable)
	if err != nil {
		t.Fatal(err)
	}
	if missing := append(addDefaults(d), addAssigned(d)...); len(missing) > 0 {
		t.Errorf("no such fields: %q", missing)
	}
	for _, e := range defaults() {
		if (e.value == "") == (e.derive == nil) {
			t.Errorf("%s.%s has no value, or two", e.of, e.path)
		}
	}
}

// TestDefaultsFitTheirTypes checks that every default, published or from this
// package, fits the type of its field, with all its content.
func TestDefaultsFitTheirTypes(t *testing.T) {
	d, err := decode(builtinTable)
	if err != nil {
		t.Fatal(err)
	}
	addDefaults(d)
	seen := map[*Type]bool{}
	var visit func(where string, typ *Type)
	visit = func(where string, typ *Type) {
		if typ == nil || seen[typ] {
			return
		}
		seen[typ] = true
		if v, ok := typ.Default(); ok && !fits(typ, v) {
			t.Errorf("%s: its default does not fit", where)
		}
		for _, f := range typ.fields {
			visit(where+"."+f.name, f.typ)
		}
		visit(where+"[]", typ.elem)
	}
	for _, k := range d.kinds {
		visit(k.Kind, &d.types[k.Type])
	}
	for _, e := range defaults() {
		if e.derive == nil && !d.change(e.of, e.path, func(typ *Type) {
			if v := parse(t, e.value); !fits(typ, v) {
				t.Errorf("%s.%s: %s does not fit", e.of, e.path, e.value)
			}
		}) {
			t.Errorf("%s.%s does not exist", e.of, e.path)
		}
	}
}

// fits reports whether a value has the form of its type.
func fits(t *Type, v raw.Value) bool {
	text, kind := raw.Text(v)
	switch t.Shape() {
	case String:
		return kind == "string"
	case Integer:
		return kind == "number" && !strings.ContainsAny(text, ".eE")
	case Number:
		return kind == "number"
	case Boolean:
		return kind == "bool"
	case List:
		for i := range v.Len() {
			if !fits(t.Elem(), v.At(i)) {
				return false
			}
		}
		return kind == "list"
	case Object, Map:
		for _, key := range v.Keys() {
			field, _ := v.Get(key)
			if !t.Known(key) || !fits(t.Field(key), field) {
				return false
			}
		}
		return kind == "object"
	}
	return t.Format() != IntOrString || kind == "string" || kind == "number"
}

func TestDefaultBesideOthers(t *testing.T) {
	const container = "spec.template.spec.containers[]."
	for _, c := range []struct{ kind, path, parent, want string }{
		{"apps/v1/Deployment", container + "imagePullPolicy", `{"image":"web"}`, `"Always"`},
		{"apps/v1/Deployment", container + "imagePullPolicy", `{"image":"web:latest"}`, `"Always"`},
		{"apps/v1/Deployment", container + "imagePullPolicy", `{"image":"registry:5000/web"}`, `"Always"`},
		{"apps/v1/Deployment", container + "imagePullPolicy", `{"image":"registry:5000/web:1.2"}`, `"IfNotPresent"`},
		{"apps/v1/Deployment", container + "imagePullPolicy", `{"image":"web@sha256:12"}`, `"IfNotPresent"`},
		{"apps/v1/Deployment", container + "imagePullPolicy", `{"image":"web:latest@sha256:12"}`, `"Always"`},
		{"apps/v1/Deployment", container + "imagePullPolicy", `{"image":7}`, ""},
		{"apps/v1/Deployment", container + "imagePullPolicy", `{}`, ""},
		{"apps/v1/Deployment", container + "resources.requests", `{"limits":{"cpu":"1"}}`, ""},
		{"v1/Pod", "spec.containers[].resources.requests", `{"limits":{"cpu":"1"}}`, `{"cpu":"1"}`},
		{"v1/Pod", "spec.containers[].imagePullPolicy", `{"image":"web:1"}`, `"IfNotPresent"`},
		{"v1/Pod", "spec.serviceAccount", `{"serviceAccountName":"web"}`, `"web"`},
		{"v1/Pod", "spec.serviceAccount", `{}`, `"default"`},
		{"apps/v1/Deployment", "spec.template.spec.serviceAccount", `{"serviceAccountName":"web"}`, `"web"`},
		{"apps/v1/Deployment", "spec.template.spec.serviceAccount", `{}`, ""},
		{"apps/v1/Deployment", "spec.template.spec.volumes[].emptyDir", `{"name":"x"}`, `{}`},
		{"apps/v1/Deployment", "spec.template.spec.volumes[].emptyDir", `{"name":"x","secret":{}}`, ""},
		{"apps/v1/Deployment", "spec.strategy.rollingUpdate", `{}`, `{}`},
		{"apps/v1/Deployment", "spec.strategy.rollingUpdate", `{"type":"RollingUpdate"}`, `{}`},
		{"apps/v1/Deployment", "spec.strategy.rollingUpdate", `{"type":"Recreate"}`, ""},
		{"apps/v1/StatefulSet", "spec.updateStrategy.rollingUpdate", `null`, `{}`},
		{"apps/v1/StatefulSet", "spec.updateStrategy.rollingUpdate", `{"type":"RollingUpdate"}`, ""},
		{"v1/Service", "spec.ports[].targetPort", `{"port":80}`, `80`},
		{"v1/Service", "spec.ports[].targetPort", `{}`, ""},
		{"v1/Service", "spec.internalTrafficPolicy", `{}`, `"Cluster"`},
		{"v1/Service", "spec.internalTrafficPolicy", `{"type":"ExternalName"}`, ""},
		{"v1/Service", "spec.externalTrafficPolicy", `{}`, ""},
		{"v1/Service", "spec.externalTrafficPolicy", `{"type":"LoadBalancer"}`, `"Cluster"`},
		{"v1/Service", "spec.externalTrafficPolicy", `{"externalIPs":["192.0.2.1"]}`, `"Cluster"`},
		{"v1/Service", "spec.externalTrafficPolicy", `{"externalIPs":[]}`, ""},
		{"v1/Service", "spec.allocateLoadBalancerNodePorts", `{"type":"LoadBalancer"}`, `true`},
		{"v1/Service", "spec.allocateLoadBalancerNodePorts", `{"type":"NodePort"}`, ""},
		{"v1/Service", "spec.sessionAffinityConfig", `{"sessionAffinity":"ClientIP"}`, `{}`},
		{"v1/Service", "spec.sessionAffinityConfig", `{"sessionAffinity":"None"}`, ""},
		{"v1/Service", "spec.ipFamilyPolicy", `{"clusterIP":"None"}`, `"RequireDualStack"`},
		{"v1/Service", "spec.ipFamilyPolicy", `{"clusterIP":"None","selector":{"app":"web"}}`, `"SingleStack"`},
		{"v1/Service", "spec.ipFamilyPolicy", `{"type":"ExternalName"}`, ""},
		{"batch/v1/Job", "spec.completions", `{}`, `1`},
		{"batch/v1/Job", "spec.completions", `{"parallelism":3}`, ""},
		{"batch/v1/Job", "spec.backoffLimit", `{}`, `6`},
		{"batch/v1/Job", "spec.backoffLimit", `{"backoffLimitPerIndex":1}`, `2147483647`},
		{"batch/v1/Job", "spec.podReplacementPolicy", `{"podFailurePolicy":{}}`, `"Failed"`},
		{"batch/v1/CronJob", "spec.jobTemplate.spec.backoffLimit", `{}`, ""},
		{"networking.k8s.io/v1/NetworkPolicy", "spec.policyTypes", `{"ingress":[{}]}`, `["Ingress"]`},
		{"networking.k8s.io/v1/NetworkPolicy", "spec.policyTypes", `{"egress":[{}]}`, `["Ingress","Egress"]`},
		{"rbac.authorization.k8s.io/v1/RoleBinding", "subjects[].apiGroup", `{"kind":"Group"}`,
			`"rbac.authorization.k8s.io"`},
		{"rbac.authorization.k8s.io/v1/RoleBinding", "subjects[].apiGroup", `{"kind":"ServiceAccount"}`, `""`},
		{"rbac.authorization.k8s.io/v1/RoleBinding", "subjects[].apiGroup", `{"kind":null}`, ""},
		{"apiextensions.k8s.io/v1/CustomResourceDefinition", "spec.names.singular", `{"kind":"Widget"}`, `"widget"`},
		{"apiextensions.k8s.io/v1/CustomResourceDefinition", "spec.names.listKind", `{"kind":"Widget"}`, `"WidgetList"`},
		{"apiextensions.k8s.io/v1/CustomResourceDefinition", "spec.names.listKind", `{}`, ""},
	} {
		v, ok := find(t, Builtin(), c.kind, c.path).DefaultIn(parse(t, c.parent))
		if ok != (c.want != "") || ok && !v.Equal(parse(t, c.want)) {
			got, _ := raw.Text(v)
			t.Errorf("%s %s in %s: %s %v, want %s", c.kind, c.path, c.parent, got, ok, c.want)
		}
	}
}

func TestIsDefault(t *testing.T) {
	for _, c := range []struct {
		kind, path, value, parent string
		want                      bool
	}{
		{"apps/v1/Deployment", "spec.replicas", `1`, `{}`, true},
		{"apps/v1/Deployment", "spec.replicas", `1.0`, `{}`, true},
		{"apps/v1/Deployment", "spec.replicas", `null`, `{}`, true},
		{"apps/v1/Deployment", "spec.replicas", `2`, `{}`, false},
		{"apps/v1/Deployment", "spec.paused", `false`, `{}`, true},
		{"apps/v1/Deployment", "spec.paused", `true`, `{}`, false},
		{"apps/v1/Deployment", "spec.minReadySeconds", `0`, `{}`, true},
		{"apps/v1/Deployment", "spec.minReadySeconds", `0.0`, `{}`, true},
		{"apps/v1/Deployment", "spec.minReadySeconds", `1`, `{}`, false},
		{"apps/v1/Deployment", "spec.template.spec.containers[].env[].value", `""`, `{"name":"A"}`, true},
		{"apps/v1/Deployment", "spec.template.spec.containers[].securityContext.runAsNonRoot", `false`, `{}`, false},
		{"v1/PersistentVolumeClaim", "spec.storageClassName", `""`, `{}`, false},
		{"apps/v1/Deployment", "spec.strategy",
			`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"}}`, `{}`, true},
		{"apps/v1/Deployment", "spec.strategy",
			`{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":"25%"}}`, `{}`, false},
		{"apps/v1/Deployment", "spec.strategy", `{"type":"Recreate"}`, `{}`, false},
		{"apps/v1/Deployment", "spec.strategy.rollingUpdate", `{"maxSurge":"25%","maxUnavailable":"25%"}`,
			`{"type":"Recreate"}`, false},
		{"apps/v1/StatefulSet", "spec.updateStrategy", `{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`,
			`{}`, true},
		{"apps/v1/StatefulSet", "spec.persistentVolumeClaimRetentionPolicy", `{"whenDeleted":"Retain","whenScaled":"Retain"}`,
			`{}`, true},
		{"apps/v1/StatefulSet", "spec.persistentVolumeClaimRetentionPolicy", `{"whenDeleted":"Delete","whenScaled":"Retain"}`,
			`{}`, false},
		{"apps/v1/Deployment", "spec.template.spec.securityContext", `{}`, `{}`, true},
		{"apps/v1/Deployment", "spec.template.spec.securityContext", `{"runAsUser":0}`, `{}`, false},
		{"apps/v1/Deployment", "spec.template.spec.containers[].resources", `{}`, `{}`, true},
		{"apps/v1/Deployment", "spec.template.spec.containers[].env", `[]`, `{}`, true},
		{"apps/v1/Deployment", "spec.template.spec.containers[].env", `[{"name":"A"}]`, `{}`, false},
		{"apps/v1/Deployment", "spec.template.spec.nodeSelector", `{}`, `{}`, true},
		{"apps/v1/Deployment", "metadata.labels{}", `""`, `{}`, false},
		{"apps/v1/Deployment", "status", `{"replicas":1}`, `{}`, false},
		{"v1/Service", "status", `{"loadBalancer":{}}`, `{}`, true},
		{"v1/Service", "spec.sessionAffinityConfig", `{"clientIP":{"timeoutSeconds":10800}}`,
			`{"sessionAffinity":"ClientIP"}`, true},
		{"v1/Service", "spec.sessionAffinityConfig", `{"clientIP":{"timeoutSeconds":10801}}`,
			`{"sessionAffinity":"ClientIP"}`, false},
		{"v1/Service", "spec.ports[].targetPort", `8080`, `{"port":8080}`, true},
		{"v1/Service", "spec.ports[].targetPort", `8081`, `{"port":8080}`, false},
		{"networking.k8s.io/v1/NetworkPolicy", "spec.podSelector", `{}`, `{}`, true},
		{"autoscaling/v2/HorizontalPodAutoscaler", "spec.behavior.scaleDown",
			`{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,"periodSeconds":15}]}`, `{}`, true},
		{"autoscaling/v2/HorizontalPodAutoscaler", "spec.behavior.scaleDown", `{"selectPolicy":"Min"}`, `{}`, false},
		{"apiextensions.k8s.io/v1/CustomResourceDefinition", "spec.conversion", `{"strategy":"None"}`, `{}`, true},
		{"apiextensions.k8s.io/v1/CustomResourceDefinition", "spec.conversion", `{}`, `{}`, false},
	} {
		if got := find(t, Builtin(), c.kind, c.path).IsDefault(parse(t, c.value), parse(t, c.parent)); got != c.want {
			t.Errorf("%s %s: %s left out of %s: %v", c.kind, c.path, c.value, c.parent, got)
		}
	}
}
