package inputs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/reconciler/inputs"
	"github.com/nuon-toolkit/nuon/reconciler/refusal"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

func TestCheck(t *testing.T) {
	text := "hello"
	app := &appconfig.App{Inputs: []appconfig.Input{
		{Name: "region", Required: true, Description: "where it runs"},
		{Name: "greeting", Required: true, Default: &text},
		{Name: "colour"},
		{Name: "size", Type: "number"},
		{Name: "token", Required: true, Sensitive: true, Description: "of the mail service"},
	}}
	box := seal.Sealed{KeyID: "k", Ciphertext: []byte("c")}
	plain := func(name string) api.InputValue { return api.InputValue{Name: name, Value: "planted"} }
	secret := func(name string) api.InputValue { return api.InputValue{Name: name, Sealed: box} }
	kept := func(name string) store.InstallInput { return store.InstallInput{Name: name, Value: &text} }
	sealed := func(name string) store.InstallInput { return store.InstallInput{Name: name, Sealed: []byte("{}")} }
	for name, test := range map[string]struct {
		kept  []store.InstallInput
		given []api.InputValue
		want  []string
	}{
		"what is required": {given: []api.InputValue{plain("region"), secret("token")}},
		"all": {given: []api.InputValue{plain("region"), secret("token"), plain("greeting"),
			plain("colour")}},
		"an empty value is a value": {given: []api.InputValue{{Name: "region"}, secret("token")}},
		"nothing": {want: []string{"region has no value and is required: where it runs",
			"token has no value and is required: of the mail service"}},
		"what is kept counts": {kept: []store.InstallInput{kept("region"), sealed("token")}},
		"what is given replaces kept": {kept: []store.InstallInput{kept("region"), kept("token")},
			given: []api.InputValue{secret("token")}},
		"unknown": {given: []api.InputValue{plain("region"), secret("token"), plain("regoin"), plain("")},
			want: []string{`no input "regoin"; its inputs are colour, greeting, region, size, token`, `no input ""`}},
		"kept but no longer asked for": {kept: []store.InstallInput{kept("region"), sealed("token"), kept("gone"),
			sealed("gone-too")}},
		"kept in clear but sensitive by now": {kept: []store.InstallInput{kept("region"), kept("token")},
			given: []api.InputValue{plain("colour")},
			want:  []string{"token is sensitive"}},
		"kept sealed but plain by now": {kept: []store.InstallInput{sealed("region"), sealed("token")},
			want: []string{"region is not sensitive"}},
		"in clear": {given: []api.InputValue{plain("region"), plain("token")},
			want: []string{"token is sensitive: set it with --secret token"}},
		"sealed": {given: []api.InputValue{secret("region"), secret("token")},
			want: []string{"region is not sensitive: set it with --input region=…"}},
		"of another type": {given: []api.InputValue{plain("region"), secret("token"), plain("size")},
			want: []string{"the value of input size is not a number"}},
		"of its type": {given: []api.InputValue{plain("region"), secret("token"), {Name: "size", Value: "4"}}},
		"twice": {given: []api.InputValue{plain("region"), secret("token"), secret("token"), plain("token")},
			want: []string{"token is set twice"}},
		"half sealed": {given: []api.InputValue{{Name: "region", Sealed: seal.Sealed{KeyID: "k"}},
			{Name: "token", Sealed: seal.Sealed{Ciphertext: box.Ciphertext}, Value: "planted"}},
			want: []string{"region is sealed, but", "token is sealed, but"}},
		"everything at once": {given: []api.InputValue{plain("token"), plain("x"), secret("colour")},
			want: []string{"token is sensitive", `no input "x"`, "colour is not sensitive", "region has no value"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := inputs.Check(app, test.kept, test.given)
			if len(test.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var p *refusal.Error
			if !errors.As(err, &p) || p.Kind != refusal.Invalid || p.Code != "bad_inputs" {
				t.Fatalf("error %v", err)
			}
			var said []string
			for i, d := range p.Diagnostics {
				said = append(said, d.Message)
				if strings.Contains(d.Message, "planted") {
					t.Errorf("a value is said again: %s", d.Message)
				}
				if i < len(test.want) && strings.Contains(d.Message, test.want[i]) {
					said[i] = test.want[i]
				}
			}
			if diff := cmp.Diff(test.want, said); diff != "" {
				t.Error(diff)
			}
		})
	}
}
