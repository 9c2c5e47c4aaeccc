package jobenv

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// started is an environment in which a runner may be started.
var started = []string{
	"PATH=/bin", "HOME=/home/x", "HTTPS_PROXY=http://proxy", "TZ=",
	"AWS_REGION=eu-1", "AWS_REGION=eu-2", "AWS_SECRET_ACCESS_KEY=/planted+aws", "AWS_WEB_IDENTITY_TOKEN_FILE=/var/token",
	"ARM_CLIENT_SECRET=planted-arm", "ARM_SUBSCRIPTION_ID=sub-1", "GOOGLE_APPLICATION_CREDENTIALS=/etc/google.json",
	`GOOGLE_CREDENTIALS={"type":"service_account","private_key":"planted-google-key"}`,
	"KUBECONFIG=/etc/kube", "VENDOR_API=planted-vendor",
	"NUON_REGISTRY_PASSWORD=planted-registry", "TF_LOG=TRACE", "TF_VAR_x=1", "SSH_AUTH_SOCK=/tmp/agent",
	"LD_PRELOAD=/x.so",
}

func names(environ []string) []string {
	var made []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		made = append(made, name)
	}
	return made
}

func TestForJob(t *testing.T) {
	identity := []string{"AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE", "ARM_CLIENT_SECRET",
		"ARM_SUBSCRIPTION_ID", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "KUBECONFIG"}
	reach := []string{"PATH", "HOME", "HTTPS_PROXY"}
	for name, test := range map[string]struct {
		install bool
		named   []string
		want    []string
	}{
		"install runner": {install: true, want: slices.Concat(reach, identity)},
		"install runner with a name": {install: true, named: []string{"VENDOR_API"},
			want: slices.Concat(reach, identity, []string{"VENDOR_API", VarPassEnv})},
		"build runner": {want: reach},
		"build runner with a name": {named: []string{"VENDOR_API"},
			want: slices.Concat(reach, []string{"VENDOR_API", VarPassEnv})},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, names(JobEnv(started, test.install, test.named))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUseRole checks that programs get the role of the job and not the runner's own identity in that cloud.
func TestUseRole(t *testing.T) {
	t.Setenv(varRole, "")
	if err := UseRole("aws", map[string]string{"AWS_CONTAINER_AUTHORIZATION_TOKEN": "planted"}); err != nil {
		t.Fatal(err)
	}
	job := append(JobEnv(started, true, []string{"VENDOR_API"}), varRole+"="+os.Getenv(varRole))
	made := ToolEnv(job)
	for name, want := range map[string]string{"AWS_REGION": "eu-1", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "planted",
		"AWS_SECRET_ACCESS_KEY": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "", "ARM_CLIENT_SECRET": "planted-arm",
		"VENDOR_API": "planted-vendor", varRole: ""} {
		if made[name] != want {
			t.Errorf("%s is %q, want %q", name, made[name], want)
		}
	}
	job[len(job)-1] = varRole + "={"
	for _, name := range []string{"AWS_REGION", "ARM_CLIENT_SECRET", "GOOGLE_CREDENTIALS"} {
		if ToolEnv(job)[name] != "" {
			t.Errorf("with a role that cannot be read a program gets %s", name)
		}
	}
}

func TestForTool(t *testing.T) {
	job := JobEnv(started, true, []string{"VENDOR_API", "NOT_SET"})
	made := ToolEnv(append(job, "NUON_JOB_TOKEN=planted", "TF_LOG=TRACE"))
	if made["AWS_REGION"] != "eu-1" || made["VENDOR_API"] != "planted-vendor" || made["PATH"] != "/bin" {
		t.Errorf("%v", made)
	}
	for name := range made {
		if strings.HasPrefix(name, "NUON_") || strings.HasPrefix(name, "TF_") || name == "NOT_SET" {
			t.Errorf("%s is passed on", name)
		}
	}
}

func TestSecrets(t *testing.T) {
	var got []string
	for _, secret := range Secrets(JobEnv(started, true, []string{"VENDOR_API"})) {
		got = append(got, string(secret))
	}
	want := []string{"/planted+aws", "planted-arm", `{"type":"service_account","private_key":"planted-google-key"}`,
		"planted-google-key", "planted-vendor"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProxyPasswords(t *testing.T) {
	var got []string
	for _, secret := range Secrets([]string{
		"HTTPS_PROXY=http://vera:planted%2Fone@proxy:3128", "http_proxy=vera:planted@two@proxy", "no_proxy=a:b@c",
		"HTTP_PROXY=http://proxy", "https_proxy=http://vera@proxy", "OTHER=http://a:b@c",
	}) {
		if len(secret) > 3 {
			got = append(got, string(secret))
		}
	}
	if diff := cmp.Diff([]string{"planted%2Fone", "planted/one", "planted@two"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTarget(t *testing.T) {
	want := map[string]string{"AWS_REGION": "eu-1", "ARM_SUBSCRIPTION_ID": "sub-1", "KUBECONFIG": "/etc/kube"}
	if diff := cmp.Diff(want, Target(started)); diff != "" {
		t.Error(diff)
	}
}

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"VENDOR_API": "", "_x": "", "": "not the name", "A=B": "without its value", "A,B": "not the name",
		"TF_LOG": "sets the variables", "NUON_KEY_FILE": "sets the variables",
	} {
		err := CheckName(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
