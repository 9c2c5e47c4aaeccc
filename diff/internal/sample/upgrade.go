package sample

import (
	"os"
	"path/filepath"
	"testing"
)

// Upgrade is a real upgrade: the names of its versions, and their manifests.
type Upgrade struct {
	From, To      string
	Before, After []byte
}

// Upgrades runs try for each of the real upgrades in the directory that
// NUON_DIFF_CORPUS names, as a subtest with the manifests of both sides. Without
// that variable it skips the test, and names what covers the same instead.
func Upgrades(t *testing.T, instead string, try func(t *testing.T, before, after []byte)) {
	t.Helper()
	for _, u := range ReadUpgrades(t, instead) {
		t.Run(u.From, func(t *testing.T) { try(t, u.Before, u.After) })
	}
}

// ReadUpgrades returns the upgrades for which Upgrades runs tests, and skips like it.
func ReadUpgrades(tb testing.TB, instead string) (all []Upgrade) {
	tb.Helper()
	dir := os.Getenv("NUON_DIFF_CORPUS")
	if dir == "" {
		tb.Skip("NUON_DIFF_CORPUS is not set: " + instead)
	}
	for _, pair := range [][2]string{
		{"argo-cd-2.14", "argo-cd-3.5"}, {"ingress-nginx-1.12", "ingress-nginx-1.15"},
		{"metallb-0.13", "metallb-0.15"}, {"tekton-0.50", "tekton-1.0"},
	} {
		var sides [2][]byte
		for i, name := range pair {
			data, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
			if err != nil {
				tb.Fatal(err)
			}
			sides[i] = data
		}
		all = append(all, Upgrade{From: pair[0], To: pair[1], Before: sides[0], After: sides[1]})
	}
	return all
}
