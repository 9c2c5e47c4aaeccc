package kubernetes_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/kubernetes"
)

var mail = secretstore.Name{Install: "ins_1", Secret: "smtp_password"}

func open(t *testing.T) (*cluster.Cluster, *kubernetes.Store, string) {
	t.Helper()
	c := clustertest.Open(t)
	namespace := clustertest.Name("secrets")
	t.Cleanup(func() { clustertest.Delete(t, c, api.ObjectRef{Version: "v1", Kind: "Namespace", Name: namespace}) })
	store, err := kubernetes.Open(c.RESTConfig(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	return c, store, namespace
}

func TestSecretsOfANamespace(t *testing.T) {
	t.Parallel()
	_, store, _ := open(t)
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Fatalf("of a secret that does not exist, in a namespace that does not exist: %v", err)
	}
	versions := map[string]bool{}
	for _, value := range []string{"one", "two"} {
		if err := store.Set(t.Context(), mail, seal.NewSecret([]byte(value))); err != nil {
			t.Fatal(err)
		}
		version, err := store.Version(t.Context(), mail)
		if err != nil || version == "" || versions[version] {
			t.Fatalf("%q %v", version, err)
		}
		versions[version] = true
		found, err := store.Get(t.Context(), mail)
		if err != nil || string(found.Secret.Reveal()) != value || found.Version != version {
			t.Fatalf("%q %v", found.Version, err)
		}
	}
	for _, other := range []secretstore.Name{{Install: "ins_2", Secret: "smtp_password"}, {Install: "ins_1",
		Secret: "smtp"}} {
		if _, err := store.Get(t.Context(), other); !errors.Is(err, secretstore.ErrMissing) {
			t.Errorf("%v: %v", other, err)
		}
	}
	if err := store.Delete(t.Context(), mail); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Errorf("deleted twice: %v", err)
	}
}

// TestForeignSecret checks that a Secret of the right name without the marks of the install is none of its secrets.
func TestForeignSecret(t *testing.T) {
	t.Parallel()
	c, store, namespace := open(t)
	if err := store.Set(t.Context(), mail, seal.NewSecret([]byte("one"))); err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(store.Location(mail), "/")
	resource, err := c.Resource(api.ObjectRef{Version: "v1", Kind: "Secret", Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	_, err = resource.Patch(t.Context(), name, "application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"nuon.co/install":"ins_2"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), mail); !errors.Is(err, secretstore.ErrMissing) {
		t.Error(err)
	}
}

// TestNotPermitted checks that a login without rights is not taken for a missing secret.
func TestNotPermitted(t *testing.T) {
	t.Parallel()
	c, _, namespace := open(t)
	config := c.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	store, err := kubernetes.Open(config, namespace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Version(t.Context(), mail); !errors.Is(err, secretstore.ErrNotPermitted) ||
		errors.Is(err, secretstore.ErrMissing) {
		t.Error(err)
	}
}
