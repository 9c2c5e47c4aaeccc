package installs

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/cli/exitcode"
	"github.com/nuon-toolkit/nuon/pkg/api"
)

// sentOutputs describes the outputs of a request, one line for each.
func sentOutputs(c *api.StackOutputsChange) []string {
	var all []string
	for _, o := range c.Set {
		line := o.Name + "=" + string(o.Value)
		if o.Sensitive {
			line += " sensitive"
		}
		all = append(all, line)
	}
	for _, name := range c.Unset {
		all = append(all, "-"+name)
	}
	return all
}

func TestStackSet(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("outputs.json", `{"vpc_id": "vpc-1", "subnets": ["a", "b"], "on": true, "value": {"value": 1}}`)
	terraform := write("terraform.json", `{
  "vpc_id": {"sensitive": false, "type": "string", "value": "vpc-2"},
  "roles": {"sensitive": false, "type": ["map", "string"], "value": {"a": "arn"}},
  "token": {"sensitive": true, "type": "string", "value": "x"}}`)
	for name, c := range map[string]struct {
		args  []string
		stdin string
		want  []string
		wrong string
	}{
		"texts": {args: []string{"region=eu", "a=b=c", "empty="}, want: []string{`a="b=c"`, `empty=""`, `region="eu"`}},
		"JSON": {args: []string{"--set-json", `subnets=["a"]`, "--set-json", "n=1.5"},
			want: []string{"n=1.5", `subnets=["a"]`}},
		"a file": {args: []string{"--file", plain},
			want: []string{"on=true", `subnets=["a","b"]`, `value={"value":1}`, `vpc_id="vpc-1"`}},
		"overrides": {args: []string{"--file", plain, "vpc_id=vpc-9", "--set-json", "on=false"},
			want: []string{"on=false", `subnets=["a","b"]`, `value={"value":1}`, `vpc_id="vpc-9"`}},
		"of Terraform": {args: []string{"--file", terraform}, want: []string{`roles={"a":"arn"}`, `token="x" sensitive`,
			`vpc_id="vpc-2"`}},
		"standard input": {args: []string{"--file", "-"}, stdin: `{"a": 1}`, want: []string{"a=1"}},
		"unset":          {args: []string{"--unset", "a", "b=1", "--unset", "c"}, want: []string{`b="1"`, "-a", "-c"}},

		"nothing":  {wrong: "no output is named"},
		"no value": {args: []string{"region"}, wrong: `output "region": use NAME=VALUE`},
		"no JSON": {args: []string{"--set-json", "a=eu"},
			wrong: "--set-json a: the value is not JSON; set a text with a=VALUE"},
		"no file":         {args: []string{"--file", filepath.Join(dir, "none")}, wrong: "no such file"},
		"no object":       {args: []string{"--file", "-"}, stdin: `["a"]`, wrong: "it is not a JSON object"},
		"null":            {args: []string{"--file", "-"}, stdin: `null`, wrong: "it is not a JSON object"},
		"two objects":     {args: []string{"--file", "-"}, stdin: `{} {}`, wrong: "more than one JSON value"},
		"dry and waiting": {args: []string{"a=b", "--dry-run", "--wait"}, wrong: "[dry-run wait]"},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := start(t)
			e.Console.In = strings.NewReader(c.stdin)
			err := execute(t, New(e), append([]string{"stack", "set", "acme"}, c.args...)...)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || p.stackChange != nil {
					t.Errorf("ended with %v", err)
				}
				if name != "dry and waiting" && exitcode.CodeOf(err) != exitcode.Usage {
					t.Errorf("%v does not count as wrong use", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, sentOutputs(p.stackChange)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStackSetShowsWhatFollows checks the text of a change, of a dry run and of a change that changes nothing.
func TestStackSetShowsWhatFollows(t *testing.T) {
	changes := []api.ChangedStackOutput{
		{Name: "subnets", From: json.RawMessage(`["a"]`), To: json.RawMessage(`["a","b"]`)}, {Name: "vpc_id", To: json.RawMessage(`"vpc-1"`)}}
	components := []api.PreviewedEffect{{Name: "net", Effect: api.PreviewedEffectEffectBehind,
		Reason: "stack output vpc_id changed"}, {Name: "web", Effect: api.PreviewedEffectEffectNone}}
	for name, c := range map[string]struct {
		args    []string
		changes []api.ChangedStackOutput
		want    string
	}{
		"set": {nil, changes, `hello/acme has version 3 of its stack outputs:
  stack output subnets  ["a"] → ["a","b"]
  stack output vpc_id   (not set) → "vpc-1"
planned as a result:
  net                planned  stack output vpc_id changed
  (unchanged: 1 component)
`},
		"dry run": {[]string{"--dry-run"}, changes, `hello/acme would change:
  stack output subnets  ["a"] → ["a","b"]
  stack output vpc_id   (not set) → "vpc-1"
planned as a result:
  net                planned  stack output vpc_id changed
  (unchanged: 1 component)
`},
		"nothing": {nil, nil, "hello/acme: all values are set already (version 3)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p, e := start(t)
			p.stackChanged = api.ChangedStackOutputs{Outputs: api.StackOutputs{Version: 3}, Changes: c.changes,
				Components: components, Warnings: []string{"no template reads it"}}
			if err := execute(t, New(e), append([]string{"stack", "set", "acme", "vpc_id=vpc-1"}, c.args...)...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, e.Console.Out.(*strings.Builder).String()); diff != "" {
				t.Error(diff)
			}
			if said := e.Console.Err.(*strings.Builder).String(); said != "warning: no template reads it\n" {
				t.Errorf("said %q", said)
			}
		})
	}
}

// TestStackGet checks the text of outputs that a person set, that the stack reported and that are missing.
func TestStackGet(t *testing.T) {
	p, e := start(t)
	p.stack = api.StackOutputs{Version: 2, Source: "manual", Actor: "ci", StackVersion: "7", Outputs: []api.StackOutput{
		{Name: "region", Value: json.RawMessage(`"eu"`), Source: api.StackSourcePhoneHome},
		{Name: "vpc_id", Value: json.RawMessage(`"vpc-1"`), Source: "manual", Reported: json.RawMessage(`"vpc-2"`)}},
		Missing: []api.MissingValue{{Name: "account_id", Readers: []string{"net", "action check"}}}}
	if err := execute(t, New(e), "stack", "get", "acme"); err != nil {
		t.Fatal(err)
	}
	got := e.Console.Out.(*strings.Builder).String()
	for _, want := range []string{"version 2, set by ci at ", ", of stack version 7\n", "  region             \"eu\"\n",
		"  vpc_id             \"vpc-1\"  (set by hand; the stack reports \"vpc-2\")\n",
		"  account_id         (not set; read by net, action check)\n",
		"Set an output with: nuon installs stack set acme NAME=VALUE\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if err := execute(t, New(e), "stack", "get", "acme", "--version", "0"); exitcode.CodeOf(err) != exitcode.Usage {
		t.Errorf("--version 0: %v", err)
	}
	p.installs[0].StackOutputs = p.stack
	if err := execute(t, New(e), "get", "acme"); err != nil {
		t.Fatal(err)
	}
	if got := e.Console.Out.(*strings.Builder).String(); !strings.Contains(got,
		"\nstack outputs\n  region             \"eu\"\n") {
		t.Errorf("installs get shows\n%s", got)
	}
}

// serveStack answers the requests about stack outputs.
func (p *plane) serveStack(t *testing.T, mux *http.ServeMux) {
	serveStackVersions(mux)
	mux.HandleFunc("GET /v1/installs/{install}/stack-outputs", func(w http.ResponseWriter, _ *http.Request) {
		give(w, p.stack)
	})
	mux.HandleFunc("POST /v1/installs/{install}/stack-outputs", func(w http.ResponseWriter, r *http.Request) {
		p.stackChange = decode[api.StackOutputsChange](t, r)
		p.stackChanged.DryRun = p.stackChange.DryRun
		give(w, p.stackChanged)
	})
}
