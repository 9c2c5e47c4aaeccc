package build

import (
	"encoding/json"
	"testing"
)

// FuzzRecipe checks that a recipe that is stored and read again has the same digest, and that only
// its fields affect the digest.
func FuzzRecipe(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"format":"nuon.input.v1","kind":"sandbox","terraform_version":"1.11.4","directory":"a","sources":[{"directory":"a","tree":"1"}]}`,
		`{"kind":"helm_chart","chart":{"repository":"https://x","chart":"y"},"kustomize":{"patches":["a"],"load_restrictor":"none"},"manifest":"sha256:0"}`,
		`{"sources":null,"extra":1}`, `{"sources":[{"directory":"\u0000","tree":""}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r Recipe
		if json.Unmarshal(raw, &r) != nil {
			return
		}
		kept, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var again Recipe
		if err := json.Unmarshal(kept, &again); err != nil {
			t.Fatalf("%s cannot be read again: %v", kept, err)
		}
		if r.Digest() != again.Digest() || r.SourceDigest() != again.SourceDigest() {
			t.Fatalf("%s has another digest once it was kept", kept)
		}
		for _, directory := range r.directories() {
			if _, ok := r.tree(directory); !ok {
				t.Fatalf("directory %q has no tree", directory)
			}
		}
	})
}
