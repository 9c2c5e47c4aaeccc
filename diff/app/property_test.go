package app_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/app"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
)

// texts is a small set, so that two configs often agree; some texts are documents.
var texts = []string{
	"a", "b", "c", "{{.nuon.inputs.inputs.a}}", "{{.nuon.components.b.outputs.x}}", "x: 1\ny: 2\n", "x: 1\ny: 3 # z\n",
	`{"a":[1,2]}`, `{"a":[2,1]}`, "#!/bin/sh\ntrue\n",
	"#!/bin/sh\nfalse\n", `{"Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}`, "é\x1b",
	"password=planted1",
}

// scalars lists chart values that all count as different. The last one is a secret only under the
// name of one.
var scalars = []any{"3", int64(3), 3.0, "true", true, false, "{{.nuon.install.id}}", "planted1"}

// drawn fills a value of any type of the model with random content.
func drawn(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.SampledFrom(texts).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(rapid.IntRange(0, 2).Draw(t, "number")))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			drawn(t, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Tag.Get("json"); name != "-" && rapid.IntRange(0, 2).Draw(t, "said") > 0 {
				drawn(t, v.Field(i))
			}
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "elements")
		if n == 0 || v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			drawn(t, v.Index(i))
		}
	case reflect.Map:
		if n := rapid.IntRange(0, 2).Draw(t, "entries"); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key := rapid.SampledFrom([]string{"a", "b", "image.tag", "aws:region", "db_password"}).Draw(t, "key")
				value := reflect.New(v.Type().Elem()).Elem()
				switch {
				case v.Type() != reflect.TypeFor[format.Scalars]():
					drawn(t, value)
				case key == "db_password":
					value.Set(reflect.ValueOf(rapid.SampledFrom(scalars).Draw(t, "scalar")))
				default:
					value.Set(reflect.ValueOf(rapid.SampledFrom(scalars[:len(scalars)-1]).Draw(t, "scalar")))
				}
				v.SetMapIndex(reflect.ValueOf(key), value)
			}
		}
	case reflect.Interface:
		var value any = rapid.SampledFrom(texts).Draw(t, "anything")
		if rapid.Bool().Draw(t, "table") {
			value = map[string]any{"k": value, "list": []any{"x", value}}
		}
		v.Set(reflect.ValueOf(value))
	}
}

// config draws an App in the form that Load returns: parts have unique names, sorted lists are
// sorted, and a component has one engine.
func config(t *rapid.T) *appconfig.App {
	a := &appconfig.App{}
	drawn(t, reflect.ValueOf(a).Elem())
	a.Remote = nil
	sandbox := component(t, "sandbox")
	sandbox.Kind, sandbox.Helm, sandbox.Image, sandbox.Docker, sandbox.Manifest = appconfig.KindSandbox, nil, nil, nil, nil
	if sandbox.Terraform == nil && sandbox.Pulumi == nil {
		sandbox.Terraform = &appconfig.Terraform{}
	}
	a.Sandbox = &sandbox
	for i := range a.Components {
		a.Components[i] = component(t, string(rune('a'+i)))
	}
	name(a.Actions, func(x *appconfig.Action) *string { return &x.Name })
	name(a.Secrets, func(x *appconfig.Secret) *string { return &x.Name })
	name(a.Groups, func(x *appconfig.InputGroup) *string { return &x.Name })
	name(a.Inputs, func(x *appconfig.Input) *string { return &x.Name })
	name(a.Policies, func(x *appconfig.Policy) *string { return &x.Name })
	name(a.Installs, func(x *appconfig.Install) *string { return &x.Name })
	for i := range a.Installs {
		a.Installs[i].Account = nil
	}
	for i := range a.Permissions {
		a.Permissions[i].Type, a.Permissions[i].Name = "custom", string(rune('a'+i))
	}
	for i := range a.BreakGlass {
		a.BreakGlass[i].Name = string(rune('a' + i))
	}
	for i := range a.OperationRoles {
		a.OperationRoles[i].Principal = string(rune('a' + i))
	}
	for i := range a.KubernetesContexts {
		a.KubernetesContexts[i].Name = string(rune('a' + i))
	}
	for i := range a.Runbooks {
		a.Runbooks[i].Name = string(rune('a' + i))
	}
	for i := range a.Branches {
		a.Branches[i].Name = string(rune('a' + i))
	}
	return stored(t, a)
}

func name[T any](list []T, of func(*T) *string) {
	for i := range list {
		*of(&list[i]) = string(rune('a' + i))
	}
}

// engines lists the kinds of components.
var engines = []string{"terraform_module", "helm_chart", "container_image", "docker_build",
	"kubernetes_manifest", "pulumi"}

func component(t *rapid.T, name string) appconfig.Component {
	c := appconfig.Component{}
	drawn(t, reflect.ValueOf(&c).Elem())
	c.Name, c.Kind = name, rapid.SampledFrom(engines).Draw(t, "kind")
	for i, field := range []string{"Terraform", "Helm", "Image", "Docker", "Manifest", "Pulumi"} {
		f := reflect.ValueOf(&c).Elem().FieldByName(field)
		f.SetZero()
		if engines[i] == c.Kind {
			f.Set(reflect.New(f.Type().Elem()))
			drawn(t, f.Elem())
		}
	}
	if c.Terraform != nil && c.Source == nil {
		c.Source = &appconfig.Source{}
	}
	if c.Docker != nil && c.Docker.Contents != "" {
		c.Docker.Dockerfile = ""
	}
	return c
}

// stored returns an App after a round trip through JSON, which turns empty values into nil.
func stored(t *rapid.T, a *appconfig.App) *appconfig.App {
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	back := &appconfig.App{}
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	return back
}

// kept lists fields that identify a part or define its kind: another value makes it another part.
var kept = map[string]bool{"Name": true, "Kind": true, "Type": true, "Principal": true, "Operation": true,
	"Remote": true, "Account": true}

// mutate changes one leaf of a value.
func mutate(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		var fields []int
		for i := range v.NumField() {
			f := v.Type().Field(i)
			engine := f.Type.Kind() == reflect.Pointer && v.Field(i).IsNil() &&
				v.Type() == reflect.TypeFor[appconfig.Component]() && f.Name != "Source"
			if !kept[f.Name] && f.Tag.Get("json") != "-" && !engine {
				fields = append(fields, i)
			}
		}
		if len(fields) > 0 {
			mutate(t, v.Field(rapid.SampledFrom(fields).Draw(t, "field")))
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
			drawn(t, v.Elem())
			return
		}
		mutate(t, v.Elem())
	case reflect.Slice:
		if v.Len() > 0 {
			mutate(t, v.Index(rapid.IntRange(0, v.Len()-1).Draw(t, "element")))
		}
	default:
		drawn(t, v)
	}
}

// pair draws two configs that differ in one place, or in many.
func pair(t *rapid.T) (before, after *appconfig.App) {
	before = config(t)
	after = stored(t, before)
	to := reflect.ValueOf(after).Elem()
	if rapid.IntRange(0, 3).Draw(t, "many") == 0 {
		from := reflect.ValueOf(config(t)).Elem()
		for i := range to.NumField() {
			if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
				to.Field(i).Set(from.Field(i))
			}
		}
	} else {
		mutate(t, to)
	}
	for i := range after.Components {
		if d := after.Components[i].Docker; d != nil && d.Contents != "" {
			d.Dockerfile = ""
		}
	}
	if n := len(after.Inputs); n > 1 && rapid.IntRange(0, 5).Draw(t, "turned round") == 0 {
		after.Inputs[0], after.Inputs[n-1] = after.Inputs[n-1], after.Inputs[0]
	}
	return before, stored(t, after)
}

func report(t *rapid.T, before, after *appconfig.App) *diff.Report {
	r, err := app.Report(before, after, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, r)
	return r
}

// TestNothingIsLost checks that a report is empty exactly when both configs are the same version and
// declare the same installs, and that a config equals itself.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := pair(t)
		if r := report(t, before, stored(t, before)); len(r.Changes) > 0 || r.Applyable || len(r.Notes) > 0 {
			t.Fatalf("a config differs from itself: %+v", r.Changes)
		}
		installs := func(a *appconfig.App) []byte { data, _ := json.Marshal(a.Installs); return data }
		same := bytes.Equal(before.Canonical(), after.Canonical()) && bytes.Equal(installs(before), installs(after))
		r := report(t, before, after)
		if same != (len(r.Changes) == 0) {
			t.Fatalf("same %t, but the report lists %d changes:\n%s\n%s", same, len(r.Changes), before.Canonical(),
				after.Canonical())
		}
		back := report(t, after, before)
		if len(back.Changes) != len(r.Changes) {
			t.Fatalf("%d changes, the other way round %d", len(r.Changes), len(back.Changes))
		}
		text, _ := json.Marshal(r)
		if strings.Contains(string(text), "planted") {
			t.Fatalf("a secret is in the report: %s", text)
		}
	})
}

// TestRedeployIsWhatTheControlPlaneDecides checks that a component counts as redeployed exactly
// when its ConfigDigest differs, which is the criterion of the control plane.
func TestRedeployIsWhatTheControlPlaneDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := pair(t)
		r := report(t, before, after)
		said := map[string]bool{}
		for _, c := range r.Changes {
			for _, f := range c.Findings {
				said[c.Address+" "+f.Rule] = true
			}
		}
		for _, is := range append([]appconfig.Component{*after.Sandbox}, after.Components...) {
			was, there := before.Component(is.Name)
			address := "component/" + is.Name
			if is.Kind == appconfig.KindSandbox {
				address = "sandbox"
			}
			if !there || was.Kind != is.Kind || (was.Pulumi == nil) != (is.Pulumi == nil) {
				continue
			}
			if differs := was.ConfigDigest() != is.ConfigDigest(); said[address+" component-redeployed"] != differs {
				t.Fatalf("%s: its config differs %t, and the report says %t", address, differs, !differs)
			}
			if e := app.EffectOf(was, &is); said[address+" component-rebuilt"] != e.Rebuild {
				t.Fatalf("%s: the report says of a rebuild %t", address, !e.Rebuild)
			}
		}
	})
}
