package apps

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/http/httptest"

	"github.com/nuon-toolkit/nuon/pkg/cloudtest"
)

// secretStore is the customer's store of secrets. It speaks the protocol of AWS, also for apps of other clouds.
type secretStore struct {
	*cloudtest.SecretsManager

	server *httptest.Server
}

// openSecretStore starts an empty store.
func openSecretStore() *secretStore {
	store := &secretStore{SecretsManager: cloudtest.NewSecretsManager()}
	store.server = httptest.NewServer(http.Handler(store.SecretsManager))
	return store
}

// secretRules are what the runner file states about the store.
const secretRules = "[secrets]\nstore = \"aws\"\nregion = \"eu-west-1\"\n"

// env returns the environment in which a runner finds the store.
func (s *secretStore) env() []string {
	return []string{"AWS_ENDPOINT_URL_SECRETS_MANAGER=" + s.server.URL, "AWS_ACCESS_KEY_ID=AKIDEXAMPLE",
		"AWS_SECRET_ACCESS_KEY=simulated", "AWS_EC2_METADATA_DISABLED=true"}
}

// enterSecrets stores what the app's stack generates or asks the customer for.
func (n *installation) enterSecrets(install string) {
	for i := range n.config.Secrets {
		secret := &n.config.Secrets[i]
		if secret.Address != "" {
			continue // a component makes it
		}
		value := cmp.Or(secret.Default, "Simulated-secret-1")
		if secret.Format == "base64" {
			value = base64.StdEncoding.EncodeToString([]byte(value))
		}
		n.secrets.Put(install+"/"+secret.Name, value)
	}
}
