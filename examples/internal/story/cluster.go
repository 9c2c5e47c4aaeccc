package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nuon-toolkit/nuon/examples/internal/kubernetes"
)

// This file contains the commands of stories that deploy to Kubernetes.

const (
	// envKubeconfig names the cluster that tests share. KUBECONFIG is ignored, because it is a
	// user's own cluster.
	envKubeconfig = "NUON_TEST_KUBECONFIG"
	// envProgram names the program of that cluster, which is its kubectl, too.
	envProgram = "NUON_CLUSTER"
	// noCluster is the message of a test that finds none.
	noCluster = "this story needs a Kubernetes: `make test` starts one, and so does " +
		"`go run ./examples/internal/kubernetes/with -- go test ./examples/internal/story`"
)

// clusterCmd prepares a cluster for the story: cluster NAME. It sets CLUSTER to the path of its
// kubeconfig, INSTALL to the name, and NAMESPACE to shop-NAME, and puts kubectl on the PATH. In a
// shared cluster, the name gets a random suffix, because stories run concurrently and repeatedly.
func (s *teller) clusterCmd(ts *testscript.TestScript, _ bool, args []string) {
	name, program := args[0], os.Getenv(envProgram)
	if shared := os.Getenv(envKubeconfig); shared != "" {
		name += "-" + strings.ToLower(rand.Text()[:6])
		s.kubeconfig = shared
		ts.Defer(func() {
			_ = s.runKubectl(ts, []string{"delete", "namespace/shop-" + name, "--wait=false", "--ignore-not-found"})
		})
	} else {
		if !s.demo {
			ts.Fatalf("%s", noCluster)
		}
		program = s.startCluster(ts)
	}
	s.program = program
	s.plantToken()
	tools := filepath.Join(ts.Getenv("WORK"), "tools")
	ts.Check(s.tools(program, tools))
	for k, v := range map[string]string{
		"CLUSTER": s.kubeconfig, "INSTALL": name, "NAMESPACE": "shop-" + name,
		"PATH": tools + string(os.PathListSeparator) + ts.Getenv("PATH"),
	} {
		ts.Setenv(k, v)
	}
}

// kubeToken matches the token in a kubeconfig.
var kubeToken = regexp.MustCompile(`token: "?([^\s"]{12,})`)

// plantToken declares the cluster's token as a secret that must not be found.
func (s *teller) plantToken() {
	content, err := os.ReadFile(s.kubeconfig)
	if found := kubeToken.FindSubmatch(content); err == nil && found != nil {
		s.planted = append(s.planted, newSecret("the cluster's token", string(found[1]), nil))
	}
}

// startCluster starts a cluster that ends with the story. Its directory is outside of the one that
// is searched for secrets.
func (s *teller) startCluster(ts *testscript.TestScript) (program string) {
	fmt.Fprintf(s.loud, "\n\033[36m$ make cluster\033[0m\n")
	dir, err := place()
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	started, program, err := kubernetes.Up(context.Background(), dir, 0, s.loud)
	ts.Check(err)
	ts.Defer(func() { // its users are stopped first; its directory is removed last
		_ = s.stop()
		_ = started.Stop()
	})
	s.kubeconfig = started.Kubeconfig
	fmt.Fprintf(s.loud, "  export KUBECONFIG=%s\n", s.kubeconfig)
	return program
}

// tools creates a directory with kubectl: the program of a cluster, or the user's own for their own
// cluster.
func (s *teller) tools(program, dir string) error {
	if program == "" {
		program, _ = kubernetes.Built(filepath.Join(s.repo, "examples", "internal", "cluster"))
	}
	if _, err := os.Stat(program); err == nil {
		return kubernetes.Tools(program, dir)
	}
	found, err := exec.LookPath("kubectl")
	if err != nil {
		return fmt.Errorf("%w: set %s to the program of the cluster, or put kubectl on the PATH", err, envProgram)
	}
	return kubernetes.Tools(found, dir)
}

// kubectl runs kubectl as the cluster's admin in NAMESPACE, and shows the output: kubectl get
// deployments.
func (s *teller) kubectl(ts *testscript.TestScript, neg bool, args []string) {
	fmt.Fprintf(s.loud, "\n\033[36m$ kubectl %s\033[0m\n", shellWords(args))
	err := s.runKubectl(ts, args)
	s.show(ts)
	if (err != nil) != neg {
		ts.Fatalf("kubectl %s: %v", shellWords(args), err)
	}
}

func (s *teller) runKubectl(ts *testscript.TestScript, args []string) error {
	return ts.Exec("kubectl", append(
		[]string{"--kubeconfig", s.kubeconfig, "--namespace", ts.Getenv("NAMESPACE")}, args...)...)
}

// grasp sets a variable to the output of kubectl without showing it: grasp KEY get secret ….
func (s *teller) grasp(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(s.runKubectl(ts, args[1:]))
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// drop removes the document of a kind from a file of manifests: drop FILE KIND.
func dropCmd(ts *testscript.TestScript, _ bool, args []string) {
	documents := strings.Split(ts.ReadFile(args[0]), "\n---\n")
	left := slices.DeleteFunc(slices.Clone(documents),
		func(d string) bool { return strings.Contains("\n"+d, "\nkind: "+args[1]+"\n") })
	if len(left) != len(documents)-1 {
		ts.Fatalf("%s has %d documents of kind %s", args[0], len(documents)-len(left), args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(left, "\n---\n")+"\n"), 0o644))
}
