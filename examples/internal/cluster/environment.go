package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// environment is the variables of a container. Of several with one name, the last one counts.
type environment struct {
	names  []string // each once, in the order of the pod
	values map[string]string
}

func (e *environment) set(name, value string) {
	if _, there := e.values[name]; !there {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

// expand replaces $(NAME) with the values known so far, as Kubernetes does.
func (e *environment) expand(text string) string {
	return expansion.Expand(text, expansion.MappingFuncFor(e.values))
}

func (e *environment) expandAll(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = e.expand(text)
	}
	return all
}

func (e *environment) list() []string {
	all := make([]string, len(e.names))
	for i, name := range e.names {
		all[i] = name + "=" + e.values[name]
	}
	return all
}

// environment resolves env and envFrom of a container of a pod with an address. Errors name what is missing, and never
// contain a value.
func (k *kubelet) environment(ctx context.Context, pod *corev1.Pod, c *corev1.Container, address string) (*environment,
	error) {
	e := &environment{values: map[string]string{}}
	for _, from := range c.EnvFrom {
		all, err := k.allOf(ctx, pod.Namespace, from)
		if err != nil {
			return nil, err
		}
		for name, value := range all {
			e.set(from.Prefix+name, value)
		}
	}
	for _, v := range c.Env {
		value, there, err := e.expand(v.Value), true, error(nil)
		if v.ValueFrom != nil {
			value, there, err = k.valueOf(ctx, pod, v.ValueFrom, address)
		}
		if err != nil {
			return nil, err
		}
		if there {
			e.set(v.Name, value)
		}
	}
	return e, nil
}

// allOf returns all pairs of a Secret or ConfigMap.
func (k *kubelet) allOf(ctx context.Context, namespace string, from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.SecretRef != nil:
		return k.secret(ctx, namespace, from.SecretRef.Name, from.SecretRef.Optional)
	case from.ConfigMapRef != nil:
		return k.configMap(ctx, namespace, from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	}
	return nil, nil
}

// valueOf returns the value of one variable's source. there is false if the source is optional and
// missing.
func (k *kubelet) valueOf(ctx context.Context, pod *corev1.Pod, from *corev1.EnvVarSource,
	address string) (value string, there bool, err error) {
	switch {
	case from.SecretKeyRef != nil:
		all, err := k.secret(ctx, pod.Namespace, from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		return keyOf(all, err, "Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Optional)
	case from.ConfigMapKeyRef != nil:
		all, err := k.configMap(ctx, pod.Namespace, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
		return keyOf(all, err, "ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key,
			from.ConfigMapKeyRef.Optional)
	case from.FieldRef != nil:
		value, err := fieldOf(pod, from.FieldRef.FieldPath, address)
		return value, err == nil, err
	}
	return "", false, errors.New("this cluster resolves env from secretKeyRef, configMapKeyRef and fieldRef only")
}

func keyOf(all map[string]string, err error, kind, name, key string, optional *bool) (value string, there bool,
	_ error) {
	if err != nil {
		return "", false, err
	}
	value, there = all[key]
	if !there && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("couldn't find key %s in %s %s", key, kind, name)
	}
	return value, there, nil
}

// fieldOf returns a field of the pod with an address, as text.
func fieldOf(pod *corev1.Pod, path, address string) (string, error) {
	switch path {
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return "127.0.0.1", nil
	case "status.podIP", "status.podIPs":
		return address, nil
	}
	return fieldpath.ExtractFieldPathAsString(pod, path)
}

func (k *kubelet) secret(ctx context.Context, namespace, name string, optional *bool) (map[string]string, error) {
	s, err := k.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, missingUnless(optional, err)
	}
	all := map[string]string{}
	for key, value := range s.Data {
		all[key] = string(value)
	}
	return all, nil
}

func (k *kubelet) configMap(ctx context.Context, namespace, name string, optional *bool) (map[string]string, error) {
	m, err := k.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, missingUnless(optional, err)
	}
	return m.Data, nil
}

func missingUnless(optional *bool, err error) error {
	if optional != nil && *optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
