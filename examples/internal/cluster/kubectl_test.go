package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestAsKubectl(t *testing.T) {
	for name, test := range map[string]struct{ args, want []string }{
		"its name":       {[]string{"/some/where/kubectl", "get", "pods"}, []string{"/some/where/kubectl", "get", "pods"}},
		"first argument": {[]string{"cluster", "kubectl", "get", "pods"}, []string{"kubectl", "get", "pods"}},
		"a cluster":      {[]string{"cluster", "-dir", "kubectl"}, nil},
		"nothing":        {[]string{"cluster"}, nil},
	} {
		if got, is := asKubectl(test.args); is != (test.want != nil) || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %t", name, got, is)
		}
	}
}

// testKubectl queries a cluster with the kubectl that the cluster's program contains.
func testKubectl(t *testing.T, kubeconfig string) {
	for what, want := range map[string]string{"namespace/" + space: "namespace/" + space, "namespace/none": "not found",
		"nothing/x": "doesn't have a resource type"} {
		look := exec.Command(os.Args[0], "kubectl", "--kubeconfig", kubeconfig, "get", what, "--output", "name")
		look.Env = append(os.Environ(), envChild+"=1")
		said, err := look.CombinedOutput()
		if !strings.Contains(string(said), want) || (err == nil) != (what == want) {
			t.Errorf("get %s: %s, %v", what, said, err)
		}
	}
}
