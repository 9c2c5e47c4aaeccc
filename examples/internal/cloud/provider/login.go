package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// logins are the programs with which clients log in to the clusters of the clouds, and the arguments
// with which they print credentials. The other commands of these programs are not simulated.
var logins = map[string][]string{
	"aws":                    {"eks", "get-token"},
	"gke-gcloud-auth-plugin": {},
	"kubelogin":              {"get-token"},
}

// login prints credentials for a simulated cluster.
func login(directory, name string, args []string, to io.Writer) error {
	for i, want := range logins[name] {
		if len(args) <= i || args[i] != want {
			return fmt.Errorf("the simulated cloud has only %s %s, not %s", name, strings.Join(logins[name], " "),
				strings.Join(args, " "))
		}
	}
	named := func(arg string) bool { return strings.HasPrefix(arg, "--cluster-name") }
	if name == "aws" && !slices.ContainsFunc(args, named) {
		return fmt.Errorf("aws eks get-token: --cluster-name is required")
	}
	a, err := loadAuthority(directory)
	if err != nil {
		return err
	}
	version := "client.authentication.k8s.io/v1beta1"
	var info struct{ APIVersion string }
	if json.Unmarshal([]byte(os.Getenv("KUBERNETES_EXEC_INFO")), &info) == nil && info.APIVersion != "" {
		version = info.APIVersion
	}
	return json.NewEncoder(to).Encode(map[string]any{"apiVersion": version, "kind": "ExecCredential",
		"spec": map[string]any{}, "status": map[string]any{"token": a.token,
			"expirationTimestamp": time.Now().UTC().Add(14 * time.Minute).Format(time.RFC3339)}})
}
