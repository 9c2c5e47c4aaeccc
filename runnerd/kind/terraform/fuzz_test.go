package terraform

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/runnerd/job"
)

// FuzzBundle checks that reading any bundle ends with an error or with files that stay
// within their directories.
func FuzzBundle(f *testing.F) {
	noted, err := json.Marshal(planMetadata{Workspace: "/w"})
	if err != nil {
		f.Fatal(err)
	}
	whole, err := artifact.Tarball([]artifact.File{
		{Path: metadataName, Content: noted}, {Path: planName, Content: []byte("p")}, {Path: "vars/000.tfvars.json",
			Content: []byte("{}")},
		{Path: "tree/m/x", Content: []byte("y"), Executable: true}, {Path: "tree/m/l", Link: "x"},
	}, artifact.Limits{})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("{}"))
	f.Add(bytes.Replace(whole, []byte("tree/m/x"), []byte("tree/../"), 1))
	f.Fuzz(func(t *testing.T, plain []byte) {
		files, err := artifact.Untar(plain, artifact.Limits{})
		if err != nil {
			return
		}
		made, err := load(files)
		if err != nil {
			return
		}
		if made.metadata.Workspace == "" || made.plan == nil {
			t.Fatalf("%+v is no bundle", made.metadata)
		}
		for _, file := range slices.Concat(made.vars, made.tree) {
			if !filepath.IsLocal(filepath.FromSlash(file.Path)) {
				t.Fatalf("%q is elsewhere", file.Path)
			}
		}
	})
}

// FuzzScreen checks that the result does not depend on the chunks in which output arrives,
// and that malformed output does not end the job.
func FuzzScreen(f *testing.F) {
	f.Add([]byte(`{"@level":"error","@message":"Error: x","type":"diagnostic","diagnostic":{"severity":"error","summary":"x","detail":"y","range":{"filename":"main.tf","start":{"line":3}}}}`+"\n"), 7)
	f.Add([]byte(`{"@level":"info","@message":"Apply complete!","type":"change_summary","changes":{"operation":"apply"}}`+
		"\nplain\r\n\n"), 1)
	f.Add([]byte(`{"@level":"error","@message":"dump","state":{"version":4,"x":"`+strings.Repeat("y", 100)+`"}}`), 3)
	f.Add([]byte("{\n}\n\x00\xff{\"@message\":1}"), 2)
	f.Fuzz(func(t *testing.T, output []byte, portion int) {
		show := func(portion int) *outputParser {
			shown := &outputParser{log: job.NewLog(io.Discard, &redact.Set{}), location: location{root: "/r", module: "m"}}
			for rest := output; len(rest) > 0; {
				next := min(len(rest), max(1, portion))
				if n, err := shown.Write(rest[:next]); n != next || err != nil {
					t.Fatal(n, err)
				}
				rest = rest[next:]
			}
			shown.flush()
			return shown
		}
		whole, parts := show(len(output)), show(portion%100)
		if !slices.Equal(whole.errors, parts.errors) || whole.applied != parts.applied ||
			!bytes.Equal(whole.state, parts.state) || len(parts.partial) > 0 {
			t.Fatalf("%q and %q", whole.errors, parts.errors)
		}
		for _, text := range whole.errors {
			if len(text) > maxDiagnostic+10 {
				t.Fatalf("an error has %d bytes", len(text))
			}
		}
	})
}
