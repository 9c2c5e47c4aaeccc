package sample

import (
	"os"
	"path/filepath"
	"testing"
)

// Upgrades runs try for each of the real upgrades in the directory that
// NUON_DIFF_CORPUS names, as a subtest with the manifests of both sides. Without
// that variable it skips the test, and names what covers the same instead.
func Upgrades(t *testing.T, instead string, try func(t *testing.T, before, after []byte)) {
	t.Helper()
	dir := os.Getenv("NUON_DIFF_CORPUS")
	if dir == "" {
		t.Skip("NUON_DIFF_CORPUS is not set: " + instead)
	}
	for _, pair := range [][2]string{
		{"argo-cd-2.14", "argo-cd-3.5"}, {"ingress-nginx-1.12", "ingress-nginx-1.15"},
		{"metallb-0.13", "metallb-0.15"}, {"tekton-0.50", "tekton-1.0"},
	} {
		t.Run(pair[0], func(t *testing.T) {
			var sides [2][]byte
			for i, name := range pair {
				data, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
				if err != nil {
					t.Fatal(err)
				}
				sides[i] = data
			}
			try(t, sides[0], sides[1])
		})
	}
}
