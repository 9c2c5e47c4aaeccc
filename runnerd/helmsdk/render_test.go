package helmsdk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/engine"
	"pgregory.net/rapid"
)

func TestRender(t *testing.T) {
	r := offline(t, web().load(t), map[string]any{"greeting": "hi"})
	for _, want := range []string{"kind: ConfigMap", `greeting: "hi"`, "{{ .Values.untouched }} {{{ and }}",
		"shop-cache"} {
		if !strings.Contains(r.Manifest, want) {
			t.Errorf("%q is not in\n%s", want, r.Manifest)
		}
	}
	if strings.Contains(r.Manifest, "shop-queue") || len(r.CRDs) != 0 {
		t.Error("what values switch off is there")
	}
	if strings.Index(r.Manifest, "kind: Secret") > strings.Index(r.Manifest, "kind: ConfigMap") {
		t.Error("the objects are not in Helm's order")
	}
	if r.Notes != "Thank you for web 1.2.3: hi\n" || strings.Contains(r.Manifest, "notes of the cache") {
		t.Errorf("notes %q", r.Notes)
	}
	if len(r.Hooks) != 1 || r.Hooks[0].Name != "shop-web-hook" || r.Hooks[0].Weight != -5 ||
		fmt.Sprint(r.Hooks[0].Events) != "[pre-install pre-upgrade]" || strings.Contains(r.Manifest, "web-hook") {
		t.Errorf("hooks %+v", r.Hooks)
	}
	on := offline(t, web().load(t), map[string]any{"queue": map[string]any{"enabled": true},
		"cache": map[string]any{"enabled": false}})
	if !strings.Contains(on.Manifest, "shop-queue") || strings.Contains(on.Manifest, "shop-cache") || len(on.CRDs) != 1 ||
		on.CRDs[0].Name != "queues.helm.nuon.test" {
		t.Error("conditions are not followed")
	}
	if again := offline(t, web().load(t), nil); again.Digest() == r.Digest() {
		t.Error("generated values give one digest")
	}
}

// Without a cluster, charts see the Kubernetes version whose kinds are compiled in,
// not Helm's old default, which most charts reject.
func TestOfflineVersion(t *testing.T) {
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(offlineVersion, "1.", "k8s.io/client-go v0.", 1); !strings.Contains(string(module),
		want+"\n") {
		t.Errorf("offlineVersion is %s, and go.mod has no %q; change the constant", offlineVersion, want)
	}
	c := web().with(tree{
		"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\nkubeVersion: \">=1.25.0-0\"\n",
		"templates/seen.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: seen\ndata:\n  version: {{ " +
			".Capabilities.KubeVersion.Version }}\n",
	}).load(t)
	if r := offline(t, c, nil); !strings.Contains(r.Manifest, "version: v"+offlineVersion) {
		t.Error(r.Manifest)
	}
}

// Compose with the stored templates gives the original rendering.
func TestCompose(t *testing.T) {
	c, values := web().load(t), map[string]any{"queue": map[string]any{"enabled": true}}
	r := offline(t, c, values)
	again, err := Compose(c, values, r.Templates)
	if err != nil {
		t.Fatal(err)
	}
	if again.Digest() != r.Digest() || again.Manifest != r.Manifest || again.Notes != r.Notes || len(again.CRDs) != 1 {
		t.Error("they differ")
	}
	if err := again.same(r.Manifest, r.hooks); err != nil {
		t.Error(err)
	}
}

// A template that never ends does not block the attempt.
func TestRenderEnds(t *testing.T) {
	c := web().with(tree{"templates/x.yaml": strings.Repeat(`{{ range until 20000 }}`, 4) +
		strings.Repeat(`{{ end }}`, 4)}).load(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) //walltime: the limit under test, of what takes years
	defer cancel()
	_, err := RenderOffline(ctx, c, RenderRequest{Release: "shop", Namespace: "ns"}, "", nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestSchema(t *testing.T) {
	schema := `{"type": "object", "properties": {
		"replicas": {"type": "integer", "minimum": 1}, "greeting": {"type": "string", "pattern": "^[a-z]+$"}, "port": {"type": "integer"}}, "required": ["port"]}`
	sub := `{"type": "object", "properties": {"size": {"type": "string"}}}`
	c := web().with(tree{"values.schema.json": schema, "charts/cache/values.schema.json": sub}).load(t)
	_, err := tryOffline(c, map[string]any{"replicas": "two", "greeting": "SECRET 1"})
	var found *SchemaError
	if !errors.As(err, &found) {
		t.Fatal(err)
	}
	want := "at the root: missing property 'port'|cache.size: got number, want string|greeting: does not match the " +
		"pattern \"^[a-z]+$\"|replicas: got string, want integer"
	if got := strings.Join(found.Violations, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := tryOffline(c,
		map[string]any{"port": int64(1_000_000), "cache": map[string]any{"size": "1"}}); err != nil {
		t.Error(err)
	}
}

// A schema reads neither the runner's files nor its network.
func TestSchemaStaysInside(t *testing.T) {
	c := web().with(
		tree{"values.schema.json": `{"properties": {"greeting": {"$ref": "file:///etc/passwd"}, "replicas": {"$ref": "http://127.0.0.1:1/x"}}}`}).load(t)
	var warned []string
	values, err := c.prepare(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSchemas(values, map[string]any{"greeting": 1}, func(format string, args ...any) {
		warned = append(warned, fmt.Sprintf(format, args...))
	}); err != nil {
		t.Error(err)
	}
	if text := strings.Join(warned, "\n"); !strings.Contains(text, "file:///etc/passwd") ||
		!strings.Contains(text, "http://127.0.0.1:1/x") {
		t.Errorf("warned %q", text)
	}
}

// For any bytes of a template, the engine renders the frozen chart to the same bytes.
func TestLiteral(t *testing.T) {
	piece := rapid.OneOf(rapid.SampledFrom([]string{"{", "{{", "}}", "{{-", "-}}", "{{/*", "*/}}", "{{ end }}", "\r\n",
		" \t\n", `"`, "`", "\\", "{{\"{{\"}}", "é", "\u2028", "$", "{{{"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		if strings.Contains(text, noValue) {
			t.Skip("refused")
		}
		frozen := freeze(ChartInfo{Name: "web"}, []File{{Path: "web/charts/cache/templates/x.yaml", Content: []byte(text)}})
		got, err := engine.Render(frozen, map[string]any{"Values": map[string]any{}})
		if err != nil || got["web/charts/cache/templates/x.yaml"] != text {
			t.Fatalf("%q comes to %q, %v", text, got, err)
		}
	})
}

func TestRecordSize(t *testing.T) {
	c := web().load(t)
	small, err := RecordSize(c, nil, offline(t, c, nil))
	if err != nil || small < 1000 || small > 20_000 {
		t.Fatalf("%d bytes, %v", small, err)
	}
	// Generated text does not compress. Its characters have almost six bits, like
	// those of the record.
	large := web().with(
		tree{"templates/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {x: {{ randAlphaNum " +
			"60000 }}}\n"}).load(t)
	size, err := RecordSize(large, nil, offline(t, large, nil))
	if err != nil || size < 59_000 || size > 80_000 {
		t.Errorf("%d bytes, %v", size, err)
	}
	large = web().with(tree{"large.bin": noise(MaxRecord)}).load(t)
	if size, err := RecordSize(large, nil, offline(t, large, nil)); err != nil || size <= MaxRecord {
		t.Errorf("%d bytes, %v", size, err)
	}
}
