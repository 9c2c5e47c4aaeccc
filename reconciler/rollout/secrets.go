package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/pkg/render"
	"github.com/nuon-toolkit/nuon/pkg/sha256digest"
	"github.com/nuon-toolkit/nuon/reconciler/installsecrets"
	"github.com/nuon-toolkit/nuon/reconciler/installstack"
	"github.com/nuon-toolkit/nuon/reconciler/store"
)

// addSecrets adds what the runner reported of the customer's secrets.
func (s *snapshot) addSecrets(v store.ValuesOfInstallsRow) error {
	reports, err := installsecrets.Decode(v.Value)
	if err != nil {
		return err
	}
	s.secretsDigest, s.secrets = v.Name, make(map[string]installsecrets.Report, len(reports))
	for _, report := range reports {
		s.secrets[report.Name] = report
	}
	return nil
}

// secret returns a secret that the release declares; nil if it declares none of that name.
func (s *snapshot) secret(name string) *appconfig.Secret {
	if s.config == nil {
		return nil
	}
	i := slices.IndexFunc(s.config.Secrets, func(secret appconfig.Secret) bool { return secret.Name == name })
	if i < 0 {
		return nil
	}
	return &s.config.Secrets[i]
}

// secretLeaves returns what a ref reads of the customer's secrets: a reference for the value of each that the ref
// names, and what the runner reported of them. A ref to all of install has no value of a secret.
func (s *snapshot) secretLeaves(ref render.Path) []leaf {
	var all []leaf
	switch {
	case s.config == nil:
	case ref.HasPrefix("install", "secrets"):
		for i := range s.config.Secrets {
			secret := &s.config.Secrets[i]
			report := s.secrets[secret.Name]
			if !readsKey(ref, 2, secret.Name) || report.State != api.SecretStatusStatePresent {
				continue
			}
			all = append(all, leaf{path: render.Path{"install", "secrets", secret.Name}, inDigest: true,
				version: report.Version, secret: &api.SecretReference{Name: secret.Name, Address: secret.Address}})
			for _, address := range templateRefs(secret.Address) {
				for _, l := range s.leaves(address) {
					l.inDigest = false // the version of the secret counts
					all = append(all, l)
				}
			}
		}
	case ref.HasPrefix("secrets"):
		for i := range s.config.Secrets {
			if secret := &s.config.Secrets[i]; readsKey(ref, 1, secret.Name) {
				all = append(all, s.reportLeaves(ref, secret)...)
			}
		}
	}
	return all
}

// reportLeaves returns what a ref reads of the report about one secret.
func (s *snapshot) reportLeaves(ref render.Path, secret *appconfig.Secret) []leaf {
	var all []leaf
	report, reported := s.secrets[secret.Name]
	add := func(key string, value any, has bool) {
		if has && readsKey(ref, 2, key) {
			all = append(all, newLeaf(render.Path{"secrets", secret.Name, key}, value, true))
		}
	}
	present := report.State == api.SecretStatusStatePresent
	add("name", secret.Name, true)
	add("exists", present, reported)
	add("version", report.Version, present)
	add("timestamp", report.Since.UTC().Format(time.RFC3339), present)
	if len(report.Copies) > 0 {
		add("kubernetes_namespace", report.Copies[0].Namespace, true)
		add("kubernetes_name", report.Copies[0].Name, true)
		add("kubernetes_key", report.Copies[0].Key, true)
	}
	if address := s.stack[secret.Name+"_arn"]; address != nil && readsKey(ref, 2, "arn") {
		all = append(all, leaf{path: render.Path{"secrets", secret.Name, "arn"}, plain: address, inDigest: true})
	}
	return all
}

// templateRefs returns the paths that a text reads.
func templateRefs(text string) []render.Path {
	if !strings.Contains(text, ".nuon") {
		return nil
	}
	template, err := render.Parse("secret", text)
	if err != nil {
		return nil
	}
	var refs []render.Path
	for _, ref := range template.Refs() {
		refs = append(refs, render.Canonical(ref))
	}
	return refs
}

// copiesOf returns where a secret is to be copied, as templates.
func copiesOf(secret *appconfig.Secret) []api.SecretCopy {
	all := []api.SecretCopy{}
	const key = "value"
	if secret.KubernetesSync && secret.KubernetesSecretName != "" {
		all = append(all, api.SecretCopy{Namespace: secret.KubernetesSecretNamespace, Name: secret.KubernetesSecretName,
			Key: key})
	}
	for _, target := range secret.KubernetesSyncTargets {
		for _, namespace := range target.Namespaces {
			all = append(all, api.SecretCopy{Namespace: namespace, Name: target.Name, Key: cmp.Or(target.Key, key)})
		}
	}
	return all
}

// missingSecrets returns why refs cannot be resolved because of the customer's secrets that they read, or "" if
// they can. stuck is set if that lasts until a person acts.
func (s *snapshot) missingSecrets(refs []render.Path) (reason string, stuck bool) {
	for _, ref := range refs {
		name := secretOf(ref)
		if secret := s.secret(name); secret != nil && len(s.leaves(ref)) == 0 {
			if reason, stuck := s.secretProblem(secret); reason != "" {
				return reason, stuck
			}
			return fmt.Sprintf("secret %s has no %s; declare it in secrets.toml", name, ref[len(ref)-1]), true
		}
	}
	return "", false
}

// secretOf returns the name of the secret whose value or report a ref reads, or "" if it reads no single one.
func secretOf(ref render.Path) string {
	switch {
	case len(ref) < 3: //nolint:mnd // install.secrets.NAME, secrets.NAME.FIELD
	case ref.HasPrefix("install", "secrets"):
		return ref[2]
	case ref[0] == "secrets":
		return ref[1]
	}
	return ""
}

// secretProblem returns why a secret is not present, in the words of the customer's side; "" if it is.
func (s *snapshot) secretProblem(secret *appconfig.Secret) (reason string, stuck bool) {
	report, reported := s.secrets[secret.Name]
	switch {
	case reported && report.State == api.SecretStatusStatePresent:
		return "", false
	case s.runnerKey == "":
		return fmt.Sprintf("secret %s is not known: the runner has not registered yet", secret.Name), false
	case !installsecrets.Allowed(s.runner):
		return fmt.Sprintf("secret %s is not known: the runner's own file does not allow jobs of kind secrets",
				secret.Name),
			true
	case !s.addressKnown(secret):
		return fmt.Sprintf("secret %s is not known: the output with its address has no value yet", secret.Name), false
	}
	if why := s.noCopyRole(); why != "" {
		return fmt.Sprintf("secret %s is not checked: %s", secret.Name, why), true
	}
	if !reported {
		return fmt.Sprintf("secret %s is not known: the runner has not reported it yet", secret.Name), false
	}
	switch report.State {
	case api.SecretStatusStateMissing:
		if secret.Address != "" {
			return fmt.Sprintf("secret %s is missing: %s", secret.Name, report.Problem), true
		}
		return fmt.Sprintf("secret %s is missing: the customer sets it in the install stack, or with "+
			"\"runnerd secrets set %s --install %s --dir DIR\" on the runner's machine", secret.Name, secret.Name,
			s.install.ID), true
	case api.SecretStatusStateNotPermitted:
		return fmt.Sprintf("secret %s cannot be read: the runner is not permitted to: %s", secret.Name, report.Problem),
			true
	}
	return fmt.Sprintf("secret %s is not known: %s", secret.Name, report.Problem), false
}

// addressKnown reports whether the output with the address of a secret has a value. It is true for one without an
// address.
func (s *snapshot) addressKnown(secret *appconfig.Secret) bool {
	return !slices.ContainsFunc(templateRefs(secret.Address),
		func(ref render.Path) bool { return len(s.leaves(ref)) == 0 })
}

// waitForSecrets makes a component wait for the secrets that it reads, and for the copies in its namespace.
func (d *resolver) waitForSecrets(p *installComponent, w *desiredState) {
	wait := func(reason string, stuck bool) {
		w.WaitReason, w.Stalled, w.externalWait = reason, stuck, true
	}
	if reason, stuck := d.missingSecrets(p.refs); reason != "" {
		wait(reason, stuck)
		return
	}
	if len(p.cluster.Path) == 0 {
		return
	}
	for i := range d.config.Secrets {
		secret := &d.config.Secrets[i]
		if !d.needsCopy(p, secret) {
			continue
		}
		reason, stuck := d.secretProblem(secret)
		report := d.secrets[secret.Name]
		switch {
		case reason == "" && !report.Copied:
			problem := cmp.Or(d.noCopyRole(), report.Problem)
			wait(fmt.Sprintf("secret %s is not copied into the cluster yet%s", secret.Name, prefixed(": ", problem)),
				problem != "")
		case reason != "" && (report.State != api.SecretStatusStateMissing || isExpected(secret)):
			wait(reason, stuck)
		default:
			continue
		}
		return
	}
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// isExpected reports whether a secret without a value keeps what needs its copies waiting. An optional one does not.
func isExpected(secret *appconfig.Secret) bool {
	return secret.Required || secret.AutoGenerate || secret.CustomerManaged || secret.Address != ""
}

// needsCopy reports whether a component must not be deployed before the copies of a secret: it reads the secret's
// report, or a copy goes to its namespace. What the secret itself comes from does not need it.
func (d *resolver) needsCopy(p *installComponent, secret *appconfig.Secret) bool {
	copies := copiesOf(secret)
	if len(copies) == 0 || d.comesFrom(secret, p.row.Name) {
		return false
	}
	if slices.ContainsFunc(p.refs, func(ref render.Path) bool { return ref.HasPrefix("secrets", secret.Name) }) {
		return true
	}
	namespace := ""
	switch {
	case p.config.Helm != nil:
		namespace = p.config.Helm.Namespace
	case p.config.Manifest != nil:
		namespace = p.config.Manifest.Namespace
	}
	return slices.ContainsFunc(copies, func(c api.SecretCopy) bool { return sameTemplate(c.Namespace, namespace) })
}

// sameTemplate reports whether two templates are equal but for blanks.
func sameTemplate(a, b string) bool {
	return strings.Join(strings.Fields(a), "") == strings.Join(strings.Fields(b), "")
}

// comesFrom reports whether the address of a secret is the output of a component, or of one that depends on it.
func (d *resolver) comesFrom(secret *appconfig.Secret, component string) bool {
	for _, ref := range templateRefs(secret.Address) {
		if len(ref) < 2 || ref[0] != "components" {
			continue
		}
		seen, open := map[string]bool{}, []string{ref[1]}
		for len(open) > 0 {
			name := open[0]
			open = open[1:]
			if name == component {
				return true
			}
			if p := d.components[name]; p != nil && !seen[name] {
				seen[name] = true
				open = append(open, p.dependsOn...)
			}
		}
	}
	return false
}

// noCopyRole returns why no secrets job runs now: it would make copies, and there is no role for that. It is empty
// otherwise.
func (s *snapshot) noCopyRole() string {
	_, why := s.copyRole()
	return why
}

// DeclaredSecrets returns what the release of an install declares of secrets (installsecrets.Source).
func (r *Rollout) DeclaredSecrets(ctx context.Context, tx *store.Tx, install store.Install) (
	declared installsecrets.Declared, err error) {
	s, err := loadLocked(ctx, tx, install, r.configs)
	if err != nil {
		return declared, err
	}
	spec, refs := s.secretsSpec()
	declared.Digest = s.digestOf(spec, refs)
	if spec.Values, err = s.values(refs); err != nil {
		return declared, err
	}
	declared.Spec.Secrets = spec
	declared.Spec.Role, declared.NoRole = s.copyRole()
	return declared, nil
}

// copyRole returns the role under which a secrets job reaches the cluster, or why there is none now. Both are zero for
// a job that makes no copies: the runner itself reads the store.
func (s *snapshot) copyRole() (role api.OperationRole, why string) {
	if !s.makesCopies() {
		return role, ""
	}
	return s.operationRole(installstack.Operation{Verb: installstack.VerbSecrets})
}

// makesCopies reports whether a secrets job reaches the cluster: there is one, and a secret is to be copied or was.
func (s *snapshot) makesCopies() bool {
	if s.config == nil || s.install.DesiredPresence == "absent" {
		return false
	}
	if sandbox := s.components[appconfig.SandboxName]; s.config.Sandbox != nil &&
		(sandbox == nil || sandbox.row.AppliedDigest == "") {
		return false
	}
	for _, report := range s.secrets {
		if len(report.Copies) > 0 {
			return true
		}
	}
	for i := range s.config.Secrets {
		if secret := &s.config.Secrets[i]; len(copiesOf(secret)) > 0 && s.addressKnown(secret) {
			return true
		}
	}
	return false
}

// secretsSpec returns the spec of a secrets job without values, and the paths that its templates read. A secret whose
// address has no value yet is not part of it. There is a cluster once the sandbox is deployed.
func (s *snapshot) secretsSpec() (api.SecretsSpec, []render.Path) {
	spec := api.SecretsSpec{Install: s.install.Name, InstallID: s.install.ID, Secrets: []api.SecretSpec{}}
	if s.config == nil {
		return spec, nil
	}
	var refs []render.Path
	for i := range s.config.Secrets {
		secret := &s.config.Secrets[i]
		if !s.addressKnown(secret) {
			continue
		}
		made := api.SecretSpec{Name: secret.Name, Address: secret.Address, Generate: secret.AutoGenerate,
			Base64: secret.Format == "base64", Copies: copiesOf(secret)}
		refs = append(refs, templateRefs(secret.Address)...)
		for _, c := range made.Copies {
			for _, text := range []string{c.Namespace, c.Name, c.Key} {
				refs = append(refs, templateRefs(text)...)
			}
		}
		spec.Secrets = append(spec.Secrets, made)
	}
	if s.makesCopies() {
		spec.Cluster = clusterNamed(s.config, "")
		refs = append(refs, render.Path(spec.Cluster.Path))
	}
	return spec, refs
}

// digestOf returns the digest of a spec and of the values that it reads.
func (s *snapshot) digestOf(spec api.SecretsSpec, refs []render.Path) string {
	spec.Values = api.Values{}
	raw, _ := json.Marshal(struct { // texts always encode
		Spec   api.SecretsSpec `json:"spec"`
		Values []valueDigest   `json:"values"`
	}{spec, s.digestValues(refs)})
	return sha256digest.Of(raw)
}

// requestSecretChecks makes a check due for each install of which the runner was not asked what its release
// declares now.
func requestSecretChecks(ctx context.Context, tx *store.Tx, installs []*snapshot) error {
	for _, s := range installs {
		if s.config == nil || len(s.config.Secrets) == 0 && len(s.secrets) == 0 || s.runnerKey == "" {
			continue
		}
		if spec, refs := s.secretsSpec(); s.digestOf(spec, refs) == s.secretsDigest {
			continue
		}
		if err := installsecrets.RequestCheck(ctx, tx, s.install.ID); err != nil {
			return err
		}
	}
	return nil
}
