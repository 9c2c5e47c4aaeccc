package kubernetes_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/markdown"
	"github.com/nuon-toolkit/nuon/diff/terminal"
)

// planted creates secrets and records them.
type planted struct {
	t    *rapid.T
	all  []string
	some []string // secrets of Secret objects, whose copies must be found anywhere
}

func (p *planted) new() string {
	s := "q" + rapid.StringMatching(`[A-Za-z0-9]{9,20}`).Draw(p.t, "secret") + fmt.Sprintf("Z%d", len(p.all))
	p.all = append(p.all, s)
	return s
}

// copied returns a secret of a Secret, or plain text.
func (p *planted) copied() string {
	if len(p.some) == 0 || rapid.Bool().Draw(p.t, "plain") {
		return "plain text"
	}
	s := rapid.SampledFrom(p.some).Draw(p.t, "copy")
	switch rapid.IntRange(0, 4).Draw(p.t, "form") {
	case 0:
		return "x-" + s + "-y"
	case 1:
		return base64.StdEncoding.EncodeToString([]byte("id:" + s + ":"))
	case 2:
		return hex.EncodeToString([]byte(s))
	case 3:
		return `{"level":"info","inner":"` + s + `"}`
	}
	return s
}

// auth returns the credentials for a registry.
func (p *planted) auth() string {
	s := base64.StdEncoding.EncodeToString([]byte("shop:" + p.new()))
	p.all = append(p.all, s)
	return s
}

type object = map[string]any

// secret returns a Secret in one of its spellings.
func (p *planted) secret(name string) object {
	value := p.new()
	p.some = append(p.some, value)
	o := object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": name}}
	key := rapid.SampledFrom([]string{"password", "config", "a.b", "token"}).Draw(p.t, "key")
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	switch rapid.IntRange(0, 6).Draw(p.t, "place") {
	case 0:
		o["stringdata"] = object{key: object{"deep": value}}
	case 1:
		o["Data"] = object{key: encoded}
	case 2:
		o["data"] = value
	case 3:
		o["data"] = []any{value, 1}
	case 4:
		o["stringData"] = object{"DATABASE_URL": "postgres://shop:" + value + "@db/shop"}
	case 5:
		o["stringData"] = object{key: value}
	default:
		o["data"] = object{key: encoded}
	}
	if rapid.Bool().Draw(p.t, "applied") {
		o["metadata"] = object{"name": name, "annotations": object{
			"kubectl.kubernetes.io/last-applied-configuration": fmt.Sprintf(`{"data":{"%s":"%s"},"old":"%s"}`, key,
				encoded, p.new()),
		}}
	}
	return o
}

// workload returns a Deployment with secrets that only their names mark.
func (p *planted) workload(name string) object {
	env := []any{
		object{"name": "LEVEL", "value": p.copied()},
		object{"name": rapid.SampledFrom([]string{"DB_PASSWORD", "API_KEY", "AUTH_TOKEN", "clientSecret"}).Draw(p.t, "env"),
			"value": p.new()},
		object{"name": "DSN", "value": "postgres://shop:" + p.new() + "@db/shop"},
	}
	if rapid.Bool().Draw(p.t, "first") {
		env = append([]any{object{"name": "FIRST", "value": "1"}}, env...)
	}
	return object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": object{"name": name, "annotations": object{"note": p.copied()}},
		"spec": object{"selector": object{"matchLabels": object{"app": name}}, "template": object{
			"metadata": object{"labels": object{"app": name}},
			"spec": object{"containers": []any{object{
				"name": "main", "image": "shop/x:1", "env": env, "args": []any{"--password=" + p.new(), "--token", p.new(),
					p.copied()},
				"command": []any{"sh", "-c", "PGPASSWORD=" + p.new() + " psql"},
				"readinessProbe": object{
					"httpGet": object{"httpHeaders": []any{object{"name": "Authorization", "value": "Bearer " + p.new()}}}},
			}}},
		}},
	}
}

func (p *planted) settings(name string) object {
	return object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name},
		"binaryData": object{"env": base64.StdEncoding.EncodeToString([]byte("A=1\nAPI_KEY=" + p.new() + "\n"))},
		"data": object{
			"plain": p.copied(), "text": "first\n" + p.copied() + "\nlast\n", "DB_PASSWORD": p.new(),
			"quoted": "a: 1\npassword: \"" + p.new() + " horse staple\"\nb: [\n", "auths.json": `{"auths":{"r":{"auth":"` +
				p.auth() + `"}}}`,
			"broken.json": `{"auths":{"r":{"auth":"` + p.auth() + `"}}`,
			"app.json":    fmt.Sprintf(`{"server":{"port":%d,"password":"%s"}}`, len(p.all), p.new()),
			"app.yaml":    fmt.Sprintf("server:\n  port: %d\n  apiKey: %s\n", len(p.all), p.new()),
		},
	}
}

// nested returns a Secret inside another object. Copies of its values are
// masked only if that object changes.
func (p *planted) nested() object {
	some := p.some
	o := p.secret("nested")
	p.some = some
	return o
}

func (p *planted) custom(name string) object {
	return object{
		"apiVersion": "acme.example/v1", "kind": "Database", "metadata": object{"name": name},
		"spec": object{
			"manifests": []any{p.nested()}, "manifest": p.nested(),
			"adminPassword": p.new(), "size": len(p.all), "passwords": []any{p.new(), p.new()},
			"clientSecret": object{"value": p.new()},
			"run":          []any{"a", "export TOKEN='" + p.new() + "'", len(p.all)}, "pin": len(p.all),
			"users": []any{object{"name": "a", "token": p.new()}, object{"name": "API_KEY", "value": p.new()}},
		},
	}
}

// side returns some objects, as a List in JSON.
func (p *planted) side() []byte {
	items := []any{}
	for i := range rapid.IntRange(0, 2).Draw(p.t, "secrets") {
		items = append(items, p.secret(fmt.Sprintf("s%d", i)))
	}
	for i := range rapid.IntRange(0, 2).Draw(p.t, "workloads") {
		items = append(items, p.workload(fmt.Sprintf("w%d", i)))
	}
	for i := range rapid.IntRange(0, 2).Draw(p.t, "settings") {
		items = append(items, p.settings(fmt.Sprintf("c%d", i)))
	}
	for i := range rapid.IntRange(0, 1).Draw(p.t, "custom") {
		items = append(items, p.custom(fmt.Sprintf("d%d", i)))
	}
	data, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		p.t.Fatal(err)
	}
	return data
}

// TestNoPlantedSecretIsShown checks that no rendering shows a secret, wherever it is.
func TestNoPlantedSecretIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &planted{t: t}
		before, after, live := p.side(), p.side(), p.side()
		o := kubernetes.Options{TagKey: []byte("key"), ThreeWay: rapid.Bool().Draw(t, "three-way"),
			Live: source("live", live)}
		if rapid.Bool().Draw(t, "again") {
			o.Again = source("again", p.side())
		}
		r, err := kubernetes.Report(source("before", before), source("after", after), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		for name, text := range renderings(t, r) {
			for _, s := range p.all {
				if i := strings.Index(text, s); i >= 0 {
					t.Fatalf("%s shows %s: …%s…", name, s, text[max(0, i-300):min(len(text), i+100)])
				}
				if encoded := base64.StdEncoding.EncodeToString([]byte(s)); strings.Contains(text, encoded[:len(encoded)-4]) {
					t.Fatalf("%s shows %s in base64: %s", name, s, text)
				}
			}
		}
	})
}

// fataler is the common part of a test and a property.
type fataler interface {
	Fatal(args ...any)
	Helper()
}

// renderings returns all output forms of a report.
func renderings(t fataler, r *diff.Report) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, o := range map[string]terminal.Options{
		"text": {Width: 100, All: true}, "unbounded text": {All: true}, "colour": {Color: true, All: true, Width: 80},
		"side by side": {Width: 140, All: true, Side: true},
	} {
		var b bytes.Buffer
		if err := terminal.Render(&b, r, o); err != nil {
			t.Fatal(err)
		}
		out[name] = b.String()
	}
	var b bytes.Buffer
	if err := markdown.Render(&b, r, markdown.Options{}); err != nil {
		t.Fatal(err)
	}
	out["markdown"] = b.String()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	out["json"] = string(data)
	return out
}
