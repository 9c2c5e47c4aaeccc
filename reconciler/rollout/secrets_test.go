package rollout

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/appconfig"
	"github.com/nuon-toolkit/nuon/reconciler/installsecrets"
)

// withSecrets returns an install whose component metrics reads the secrets of a text, and which the runner reports so.
func withSecrets(reads string, reports ...api.SecretStatus) *snapshot {
	s := newSnapshot()
	s.config.Secrets = []appconfig.Secret{{Name: "db", Required: true}, {Name: "optional"},
		{Name: "rds", Address: "{{ .nuon.components.network.outputs.net }}"}}
	for i := range s.config.Components {
		if c := &s.config.Components[i]; c.Name == "metrics" {
			c.Terraform = &appconfig.Terraform{Vars: map[string]string{"x": reads}}
			s.components["metrics"].declaration = declarationOf(s.config, "metrics")
		}
	}
	s.report(reports...)
	return s
}

func (s *snapshot) report(reports ...api.SecretStatus) {
	s.secrets = map[string]installsecrets.Report{}
	for _, r := range reports {
		s.secrets[r.Name] = installsecrets.Report{SecretStatus: r, Since: time.Unix(1764000000, 0)}
	}
}

func status(name string, state api.SecretStatusState, version, problem string) api.SecretStatus {
	return api.SecretStatus{Name: name, State: state, Version: version, Problem: problem}
}

// TestSecretsOfReaders checks what a component that reads a secret waits for, in which words, and that another
// version makes it behind.
func TestSecretsOfReaders(t *testing.T) {
	const read = "{{ .nuon.install.secrets.db }}"
	for name, c := range map[string]struct {
		reads   string
		reports []api.SecretStatus
		want    string
		stalled bool
	}{
		"not reported": {reads: read, want: "secret db is not known: the runner has not reported it yet"},
		"missing": {reads: read, reports: []api.SecretStatus{status("db", "missing", "", "it does not exist")},
			stalled: true,
			want: "secret db is missing: the customer sets it in the install stack, or with \"runnerd secrets set db " +
				"--install ins_1 --dir DIR\" on the runner's machine"},
		"not permitted": {reads: read, reports: []api.SecretStatus{status("db", "not_permitted", "", "denied by a policy")},
			want: "secret db cannot be read: the runner is not permitted to: denied by a policy", stalled: true},
		"unknown": {reads: read, reports: []api.SecretStatus{status("db", "unknown", "", "the store did not answer")},
			want: "secret db is not known: the store did not answer"},
		"present": {reads: read, reports: []api.SecretStatus{status("db", "present", "v1", "")}},
		"whether it exists": {reads: "{{ .nuon.secrets.optional.exists }}",
			reports: []api.SecretStatus{status("optional", "missing", "", "")}},
		"a version": {reads: "{{ .nuon.secrets.db.version }}", reports: []api.SecretStatus{status("db",
			"present", "v1", "")}},
		"a missing version": {reads: "{{ .nuon.secrets.db.version }}", reports: []api.SecretStatus{status("db",
			"missing", "", "")}, want: "secret db is missing", stalled: true},
		"an unknown address": {reads: "{{ .nuon.install.secrets.rds }}",
			want: "secret rds is not known: the output with its address has no value yet"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withSecrets(c.reads, c.reports...)
			s.land("sandbox")
			w := s.desiredStates()["metrics"]
			if !strings.HasPrefix(w.WaitReason, c.want) || (c.want == "") != (w.WaitReason == "") || w.Stalled != c.stalled {
				t.Errorf("waits (for a person: %t): %q\nwant: %q", w.Stalled, w.WaitReason, c.want)
			}
		})
	}
	s := withSecrets(read, status("db", "present", "v1", ""))
	s.land("sandbox", "metrics")
	if got := s.stands()["metrics"]; got != "current" {
		t.Errorf("with the same version it is %s", got)
	}
	s.report(status("db", "present", "v2", ""))
	if got := s.stands()["metrics"]; got != "behind: secret db changed" {
		t.Errorf("with another version it is %s", got)
	}
	values, err := s.values(s.components["metrics"].refs)
	if err != nil || string(values.Plain) != "{}" || len(values.Sealed) != 0 ||
		!cmp.Equal(values.Secrets, []api.SecretReference{{Name: "db"}}) {
		t.Errorf("a job gets %s %+v %v", values.Plain, values.Secrets, err)
	}
}

// TestSecretOfAnOutput checks that a job that reads a secret with an address gets the output with it.
func TestSecretOfAnOutput(t *testing.T) {
	s := withSecrets("{{ .nuon.install.secrets.rds }}", status("rds", "present", "v1", ""))
	s.land("sandbox", "network")
	values, err := s.values(s.components["metrics"].refs)
	if err != nil || !strings.Contains(string(values.Plain), "10.0.0.0/16") || len(values.Proofs) != 1 ||
		len(values.Secrets) != 1 || values.Secrets[0].Address == "" {
		t.Errorf("a job gets %s %+v %v", values.Plain, values, err)
	}
}

// TestComponentsWaitForCopies checks which charts wait for the copies of secrets.
func TestComponentsWaitForCopies(t *testing.T) {
	chart := func(reports ...api.SecretStatus) *snapshot {
		s := newSnapshot()
		s.config.Secrets = []appconfig.Secret{
			{Name: "db", Required: true, KubernetesSync: true, KubernetesSecretNamespace: "{{.nuon.install.id}}",
				KubernetesSecretName: "db"},
			{Name: "optional", KubernetesSync: true, KubernetesSecretNamespace: "{{.nuon.install.id}}",
				KubernetesSecretName: "optional"},
		}
		for i := range s.config.Components {
			c := &s.config.Components[i]
			if c.Name == "network" {
				continue
			}
			c.Kind, c.Terraform = "helm_chart", nil
			c.Helm = &appconfig.Helm{ChartName: c.Name + "-chart", Namespace: "{{ .nuon.install.id }}"}
			if c.Name == "web" {
				c.Helm.Namespace = "elsewhere"
			}
			s.components[c.Name].declaration = declarationOf(s.config, c.Name)
		}
		s.report(reports...)
		s.land("sandbox", "network")
		return s
	}
	missing, copied := status("db", "missing", "", ""), status("db", "present", "v1", "")
	for name, c := range map[string]struct {
		copied bool
		report api.SecretStatus
		want   string
	}{
		"missing":    {report: missing, want: "secret db is missing"},
		"not copied": {report: copied, want: "secret db is not copied into the cluster yet"},
		"copied":     {report: copied, copied: true},
	} {
		c.report.Copied = c.copied
		s := chart(c.report, status("optional", "missing", "", ""))
		states := s.desiredStates()
		if got := states["metrics"].WaitReason; !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: a chart of the namespace waits: %q", name, got)
		}
		if got := states["web"].WaitReason; got != "" {
			t.Errorf("%s: a chart of another namespace waits: %q", name, got)
		}
	}
}

// TestRoleOfSecrets checks that a secrets job has the maintenance role once it copies into the cluster, and that what
// waits for a copy names a role that is off.
func TestRoleOfSecrets(t *testing.T) {
	s := withRoles("aws")
	s.config.Secrets = []appconfig.Secret{{Name: "db", Required: true, KubernetesSync: true,
		KubernetesSecretNamespace: "shop", KubernetesSecretName: "db"}}
	s.stack = stackOutputs("provision_iam_role_arn", `"arn:aws:iam::1:role/p"`, "maintenance_iam_role_arn",
		`"arn:aws:iam::1:role/m"`)
	s.report(status("db", "present", "v1", ""))
	role := func() (string, string) {
		role, why := s.copyRole()
		return strings.TrimSpace(role.Name + " " + role.Operation), why
	}
	if got, why := role(); got != "" || why != "" {
		t.Errorf("before there is a cluster: %q, %q", got, why)
	}
	s.land("sandbox")
	if got, why := role(); got != "m secrets" || why != "" {
		t.Errorf("with a cluster: %q, %q", got, why)
	}
	s.stack["maintenance_iam_role_arn"] = json.RawMessage(`""`)
	const off = "the copy of secrets into the cluster runs under the role "
	if got, why := role(); got != "" || !strings.HasPrefix(why, off) {
		t.Errorf("with the role off: %q, %q", got, why)
	}
	for _, state := range []api.SecretStatusState{"missing", "unknown"} {
		s.report(status("db", state, "", ""))
		if why, stuck := s.secretProblem(&s.config.Secrets[0]); !strings.HasPrefix(why, "secret db is not checked: "+off) ||
			!stuck {
			t.Errorf("with the role off, a secret that is %s: %q", state, why)
		}
	}
}

// TestSecretsInRenderedTexts checks what nuon render shows of a text that reads a secret.
func TestSecretsInRenderedTexts(t *testing.T) {
	const text = "postgres://{{ .nuon.install.secrets.db }}@db"
	for want, s := range map[string]*snapshot{
		"postgres://" + sensitivePlaceholder + "@db":   withSecrets(text, status("db", "present", "v1", "")),
		"postgres://‹known after secret db is set›@db": withSecrets(text, status("db", "missing", "", "")),
	} {
		shown, err := newDisplay(s).Render(t.Context(), map[string]string{"x": text})
		if err != nil || len(shown) != 1 || shown[0].Text != want {
			t.Errorf("got %+v %v, want %s", shown, err, want)
		}
	}
}
