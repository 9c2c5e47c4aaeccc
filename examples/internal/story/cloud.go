package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nuon-toolkit/nuon/examples/internal/account"
	"github.com/nuon-toolkit/nuon/examples/internal/cloud"
	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

// cloudCmd starts and changes a simulated cloud, with the story's Kubernetes behind its clusters:
//
//	cloud start                              sets the variables with which dev uses the cloud
//	cloud fail TYPE OPERATION MESSAGE        fail the next operation of this kind
//	cloud drift TYPE ATTRIBUTE VALUE         change the only object of a type behind Terraform's back
//	cloud objects                            count the objects by type
func (s *teller) cloudCmd(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	fmt.Fprintf(s.loud, "\n\033[36m$ cloud %s\033[0m\n", shellWords(args))
	switch args[0] {
	case "start":
		s.startCloud(ctx, ts)
	case "fail":
		ts.Check(s.cloud.SetFaults(ctx, cloud.Fault{Type: args[1], Operation: args[2], Times: 1, Error: args[3]}))
	case "drift":
		objects := s.objects(ctx, ts)[args[1]]
		if len(objects) != 1 {
			ts.Fatalf("the cloud has %d objects of type %s", len(objects), args[1])
		}
		ts.Check(s.cloud.Drift(ctx, args[1], objects[0], args[2], json.RawMessage(args[3])))
	case "objects":
		var list strings.Builder
		objects := s.objects(ctx, ts)
		for _, typ := range slices.Sorted(maps.Keys(objects)) {
			fmt.Fprintf(&list, "%4d %s\n", len(objects[typ]), typ)
		}
		fmt.Fprint(s.loud, list.String())
		fmt.Fprint(ts.Stdout(), list.String())
	default:
		ts.Fatalf("there is no command cloud %s", args[0])
	}
}

// startCloud starts a cloud that ends with the story. Its directory is outside of the one that is searched for secrets.
func (s *teller) startCloud(ctx context.Context, ts *testscript.TestScript) {
	dir, err := place()
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	services, err := cloudtest.Start(dir)
	ts.Check(err)
	ts.Defer(func() { _ = services.Close() })
	s.customer = &customer{account: &account.Account{Cloud: services, ID: customerAccount, Region: customerRegion,
		Make: s.makeNetwork}, stacks: map[string]*account.Stack{}, entered: map[string]map[string]string{}}
	for _, variable := range services.Environ() {
		if name, value, _ := strings.Cut(variable, "="); name == "SSL_CERT_FILE" {
			ts.Setenv(name, value)
		}
	}
	s.cloud, err = cloud.Start(ctx, cloud.Options{Dir: dir, Kubeconfig: s.kubeconfig, Upstream: services.Proxy()})
	ts.Check(err)
	ts.Defer(func() { // its users are stopped first
		_ = s.stop()
		_ = s.cloud.Close()
	})
	for _, variable := range s.cloud.Env() {
		name, value, _ := strings.Cut(variable, "=")
		if name == "PATH" {
			value = filepath.Join(dir, "bin") + string(os.PathListSeparator) + ts.Getenv("PATH")
		}
		ts.Setenv(name, value)
	}
}

// objects returns the ids of the cloud's objects by their types.
func (s *teller) objects(ctx context.Context, ts *testscript.TestScript) map[string][]string {
	found, err := s.cloud.Objects(ctx)
	ts.Check(err)
	ids := map[string][]string{}
	for _, o := range found {
		ids[o.Type] = append(ids[o.Type], o.ID)
	}
	return ids
}
