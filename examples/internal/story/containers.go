package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nuon-toolkit/nuon/examples/internal/imagehost"
	"github.com/nuon-toolkit/nuon/pkg/devcontract"
)

// This file contains the commands of stories whose containers run in the one-process Kubernetes.

// runsContainers reports whether the story's cluster can run containers.
func (s *teller) runsContainers() (bool, error) {
	if s.program == "" {
		return false, nil // a person's own cluster
	}
	out, err := exec.Command(s.program, "kubectl", "--kubeconfig", s.kubeconfig, "get", "nodes", "--output", //nolint:gosec // ours
		`jsonpath={.items[*].metadata.annotations.nuon\.test/containers}`).Output()
	return string(out) == "supported", err
}

// compile builds a program from one file, for containers: compile FROM TO.
func (s *teller) compile(ts *testscript.TestScript, _ bool, args []string) {
	fmt.Fprintf(s.loud, "\n\033[36m$ CGO_ENABLED=0 go build -o %s %s\033[0m\n", args[1], args[0])
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", ts.MkAbs(args[1]), //nolint:gosec // ours
		ts.MkAbs(args[0]))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux") // with the user's build cache
	if said, err := build.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, said)
	}
}

// pullSecret creates a pull secret for the registry of the install in NAMESPACE, and adds it to the default account, as
// the operator of a cluster does whose nodes have no access to that registry: pull-secret NAME.
func (s *teller) pullSecret(ts *testscript.TestScript, _ bool, args []string) {
	var made devcontract.BootstrapCredentials
	var ready devcontract.Ready
	for name, to := range map[string]any{"admission.json": &made, "reconciler.ready.json": &ready} {
		text, err := os.ReadFile(filepath.Join(ts.Getenv("WORK"), "dev", name))
		ts.Check(err)
		ts.Check(json.Unmarshal(text, to))
	}
	access := made.Registry.Install
	config, err := json.Marshal(map[string]any{"auths": map[string]any{
		ready.Registry: map[string]string{"username": access.Username, "password": access.Password}}})
	ts.Check(err)
	objects, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{
		map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
			"metadata":   map[string]string{"name": args[0]},
			"stringData": map[string]string{".dockerconfigjson": string(config)}},
		map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]string{"name": "default"},
			"imagePullSecrets": []any{map[string]string{"name": args[0]}}},
	}})
	ts.Check(err)
	fmt.Fprintf(s.loud, "\n\033[2mThe operator of the cluster lets pods pull from the registry of the install.\033[0m\n")
	apply := exec.Command(s.program, "kubectl", "--kubeconfig", s.kubeconfig, "--namespace", ts.Getenv("NAMESPACE"), //nolint:gosec // ours
		"apply", "--server-side", "--force-conflicts", "--filename", "-")
	apply.Stdin = strings.NewReader(string(objects))
	if said, err := apply.CombinedOutput(); err != nil {
		ts.Fatalf("%v\n%s", err, said)
	}
}

// jobImage serves an image for the pods of jobs, which has what jobs of the runner use, and sets JOB_IMAGE to its name:
// job-image.
func (s *teller) jobImage(ts *testscript.TestScript, _ bool, _ []string) {
	entries := []imagehost.Entry{imagehost.Program(filepath.Join(s.bin, "runnerd"), filepath.Join(s.bin, "runnerd")),
		imagehost.Program("/usr/local/bin/kubectl", s.program),
		{Header: tar.Header{Name: "tmp", Typeflag: tar.TypeDir, Mode: 0o1777}}}
	if named := os.Getenv("NUON_TERRAFORM"); filepath.IsAbs(named) {
		entries = append(entries, imagehost.Program(named, named))
	} else if found, err := exec.LookPath("terraform"); err == nil {
		entries = append(entries, imagehost.Program("/usr/local/bin/terraform", found))
	}
	shell, err := exec.Command("ldd", "/bin/sh").Output()
	ts.Check(err)
	for _, word := range append(strings.Fields(string(shell)), "/bin/sh") {
		if filepath.IsAbs(word) { // a library of the shell
			entries = append(entries, imagehost.Program(word, word))
		}
	}
	registry, err := imagehost.Start("")
	ts.Check(err)
	ts.Defer(func() { _ = registry.Stop() })
	name, err := registry.Add("jobs", ocispec.ImageConfig{Env: []string{"PATH=/usr/local/bin:/bin"}}, entries...)
	ts.Check(err)
	fmt.Fprintf(s.loud, "\n\033[2mThe image of the pods of jobs has runnerd, kubectl and a shell: %s\033[0m\n", name)
	ts.Setenv("JOB_IMAGE", name)
}
