package kubernetes_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/diff/kubernetes"
)

// shop returns 500 objects, about 2 MB: a chart label differs in all of them,
// and one in four has another change.
func shop(version int) string {
	var b strings.Builder
	labels := func(name string) string {
		return fmt.Sprintf("  name: %[1]s\n  namespace: shop\n  labels:\n    app: %[1]s\n    helm.sh/chart: shop-1.%[2]d.0\n"+
			"    app.kubernetes.io/version: \"1.%[2]d.0\"\n", name, version)
	}
	really := func(i int) int {
		if i%4 == 0 {
			return version
		}
		return 0
	}
	for i := range 140 {
		n := fmt.Sprintf("app-%d", i)
		fmt.Fprintf(&b, "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n%sspec:\n  selector:\n    matchLabels:\n   "+
			"   app: %s\n"+
			"  template:\n    metadata:\n      labels:\n        app: %s\n    spec:\n      containers:\n", labels(n), n, n)
		for c := range 3 {
			fmt.Fprintf(&b, "        - name: c%d\n          image: shop/%s:1.%d.0\n          env:\n", c, n, really(i))
			for e := range 25 {
				fmt.Fprintf(&b, "            - name: SETTING_%d\n              value: \"value of setting %d in %s\"\n", e, e, n)
			}
			b.WriteString(
				"          ports:\n            - containerPort: 8080\n              name: http\n          resources:\n" +
					"            requests:\n              cpu: 100m\n              memory: 128Mi\n")
		}
	}
	for i := range 110 {
		n := fmt.Sprintf("svc-%d", i)
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata:\n%sspec:\n  selector:\n    app: %s\n"+
			"  ports:\n    - name: http\n      port: %d\n", labels(n), n, 80+really(i))
	}
	for i := range 150 {
		n := fmt.Sprintf("cm-%d", i)
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n%sdata:\n  app.properties: |\n", labels(n))
		for l := range 100 {
			fmt.Fprintf(&b, "    setting.%d.of.%s=%d\n", l, n, l*(1+really(i)*(l%10/9)))
		}
	}
	for i := range 100 {
		n := fmt.Sprintf("secret-%d", i)
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Secret\nmetadata:\n%sdata:\n", labels(n))
		for k := range 6 {
			fmt.Fprintf(&b, "  key-%d: %s\n", k, strings.Repeat(fmt.Sprintf("%04d", (i*7+k*13+really(i))%9999), 16))
		}
	}
	return b.String()
}

// BenchmarkShop compares 500 objects; x-sigs is the time relative to that of
// sigs.k8s.io/yaml for parsing both sides.
func BenchmarkShop(b *testing.B) { against(b, shop(1), shop(2), 500) }

// against compares two sides and reports the time relative to that of the
// other library for parsing them.
func against(b *testing.B, before, after string, changes int) {
	b.Helper()
	var peer time.Duration
	for range 5 {
		start := time.Now()
		parse(b, before)
		parse(b, after)
		if d := time.Since(start); peer == 0 || d < peer {
			peer = d
		}
	}
	b.SetBytes(int64(len(before) + len(after)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := kubernetes.Report(source("before", []byte(before)), source("after", []byte(after)), kubernetes.Options{})
		if err != nil || len(r.Changes) != changes {
			b.Fatal(len(r.Changes), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(peer.Nanoseconds()), "x-sigs")
}

func parse(b *testing.B, side string) {
	b.Helper()
	for doc := range strings.SplitSeq(side, "---\n") {
		var v any
		if err := yaml.Unmarshal([]byte(doc), &v); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLargeConfigMap compares a text of 16,000 lines, of which every fifth differs.
func BenchmarkLargeConfigMap(b *testing.B) {
	text := func(version int) string {
		var t strings.Builder
		t.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n  table.txt: |\n")
		for i := range 16_000 {
			v := 0
			if i%5 == 0 {
				v = version
			}
			fmt.Fprintf(&t, "    line %d of the table, which says %d and has some more words after it\n", i, v)
		}
		return t.String()
	}
	against(b, text(1), text(2), 1)
}

// BenchmarkNothing compares equal inputs.
func BenchmarkNothing(b *testing.B) { against(b, shop(1), shop(1), 0) }
