package artifact

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
)

// A manifest from a registry is either rejected as damaged, or one that nuon could have created.
func FuzzManifest(f *testing.F) {
	packed, err := Pack(MediaSource, sample(), map[string]string{AnnotationTree: "t"}, Limits{})
	if err != nil {
		f.Fatal(err)
	}
	whole, err := packed.Manifest()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"mediaType":"application/vnd.oci.image.manifest.v1+json","layers":[{"mediaType":".tar+gzip","digest":"sha256:0","size":-1}]}`))
	f.Add([]byte(`{"layers":null,"annotations":{"org.opencontainers.image.created":"now"}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		came, layer, err := ParseManifest(content)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("refused, but not as damaged: %v", err)
			}
			return
		}
		if sha256digest.Check(layer.Digest) != nil || layer.Size < 0 ||
			!slices.Contains([]Form{FormTree, FormSealed}, came.Form) {
			t.Fatalf("taken: %+v with a layer %+v", came, layer)
		}
		came.Layer = []byte("a layer")
		again, err := came.Manifest()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		back, _, err := ParseManifest(again)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		back.Layer = came.Layer
		if diff := cmp.Diff(came.Type, back.Type) + cmp.Diff(came.Form, back.Form); diff != "" {
			t.Fatalf("written and read again (-before +after):\n%s", diff)
		}
	})
}
