package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// access creates a cluster user for the runner, with exactly the permissions that docs/kubernetes.md
// names, and writes its kubeconfig: access FILE. With it, a story shows that they are sufficient.
func (s *teller) access(ts *testscript.TestScript, _ bool, args []string) {
	role := filepath.Join(ts.Getenv("WORK"), "role.yaml")
	ts.Check(s.writeRole(role))
	space := ts.Getenv("NAMESPACE") + "-runner"
	fmt.Fprintf(s.loud, "\n\033[2mThe runner gets a user of its own, which may do what docs/kubernetes.md says.\033[0m\n")
	ts.Defer(func() {
		_ = s.runKubectl(ts, []string{"delete", "namespace/" + space, "clusterrolebinding/" + space, "--wait=false",
			"--ignore-not-found"})
	})
	for _, command := range [][]string{
		{"apply", "--filename", role},
		{"create", "namespace", space},
		{"create", "serviceaccount", "runner", "--namespace", space},
		{"create", "clusterrolebinding", space, "--clusterrole", "nuon-runner", "--serviceaccount", space + ":runner"},
		{"create", "token", "runner", "--namespace", space, "--duration", "2h"},
	} {
		fmt.Fprintf(s.loud, "\n\033[36m$ kubectl %s\033[0m\n", shellWords(command))
		err := s.runKubectl(ts, command)
		if err != nil && command[0] == "apply" {
			err = s.runKubectl(ts, command) // another story may have created the role meanwhile
		}
		ts.Check(err)
	}
	token := strings.TrimSpace(ts.ReadFile("stdout"))
	s.planted = append(s.planted, newSecret("the runner's token", token,
		[]*regexp.Regexp{regexp.MustCompile("^" + regexp.QuoteMeta(args[0]) + "$")}))
	ts.Check(s.runKubectl(ts, []string{"config", "view", "--minify", "--flatten", "--output", "json"}))
	made, err := asUser(ts.ReadFile("stdout"), token)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), args[0]), made, 0o600))
}

// writeRole writes the ClusterRole of docs/kubernetes.md to a file.
func (s *teller) writeRole(file string) error {
	const page, begin, end = "docs/kubernetes.md", "```yaml\napiVersion: rbac.authorization.k8s.io/v1\n", "```\n"
	text, err := os.ReadFile(filepath.Join(s.repo, page))
	if err != nil {
		return err
	}
	_, rest, found := strings.Cut(string(text), begin)
	role, _, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no ClusterRole", page)
	}
	return os.WriteFile(file, []byte(strings.TrimPrefix(begin, "```yaml\n")+role), 0o600)
}

// asUser returns a kubeconfig in which a token replaces the users' credentials.
func asUser(kubeconfig, token string) ([]byte, error) {
	var config map[string]any
	if err := json.Unmarshal([]byte(kubeconfig), &config); err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	users, _ := config["users"].([]any)
	for _, each := range users {
		if user, ok := each.(map[string]any); ok {
			user["user"] = map[string]any{"token": token}
		}
	}
	return json.Marshal(config)
}
