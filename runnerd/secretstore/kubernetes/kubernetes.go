// Package kubernetes stores secrets as Secrets of a namespace in the runner's own cluster, for installs without a
// cloud. Only the runner and the cluster's administrators need access to that namespace.
package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
	"github.com/nuon-toolkit/nuon/pkg/seal"
	"github.com/nuon-toolkit/nuon/runnerd/secretstore"
)

// DefaultNamespace is the namespace of a store whose owner names none.
const DefaultNamespace = "nuon-secrets"

const (
	labelInstall  = "nuon.co/install"
	annotation    = "nuon.co/secret"
	key           = "value"
	fieldManager  = "nuon-secrets"
	maxNamePart   = 40
	hashLength    = 10
	managedByKey  = "app.kubernetes.io/managed-by"
	managedByNuon = "nuon"
)

var (
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// Store is one namespace of a cluster.
type Store struct {
	objects   dynamic.Interface
	metadata  metadata.Interface
	namespace string
}

var namespaceName = lazyregexp.New(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Open returns the store in a namespace of a cluster.
func Open(config *rest.Config, namespace string) (*Store, error) {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	if !namespaceName.MatchString(namespace) {
		return nil, fmt.Errorf("%.80q is no name of a namespace", namespace)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	metadata, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Store{objects: objects, metadata: metadata, namespace: namespace}, nil
}

var notInName = lazyregexp.New(`[^a-z0-9]+`)

// objectName returns the name of the Secret: readable, and different for each install and secret.
func objectName(name secretstore.Name) string {
	sum := sha256.Sum256([]byte(name.Install + "/" + name.Secret))
	readable := strings.Trim(notInName.ReplaceAllString(name.Secret, "-"), "-")
	if len(readable) > maxNamePart {
		readable = readable[:maxNamePart]
	}
	return strings.Trim(readable+"-"+hex.EncodeToString(sum[:])[:hashLength], "-")
}

// Location returns the namespace and the name of a Secret.
func (s *Store) Location(name secretstore.Name) string {
	return "Kubernetes Secret " + s.namespace + "/" + objectName(name)
}

// check returns an error for a name that this store does not have.
func check(name secretstore.Name) error {
	if name.Address != "" {
		return fmt.Errorf("%.120q is no address of a secret in Kubernetes", name.Address)
	}
	return nil
}

// isOf reports whether a Secret is that of the name.
func isOf(labels, annotations map[string]string, name secretstore.Name) bool {
	return labels[labelInstall] == name.Install && annotations[annotation] == name.Secret
}

// Version returns the resource version of the Secret, from its metadata alone.
func (s *Store) Version(ctx context.Context, name secretstore.Name) (string, error) {
	if err := check(name); err != nil {
		return "", err
	}
	found, err := s.metadata.Resource(secrets).Namespace(s.namespace).Get(ctx, objectName(name), metav1.GetOptions{})
	switch {
	case err != nil:
		return "", explain(err)
	case !isOf(found.Labels, found.Annotations, name):
		return "", fmt.Errorf("the Secret of that name belongs to another secret: %w", secretstore.ErrMissing)
	case found.DeletionTimestamp != nil:
		return "", fmt.Errorf("it is being deleted: %w", secretstore.ErrMissing)
	}
	return found.ResourceVersion, nil
}

// Get returns the value.
func (s *Store) Get(ctx context.Context, name secretstore.Name) (secretstore.Value, error) {
	if err := check(name); err != nil {
		return secretstore.Value{}, err
	}
	found, err := s.objects.Resource(secrets).Namespace(s.namespace).Get(ctx, objectName(name), metav1.GetOptions{})
	switch {
	case err != nil:
		return secretstore.Value{}, explain(err)
	case !isOf(found.GetLabels(), found.GetAnnotations(), name):
		return secretstore.Value{}, fmt.Errorf("the Secret of that name belongs to another secret: %w",
			secretstore.ErrMissing)
	}
	encoded, _, _ := unstructured.NestedString(found.Object, "data", key)
	value, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(value) == 0 {
		return secretstore.Value{}, fmt.Errorf("its Secret has no key %s: %w", key, secretstore.ErrMissing)
	}
	return secretstore.Value{Secret: seal.NewSecret(value), Version: found.GetResourceVersion()}, nil
}

// Set writes the Secret, and creates the namespace if it does not exist.
func (s *Store) Set(ctx context.Context, name secretstore.Name, value seal.Secret) error {
	if err := check(name); err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{
			"name": objectName(name), "namespace": s.namespace,
			"labels":      map[string]any{labelInstall: name.Install, managedByKey: managedByNuon},
			"annotations": map[string]any{annotation: name.Secret},
		},
		"data": map[string]any{key: base64.StdEncoding.EncodeToString(value.Reveal())},
	}}
	apply := func() error {
		_, err := s.objects.Resource(secrets).Namespace(s.namespace).Apply(ctx, object.GetName(), object,
			metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	}
	err := apply()
	if !apierrors.IsNotFound(err) {
		return explain(err)
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": s.namespace, "labels": map[string]any{managedByKey: managedByNuon}}}}
	_, err = s.objects.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return explain(err)
	}
	return explain(apply())
}

// Delete deletes the Secret.
func (s *Store) Delete(ctx context.Context, name secretstore.Name) error {
	if _, err := s.Version(ctx, name); err != nil {
		return err
	}
	return explain(s.objects.Resource(secrets).Namespace(s.namespace).Delete(ctx, objectName(name),
		metav1.DeleteOptions{}))
}

// explain returns what an error of the API server means for the secret.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: %w", err, secretstore.ErrMissing)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w", err, secretstore.ErrNotPermitted)
	case apierrors.IsInvalid(err):
		return errors.New("the API server rejects the Secret") // its message could quote the value
	}
	return err
}
