// Package jobstore opens the store of secrets that the runner's owner chose, and gives jobs the values that their
// templates read. It contains nothing about one kind of store.
package jobstore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/audit"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/job"
	"github.com/nuon-toolkit/nuon/runnerd/jobenv"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/aws"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/azure"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/gcp"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore/kubernetes"
	"github.com/nuon-toolkit/nuon/runnerd/values"
)

// The variables by which the environment of a runner shows its cloud.
var (
	awsVariables = []string{"AWS_REGION", "AWS_DEFAULT_REGION"}
	gcpVariables = []string{"GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GOOGLE_PROJECT"}
)

const varServiceHost = "KUBERNETES_SERVICE_HOST"

// Open returns the store. Without one in the runner file it is that of the cloud that the environment shows, else the
// cluster of the runner's kubeconfig or the one that the runner runs in.
func Open(ctx context.Context, chosen policy.Secrets, kubeConfig string, log cluster.Log) (secretstore.Store, error) {
	if chosen.Store == (policy.StoreKind{}) {
		chosen.Store = fromEnvironment(kubeConfig)
	}
	opened, err := open(ctx, chosen, kubeConfig, log)
	if err != nil {
		return nil, fmt.Errorf("open the store of secrets: %w", err)
	}
	return secretstore.Limited{Store: opened, Installs: chosen.Installs, Addresses: chosen.Addresses}, nil
}

// first returns the value of the first of the variables that is set.
func first(variables []string) string {
	for _, name := range variables {
		if value := jobenv.Lookup(os.Environ(), name); value != "" {
			return value
		}
	}
	return ""
}

func fromEnvironment(kubeConfig string) policy.StoreKind {
	switch {
	case first(awsVariables) != "":
		return policy.StoreAWS
	case first(gcpVariables) != "":
		return policy.StoreGCP
	case kubeConfig != "", os.Getenv(varServiceHost) != "":
		return policy.StoreKubernetes
	}
	return policy.StoreKind{}
}

func open(ctx context.Context, chosen policy.Secrets, kubeConfig string, log cluster.Log) (secretstore.Store, error) {
	switch chosen.Store {
	case policy.StoreAWS:
		return aws.Open(ctx, chosen.Region)
	case policy.StoreGCP:
		if chosen.Project == "" {
			chosen.Project = first(gcpVariables)
		}
		return gcp.Open(gcp.Options{Project: chosen.Project})
	case policy.StoreAzure:
		return azure.Open(azure.Options{Vault: chosen.Vault})
	case policy.StoreKubernetes:
		config, err := ownCluster(kubeConfig, log)
		if err != nil {
			return nil, err
		}
		return kubernetes.Open(config, chosen.Namespace)
	}
	return nil,
		errors.New("the runner has none: its owner names it with store under [secrets] in the runner file (aws, gcp, " +
			"azure or kubernetes)")
}

// ownCluster returns the access to the cluster of the runner's owner. Outputs of a component never lead to the store.
func ownCluster(kubeConfig string, log cluster.Log) (*rest.Config, error) {
	if kubeConfig != "" {
		found, err := cluster.FromFile(kubeConfig, "", log)
		if err != nil {
			return nil, err
		}
		return found.RESTConfig(), nil
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("%w; start the runner with --kubeconfig, or in the cluster", err)
	}
	return config, nil
}

// IsKubernetes reports whether a store that Open returned is in a cluster.
func IsKubernetes(store secretstore.Store) bool {
	limited, _ := store.(secretstore.Limited)
	_, is := limited.Store.(*kubernetes.Store)
	return is
}

// SetCommand returns the command with which the customer sets a secret.
func SetCommand(name secretstore.Name) string {
	return "runnerd secrets set " + name.Secret + " --install " + name.Install + " --dir DIR"
}

// Explain returns what an error of a store means for a secret, and what to do.
func Explain(name secretstore.Name, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, secretstore.ErrNotPermitted):
		return fmt.Errorf("secret %s: the runner is not permitted to read it: %w", name.Secret, err)
	case errors.Is(err, secretstore.ErrMissing):
		return fmt.Errorf("secret %s is missing: the customer sets it with %q: %w", name.Secret, SetCommand(name), err)
	}
	return fmt.Errorf("secret %s: %w", name.Secret, err)
}

// Address returns the address of a secret from its template; "" for a secret without one. Only an output that a
// runner of this install reported leads to an address.
func Address(opened *values.Values, secret, template string) (string, error) {
	if template == "" {
		return "", nil
	}
	return opened.RenderAuthentic("the address of secret "+secret, template)
}

// AddTo reads the secrets of an install that templates of a job read, and adds them to its values. Each is in the
// redactor before AddTo returns. A missing one is an error, unless mayMiss is set: then it is empty, and the log
// warns of it.
func AddTo(ctx context.Context, env *job.Env, opened *values.Values, install string, read []api.SecretReference,
	mayMiss bool) error {
	if len(read) == 0 {
		return nil
	}
	store, err := Open(ctx, env.Policy.Secrets, env.KubeConfig, env.Log)
	if err != nil {
		return err
	}
	for _, secret := range read {
		name := secretstore.Name{Install: install, Secret: secret.Name}
		if name.Address, err = Address(opened, secret.Name, secret.Address); err != nil {
			return err
		}
		found, err := store.Get(ctx, name)
		switch {
		case errors.Is(err, secretstore.ErrMissing) && mayMiss:
			env.Log.Warn("secret %s is missing; what is destroyed here sees an empty text", secret.Name)
		case err != nil:
			return Explain(name, err)
		default:
			env.Log.Info("read secret %s, version %s", secret.Name, found.Version)
		}
		opened.AddSecret(secret.Name, string(found.Secret.Reveal()))
		if err := audit.Append(env.Root, audit.Event{What: audit.SecretRead, Secret: secret.Name, Job: env.Spec.Job,
			Attempt: env.Spec.Attempt, Install: install, Component: policy.ComponentOf(env.Spec)}); err != nil {
			return err
		}
	}
	return nil
}
