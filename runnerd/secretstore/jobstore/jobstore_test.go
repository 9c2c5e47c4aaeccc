package jobstore_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/redact"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/jobstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/kubernetes"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// TestValuesOfAJob checks that a job gets the secrets of its install that it reads, that a missing one is an error that
// names the command that sets it, and that a destroy continues without it.
func TestValuesOfAJob(t *testing.T) {
	t.Parallel()
	cluster := clustertest.Open(t)
	namespace, install := clustertest.Namespace(t, cluster), clustertest.Name("ins")
	store, err := kubernetes.Open(cluster.RESTConfig(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{install, "ins_other"} {
		name := secretstore.Name{Install: owner, Secret: "db"}
		if err := store.Set(t.Context(), name, seal.NewSecret([]byte("planted-"+owner))); err != nil {
			t.Fatal(err)
		}
	}
	key, err := seal.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	render := func(of string, mayMiss bool, names ...string) (string, string, error) {
		var log bytes.Buffer
		known := &redact.Set{}
		env := &job.Env{Root: root, Redact: known, Log: job.NewLog(&log, known), KubeConfig: clustertest.Kubeconfig(t),
			Policy: policy.Rule{Secrets: policy.Secrets{Store: policy.StoreKubernetes, Namespace: namespace,
				Installs: []string{install}}}}
		opened, err := values.Open(of, api.Values{Plain: json.RawMessage("{}")}, key, known)
		if err != nil {
			t.Fatal(err)
		}
		var read []api.SecretReference
		text := ""
		for _, name := range names {
			read = append(read, api.SecretReference{Name: name})
			text += "[{{ .nuon.install.secrets." + name + " }}]"
		}
		if err := jobstore.AddTo(t.Context(), env, opened, of, read, mayMiss); err != nil {
			return "", log.String(), err
		}
		rendered, err := opened.Render("x", text)
		return rendered, log.String(), err
	}
	if got, log, err := render(install, false, "db"); err != nil || got != "[planted-"+install+"]" ||
		strings.Contains(log, "planted") {
		t.Errorf("%q %v\n%s", got, err, log)
	}
	_, _, err = render(install, false, "db", "mail")
	if err == nil || !strings.Contains(err.Error(), "secret mail is missing: the customer sets it with "+
		"\"runnerd secrets set mail "+
		"--install "+install) {
		t.Errorf("without a secret: %v", err)
	}
	if got, log, err := render(install, true, "db", "mail"); err != nil || got != "[planted-"+install+"][]" ||
		!strings.Contains(log, "secret mail is missing") {
		t.Errorf("a destroy without a secret: %q %v\n%s", got, err, log)
	}
	for _, of := range []string{"ins_other", install + "/../ins_other"} {
		if got, _, err := render(of, true, "db"); err == nil {
			t.Errorf("a job of %s gets %q", of, got)
		}
	}
	events, err := audit.Read(root, time.Time{})
	if err != nil || len(events) == 0 || events[0].What != audit.SecretRead || events[0].Secret != "db" ||
		events[0].Install != install {
		t.Errorf("the owner's log has %+v, %v", events, err)
	}
}
