package reference

import (
	"strconv"
	"strings"

	"github.com/nuon-toolkit/nuon/diff/internal/raw"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// use is one reference.
type use struct {
	user manifest.ID
	// key is that of a ConfigMap or a Secret, and port the name or number of
	// a Service's port; both are empty for the object as a whole.
	key, port string
	optional  bool
}

func (u use) part() string { return u.key + u.port }

// reader finds the references of one object by the keys that hold them:
// custom resources that create pods use the same keys as the API.
type reader struct {
	object Object
	set    *set
}

// maxDepth is how deep an object is searched.
const maxDepth = 40

func (r *reader) read() {
	v := r.object.Value
	switch r.object.ID.Kind {
	case "ConfigMap", "Secret", "CustomResourceDefinition":
		return
	}
	if r.object.Custom {
		r.set.provided[place{r.object.ID.Namespace, r.object.ID.Name}] = true
	}
	r.named(v)
	r.visit(v, maxDepth)
}

// named reads references that only objects of some kinds have.
func (r *reader) named(v raw.Value) {
	spec := get(v, "spec")
	switch r.object.ID.Kind {
	case "RoleBinding", "ClusterRoleBinding":
		ref := get(v, "roleRef")
		role := manifest.ID{Group: text(get(ref, "apiGroup")), Kind: text(get(ref, "kind")), Name: text(get(ref, "name"))}
		if role.Group == "" {
			role.Group = r.object.ID.Group
		}
		if role.Kind == "Role" {
			role.Namespace = r.object.ID.Namespace
		}
		r.add(role, use{})
		subjects := get(v, "subjects")
		for i := range subjects.Len() {
			if s := subjects.At(i); text(get(s, "kind")) == "ServiceAccount" {
				r.local("ServiceAccount", s, "name", use{})
			}
		}
	case "StatefulSet":
		r.local("Service", spec, "serviceName", use{})
	case "APIService":
		r.service(get(spec, "service"), "443")
	case "Pod":
		r.addPods(v, raw.Value{})
	case "CronJob":
		r.addPods(get(spec, "jobTemplate", "spec", "template"), raw.Value{})
	case "Route":
		if to := get(spec, "to"); text(get(to, "kind")) == "Service" {
			r.local("Service", to, "name", use{})
		}
	}
}

// visit reads all mappings.
func (r *reader) visit(v raw.Value, depth int) {
	if depth == 0 {
		return
	}
	for i := range v.Len() {
		if !r.isNested(v.At(i)) {
			r.visit(v.At(i), depth-1)
		}
	}
	for _, k := range v.Keys() {
		child, _ := v.Get(k)
		switch {
		case k == "status" || k == "metadata" || r.isNested(child):
			continue
		case child.IsObject() || child.IsList():
			r.mapping(k, v, child)
			r.visit(child, depth-1)
		default:
			r.leaf(k, v, text(child))
		}
	}
}

// isNested reports whether a value is a whole object inside a custom resource, which is created
// elsewhere.
func (r *reader) isNested(v raw.Value) bool {
	return r.object.Custom && text(get(v, "apiVersion")) != "" && get(v, "metadata").IsObject()
}

// leaf reads a reference that consists only of a name.
func (r *reader) leaf(key string, in raw.Value, name string) {
	if r.object.Custom && (key == "secretName" || key == "name") {
		r.set.provided[place{r.object.ID.Namespace, name}] = true
	}
	if name == "" {
		return
	}
	switch key {
	case "serviceAccountName":
		r.local("ServiceAccount", in, key, use{})
	case "claimName":
		r.local("PersistentVolumeClaim", in, key, use{})
	case "priorityClassName":
		r.add(manifest.ID{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: name}, use{})
	case "runtimeClassName":
		r.add(manifest.ID{Group: "node.k8s.io", Kind: "RuntimeClass", Name: name}, use{})
	case "storageClassName":
		r.add(manifest.ID{Group: "storage.k8s.io", Kind: "StorageClass", Name: name}, use{})
	case "ingressClassName":
		r.add(manifest.ID{Group: "networking.k8s.io", Kind: "IngressClass", Name: name}, use{})
	}
}

// mapping reads a reference that is an object, or a list of objects.
func (r *reader) mapping(key string, in, v raw.Value) {
	switch key {
	case "configMapKeyRef", "configMapRef":
		r.keyed("ConfigMap", v, "name")
	case "secretKeyRef":
		r.keyed("Secret", v, "name")
	case "secretRef":
		if !r.object.Custom || !get(in, "prefix").IsNull() || len(in.Keys()) == 1 {
			r.keyed("Secret", v, "name")
		}
	case "volumes", "sources":
		for i := range v.Len() {
			r.keyed("ConfigMap", get(v.At(i), "configMap"), "name")
			r.keyed("Secret", get(v.At(i), "secret"), "secretName")
			r.keyed("Secret", get(v.At(i), "secret"), "name")
		}
	case "imagePullSecrets":
		for i := range v.Len() {
			r.local("Secret", v.At(i), "name", use{})
		}
	case "tls":
		for i := range v.Len() {
			if r.object.ID.Kind == "Ingress" {
				r.local("Secret", v.At(i), "secretName", use{})
			}
		}
	case "clientConfig":
		r.service(get(v, "service"), "443")
	case "backend", "defaultBackend":
		if s := get(v, "service"); r.object.ID.Kind == "Ingress" && s.IsObject() {
			port := text(get(s, "port", "name")) + text(get(s, "port", "number"))
			r.local("Service", s, "name", use{port: port})
		}
		r.local("Service", v, "serviceName", use{port: text(get(v, "servicePort"))}) // extensions/v1beta1
	case "backendRefs":
		for i := range v.Len() {
			if kind := text(get(v.At(i), "kind")); kind == "" || kind == "Service" {
				r.local("Service", v.At(i), "name", use{port: text(get(v.At(i), "port"))})
			}
		}
	case "scaleTargetRef":
		group, _, grouped := strings.Cut(text(get(v, "apiVersion")), "/")
		if !grouped {
			group = ""
		}
		r.add(manifest.ID{Group: group, Kind: text(get(v, "kind")), Namespace: r.object.ID.Namespace,
			Name: text(get(v, "name"))}, use{})
	case "template", "podTemplate":
		r.addPods(v, get(in, "selector"))
	}
}

// keyed reads a reference to a ConfigMap or a Secret, and to keys of it.
func (r *reader) keyed(kind string, v raw.Value, name string) {
	u := use{optional: get(v, "optional").IsTrue(), key: text(get(v, "key"))}
	r.local(kind, v, name, u)
	items := get(v, "items")
	for i := range items.Len() {
		u.key = text(get(items.At(i), "key"))
		r.local(kind, v, name, u)
	}
}

// service reads a reference to a Service in any namespace.
func (r *reader) service(v raw.Value, port string) {
	if p := text(get(v, "port")); p != "" {
		port = p
	}
	r.local("Service", v, "name", use{port: port})
}

// local adds a reference to an object of the core API, in the namespace that
// the reference names, or else in that of the object.
func (r *reader) local(kind string, v raw.Value, name string, u use) {
	id := manifest.ID{Kind: kind, Namespace: text(get(v, "namespace")), Name: text(get(v, name))}
	if id.Namespace == "" {
		id.Namespace = r.object.ID.Namespace
	}
	r.add(id, u)
}

func (r *reader) add(target manifest.ID, u use) {
	if target.Name == "" || target.Kind == "" {
		return
	}
	u.user = r.object.ID
	r.set.uses[target] = append(r.set.uses[target], u)
}

// template is a Pod, or a template for one.
type template struct {
	owner  manifest.ID
	labels map[string]string
	ports  map[string]bool
	// selector is that of the workload itself.
	selector selector
}

// addPods adds a template, or a Pod, that has containers.
func (r *reader) addPods(v, sel raw.Value) {
	containers := get(v, "spec", "containers")
	if !containers.IsList() {
		return
	}
	t := template{owner: r.object.ID, labels: map[string]string{}, ports: map[string]bool{}}
	if !r.object.Custom && r.object.ID.Kind != "Job" {
		t.selector = parseSelector(sel)
	}
	labels := get(v, "metadata", "labels")
	for _, k := range labels.Keys() {
		t.labels[k] = text(get(labels, k))
	}
	for i := range containers.Len() {
		ports := get(containers.At(i), "ports")
		for j := range ports.Len() {
			t.ports[text(get(ports.At(j), "name"))] = true
		}
	}
	at := len(r.set.pods)
	r.set.pods = append(r.set.pods, t)
	r.set.byLabel[place{t.owner.Namespace, ""}] = append(r.set.byLabel[place{t.owner.Namespace, ""}], at)
	for k, v := range t.labels {
		p := place{t.owner.Namespace, k + "=" + v}
		r.set.byLabel[p] = append(r.set.byLabel[p], at)
	}
}

func get(v raw.Value, keys ...string) raw.Value {
	for _, k := range keys {
		v, _ = v.Get(k)
	}
	return v
}

// text returns the text of a string or a number.
func text(v raw.Value) string {
	if v.IsNull() || v.IsObject() || v.IsList() {
		return ""
	}
	t, _ := raw.Text(v)
	return t
}

func number(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}
