package bench

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// shop returns 500 objects of about 2 MB in the style of a chart: 120 Deployments, 20 StatefulSets,
// 110 Services, 100 ConfigMaps, 50 Secrets, 50 custom resources and 50 Ingresses. In the second
// version, a chart label differs everywhere, and one object in four has a real difference.
func shop(version int) []byte {
	w := &shopWriter{version: version}
	for i := range 500 {
		w.object(i)
	}
	return []byte(w.out.String())
}

type shopWriter struct {
	out     strings.Builder
	version int
}

func (w *shopWriter) object(i int) {
	really := w.version > 1 && i%4 == 0
	switch {
	case i < 120:
		w.workload(i, "apps/v1", "Deployment", really)
	case i < 140:
		w.workload(i, "apps/v1", "StatefulSet", really)
	case i < 250:
		w.head(i, "v1", "Service")
		w.print("spec:\n  selector:\n    app: app-%d\n  ports:\n", i)
		if really {
			w.print("  - name: admin\n    port: 9000\n    targetPort: 9000\n")
		}
		for p := range 10 {
			w.print("  - name: port-%d\n    port: %d\n    targetPort: %d\n", p, 80+p, 8080+p)
		}
	case i < 350:
		w.configMap(i, really)
	case i < 400:
		w.head(i, "v1", "Secret")
		w.print("data:\n")
		for k := range 10 {
			value := fmt.Sprintf("secret %d of %d, which is long enough to be looked for, changed: %v", k, i, really && k == 3)
			w.print("  key-%d: %s\n", k, base64.StdEncoding.EncodeToString([]byte(value)))
		}
	case i < 450:
		w.head(i, "example.com/v1", "Cache")
		w.print("spec:\n  size: %d\n  nodes:\n", 3+count(really))
		for n := range 20 {
			w.print("  - name: node-%d\n    zone: zone-%d\n    labels:\n      rack: r%d\n", n, n%3, n)
		}
	default:
		w.head(i, "networking.k8s.io/v1", "Ingress")
		w.print("spec:\n  rules:\n")
		if really {
			w.rule(i, 99)
		}
		for r := range 12 {
			w.rule(i, r)
		}
	}
}

func (w *shopWriter) rule(i, r int) {
	w.print("  - host: h%d.shop-%d.example.com\n    http:\n      paths:\n      - path: /\n        pathType: Prefix\n    "+
		"    backend:\n"+
		"          service:\n            name: app-%d\n            port:\n              number: 80\n", r, i, i)
}

func (w *shopWriter) head(i int, apiVersion, kind string) {
	w.print("---\n# Source: shop/templates/%s.yaml\napiVersion: %s\nkind: %s\nmetadata:\n  name: app-%d\n  namespace: "+
		"shop\n  labels:\n"+
		"    app: app-%d\n    helm.sh/chart: shop-1.%d.0\n    app.kubernetes.io/managed-by: Helm\n", strings.ToLower(kind),
		apiVersion, kind, i, i, w.version)
}

func (w *shopWriter) workload(i int, apiVersion, kind string, really bool) {
	w.head(i, apiVersion, kind)
	w.print("spec:\n  replicas: 3\n  selector:\n    matchLabels:\n      app: app-%d\n  template:\n    metadata:\n      "+
		"labels:\n        app: app-%d\n"+
		"    spec:\n      containers:\n", i, i)
	order := []int{0, 1, 2, 3}
	if really && i%8 == 0 {
		order = []int{1, 0, 2, 3}
	}
	for _, c := range order {
		w.print("      - name: container-%d\n        image: registry.example.com/shop/app-%d:1.%d.0\n        env:\n", c, i,
			count(really))
		if really {
			w.print("        - name: NEW_SETTING\n          value: \"on\"\n")
		}
		for e := range 22 {
			w.print("        - name: SETTING_%d\n          value: \"value of the setting %d in %d\"\n", e, e, c)
		}
		w.print("        ports:\n        - containerPort: %d\n          name: http\n        resources:\n          "+
			"requests:\n            cpu: 100m\n"+
			"            memory: 128Mi\n        volumeMounts:\n        - name: data\n          mountPath: /data\n", 8080+c)
	}
	w.print("      volumes:\n      - name: data\n        emptyDir: {}\n")
}

func (w *shopWriter) configMap(i int, really bool) {
	w.head(i, "v1", "ConfigMap")
	w.print("data:\n  mode: plain\n  app.properties: |\n")
	for l := range 120 {
		w.print("    setting.%d.of.%d=the value is %d\n", l, i, l*(1+count(really && l%9 == 0)))
	}
}

func (w *shopWriter) print(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// table returns one ConfigMap of 16,000 lines, about 1.1 MB. Every fifth line differs in the second
// version.
func table(version int) []byte {
	w := &shopWriter{version: version}
	w.print("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: table\ndata:\n  table.txt: |\n")
	for i := range 16_000 {
		w.print("    line %d of a table, which says %d and has some more words behind it\n", i,
			count(version > 1 && i%5 == 0))
	}
	return []byte(w.out.String())
}
