package appconfig

import (
	"strings"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/format"
	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
	"github.com/nuon-toolkit/nuon/pkg/lazyregexp"
)

// secretName matches an RFC 1123 host name: section 12, rule 15.
var secretName = lazyregexp.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// namespaceName matches an RFC 1123 label.
var namespaceName = lazyregexp.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// checkSecrets checks the options of the secrets: section 8.2.
func (c *checker) checkSecrets() {
	copies := map[string]syntax.Position{}
	for _, e := range c.secrets {
		c.checkSecretValue(e)
		c.checkSync(e)
		c.checkCopies(e, copies)
	}
}

// checkSecretValue requires that a value has only one origin.
func (c *checker) checkSecretValue(e *entry[format.Secret]) {
	t, secret := e.table, &e.value
	conflict := func(key, other, hint string) {
		c.errorf(ruleSecretOptions, t.KeyPosition(other), hint,
			"secret %q cannot have both %s and %s", secret.Name, key, other)
	}
	if secret.Address != "" && !strings.Contains(secret.Address, ".outputs.") {
		c.errorf(ruleSecretOptions, t.Position("address"), "write {{ .nuon.components.NAME.outputs.OUTPUT }}",
			"the address of secret %q is not an output of a component", secret.Name)
	}
	switch {
	case secret.Address != "" && secret.Required:
		conflict("address", "required", "remove required")
	case secret.Address != "" && secret.AutoGenerate:
		conflict("address", "auto_generate", "remove auto_generate")
	case secret.Address != "" && secret.CustomerManaged:
		conflict("address", "customer_managed", "remove customer_managed")
	case secret.AutoGenerate && secret.Required:
		conflict("auto_generate", "required", "remove required")
	case secret.AutoGenerate && secret.Default != "":
		conflict("auto_generate", "default", "remove default")
	case secret.Required && secret.Default != "":
		conflict("required", "default", "remove one of them")
	case secret.Default != "":
		c.warnf(ruleNoEffect, t.KeyPosition("default"),
			"remove it and let the customer give the value, or write auto_generate = true",
			"the default of secret %q has no effect: what everyone can read in a file is no secret", secret.Name)
	}
}

// checkSync checks the options for the copy in the cluster.
func (c *checker) checkSync(e *entry[format.Secret]) {
	t, secret := e.table, &e.value
	for _, key := range []struct{ name, value string }{
		{"kubernetes_secret_namespace", secret.KubernetesSecretNamespace},
		{"kubernetes_secret_name", secret.KubernetesSecretName},
	} {
		switch {
		case secret.KubernetesSync && key.value == "" && len(secret.KubernetesSyncTargets) == 0:
			c.errorf(ruleSecretOptions, t.KeyPosition("kubernetes_sync"), "",
				"secret %q is copied into the cluster, and %q is missing", secret.Name, key.name)
		case !secret.KubernetesSync && has(t, key.name):
			c.warnf(ruleNoEffect, t.KeyPosition(key.name), "write kubernetes_sync = true, or remove it",
				"%s has no effect: secret %q is not copied into the cluster", key.name, secret.Name)
		}
	}
	c.checkKubernetesName(t.Position("kubernetes_secret_name"), secretName, "a Secret", secret.KubernetesSecretName)
	c.checkKubernetesName(t.Position("kubernetes_secret_namespace"), namespaceName, "a namespace",
		secret.KubernetesSecretNamespace)
}

func (c *checker) checkKubernetesName(at syntax.Position, rule *lazyregexp.Regexp, what, name string) {
	if name != "" && !strings.Contains(name, "{{") && (len(name) > 253 || !rule.MatchString(name)) {
		c.errorf(ruleBadName, at, "use lower-case letters, digits and dashes",
			"%s is no name for %s in Kubernetes", diagnostic.Quote(name), what)
	}
}

// checkCopies reports two copies with one destination, of this secret or of this one and another.
func (c *checker) checkCopies(e *entry[format.Secret], copies map[string]syntax.Position) {
	t, secret := e.table, &e.value
	add := func(at syntax.Position, namespace, name, key string) {
		if key == "" {
			key = "value"
		}
		destination := strings.Join([]string{normalizeRoleName(namespace), normalizeRoleName(name), key}, " ")
		if other, taken := copies[destination]; taken {
			c.errorf(ruleSecretOptions, at, "copy it somewhere else, or under another key",
				"key %s of Secret %s in namespace %s is copied to twice: first in %s:%d",
				diagnostic.Quote(key), diagnostic.Quote(name), diagnostic.Quote(namespace), other.File, other.Line)
			return
		}
		copies[destination] = at
	}
	if secret.KubernetesSync && secret.KubernetesSecretName != "" && secret.KubernetesSecretNamespace != "" {
		add(t.Position("kubernetes_secret_name"), secret.KubernetesSecretNamespace, secret.KubernetesSecretName, "")
	}
	for i, target := range secret.KubernetesSyncTargets {
		path := syntax.JoinIndex("kubernetes_sync_targets", i)
		c.checkKubernetesName(t.Position(path+".name"), secretName, "a Secret", target.Name)
		if n := t.Find(path + ".namespaces"); n != nil && len(target.Namespaces) == 0 {
			c.errorf(ruleEmptyList, n.At, "", "%q must not be empty", path+".namespaces")
		}
		for j, namespace := range target.Namespaces {
			at := t.Position(syntax.JoinIndex(path+".namespaces", j))
			c.checkKubernetesName(at, namespaceName, "a namespace", namespace)
			add(at, namespace, target.Name, target.Key)
		}
	}
}
