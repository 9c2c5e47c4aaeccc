// Package runnerchart tests the Helm chart that installs the runner (runnerd/chart): that it renders and passes
// `helm lint`, that an API server accepts its objects, and that a runner that is started as its Deployment says
// registers.
package runnerchart

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nuon-toolkit/nuon/examples/internal/fleet"
	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/pkg/artifact"
	"github.com/nuon-toolkit/nuon/pkg/testbuffer"
	"github.com/nuon-toolkit/nuon/pkg/testtime"
	"github.com/nuon-toolkit/nuon/pkg/version"
	"github.com/nuon-toolkit/nuon/runnerd/cluster"
	"github.com/nuon-toolkit/nuon/runnerd/cluster/clustertest"
	"github.com/nuon-toolkit/nuon/runnerd/helmsdk"
	"github.com/nuon-toolkit/nuon/runnerd/policy"
)

// directory is the chart.
const directory = "../../../runnerd/chart"

// values are the values of an installation, with others added.
func values(others map[string]any) map[string]any {
	made := map[string]any{
		"url":          "https://runners.example.com",
		"image":        map[string]any{"repository": "registry.example.com/nuon/runnerd"},
		"registration": map[string]any{"existingSecret": "vendor"},
	}
	maps.Copy(made, others)
	return made
}

// everything are values that render everything that the chart has.
func everything() map[string]any {
	return values(map[string]any{
		"install":          "ins_1",
		"imagePullSecrets": []any{map[string]any{"name": "pull"}},
		"image": map[string]any{"repository": "registry.example.com/nuon/runnerd",
			"digest": "sha256:" + strings.Repeat("a", 64)},
		"registration": map[string]any{"token": "nuon_reg_x"},
		"registry": map[string]any{"repository": "registry.example.com/acme/shop", "existingSecret": "registry",
			"plainHTTP": true},
		"runnerFile": "jobs = [\"sync\", \"plan\"]\n",
		"env":        []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"}},
		"passEnv":    []any{"ACME_MODE"},
		"serviceAccount": map[string]any{"annotations": map[string]any{
			"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/r"}},
		"rbac": map[string]any{
			"clusterRules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"namespaces"},
				"verbs": []any{"get", "create"}}},
			"clusterRoles": []any{"view"},
		},
		"executor": map[string]any{"enabled": true, "nodeSelector": map[string]any{"kubernetes.io/os": "linux"},
			"serviceAccounts": map[string]any{
				"plan": map[string]any{"clusterRoles": []any{"view"}},
				"apply": map[string]any{"annotations": map[string]any{
					"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/apply"}},
				"debug_command": map[string]any{},
			}},
		"nodeSelector":   map[string]any{"kubernetes.io/os": "linux"},
		"tolerations":    []any{map[string]any{"operator": "Exists"}},
		"podAnnotations": map[string]any{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
	})
}

// render renders the chart in a namespace.
func render(t *testing.T, namespace string, with map[string]any) ([]*unstructured.Unstructured, error) {
	t.Helper()
	files, err := artifact.ReadDir(directory, artifact.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	chart, err := helmsdk.LoadChart(files)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := helmsdk.RenderOffline(t.Context(), chart,
		helmsdk.RenderRequest{Release: "acme", Namespace: namespace, Values: with, Revision: 1}, "", nil)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(rendered.Manifest, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, document)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// objectOf returns the only object of a kind, as its type.
func objectOf[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) (typed T) {
	t.Helper()
	found := slices.DeleteFunc(slices.Clone(objects),
		func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
	if len(found) != 1 {
		t.Fatalf("the chart has %d objects of kind %s", len(found), kind)
	}
	text, err := yaml.Marshal(found[0].Object)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &typed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return typed
}

func TestLint(t *testing.T) {
	for name, with := range map[string]map[string]any{"few values": values(nil), "everything": everything()} {
		for _, message := range lint.AllWithKubeVersion(directory, with, "runners", nil).Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, message)
			}
		}
	}
}

// TestRightsOfTheRunner checks that the runner has no right in the cluster unless a value gives it one, and none on its
// machine.
func TestRightsOfTheRunner(t *testing.T) {
	objects, err := render(t, "runners", values(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GroupVersionKind().Group == "rbac.authorization.k8s.io" || object.GetKind() == "Secret" {
			t.Errorf("the chart makes %s %s", object.GetKind(), object.GetName())
		}
	}
	deployment := objectOf[appsv1.Deployment](t, objects, "Deployment")
	if *deployment.Spec.Replicas != 1 || deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("two runners may share a directory: %+v", deployment.Spec.Strategy)
	}
	pod := deployment.Spec.Template.Spec
	security := pod.Containers[0].SecurityContext
	if !*pod.SecurityContext.RunAsNonRoot || *security.AllowPrivilegeEscalation || !*security.ReadOnlyRootFilesystem ||
		!slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the pod may do more than it has to: %+v, %+v", pod.SecurityContext, security)
	}
	if image := pod.Containers[0].Image; image != "registry.example.com/nuon/runnerd:"+version.Number {
		t.Errorf("the image is %s", image)
	}
}

// TestRightsOfTheExecutor checks that the runner gets the rights that docs/executors.md lists if it runs jobs as pods.
func TestRightsOfTheExecutor(t *testing.T) {
	objects, err := render(t, "runners", values(map[string]any{"executor": map[string]any{"enabled": true}}))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/executors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\napiVersion")
	text, _, _ = strings.Cut(text, "```")
	listed := map[string]rbacv1.ClusterRole{}
	for document := range strings.SplitSeq("apiVersion"+text, "\n---\n") {
		var object rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		listed[object.Kind] = object
	}
	for _, kind := range []string{"Role", "ClusterRole"} {
		rules := objectOf[rbacv1.ClusterRole](t, objects, kind).Rules
		if diff := cmp.Diff(listed[kind].Rules, rules); diff != "" || len(rules) == 0 {
			t.Errorf("the rules of the %s are not those of the docs:\n%s", kind, diff)
		}
	}
}

// TestAccountsOfJobs checks that the runner file that the chart writes names the accounts and the claim that it makes.
func TestAccountsOfJobs(t *testing.T) {
	objects, err := render(t, "runners", everything())
	if err != nil {
		t.Fatal(err)
	}
	text := objectOf[corev1.ConfigMap](t, objects, "ConfigMap").Data["runner.toml"]
	file, err := policy.Parse("runner.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for _, object := range objects {
		names[object.GetKind()] = append(names[object.GetKind()], object.GetName())
	}
	if file.Executor.Kind != policy.ExecutorKubernetes || len(file.Jobs) != 2 ||
		!slices.Contains(names["PersistentVolumeClaim"], file.Executor.Claim) {
		t.Errorf("the runner file is %+v, and the claims are %v", file, names["PersistentVolumeClaim"])
	}
	accounts := slices.Sorted(maps.Values(file.Executor.ServiceAccounts))
	made := slices.DeleteFunc(names["ServiceAccount"], func(name string) bool { return name == "acme-nuon-runner" })
	if diff := cmp.Diff(made, accounts); diff != "" || len(accounts) != 3 {
		t.Errorf("the accounts of the chart and of the runner file (-chart +file):\n%s", diff)
	}
	if !slices.Contains(names["ClusterRoleBinding"], "runners-acme-nuon-runner-plan-view") {
		t.Errorf("the account of plans is not bound: %v", names["ClusterRoleBinding"])
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		change map[string]any
		want   string
	}{
		"no address":        {map[string]any{"url": ""}, "url"},
		"an address's path": {map[string]any{"url": "https://runners.example.com/runner"}, "url"},
		"no image":          {map[string]any{"image": map[string]any{}}, "repository"},
		"no token":          {map[string]any{"registration": map[string]any{"existingSecret": ""}}, "nuon runners create"},
		"two executors": {map[string]any{"runnerFile": "[executor]\nkind = \"process\"\n",
			"executor": map[string]any{"enabled": true}}, "keep one of them"},
		"an unknown job": {map[string]any{"executor": map[string]any{"serviceAccounts": map[string]any{
			"deploy": map[string]any{}}}}, "debug_command"},
		"a misspelled value": {map[string]any{"runnerfile": "enabled = false"}, "runnerfile"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, "runners", values(test.change))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestInstalledInACluster checks that an API server accepts every object, with nothing that it does not know.
func TestInstalledInACluster(t *testing.T) {
	c := clustertest.Open(t)
	namespace := clustertest.Namespace(t, c)
	with := everything()
	with["rbac"].(map[string]any)["namespaces"] = map[string]any{namespace: []any{"edit"}}
	objects, err := render(t, namespace, with)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		forCluster := strings.HasPrefix(object.GetKind(), "Cluster")
		if !forCluster && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		ref := cluster.RefOf(object)
		resource, err := c.Resource(ref)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resource.Create(t.Context(), object, metav1.CreateOptions{FieldValidation: "Strict"}); err != nil {
			t.Fatalf("create %s: %v", cluster.DisplayName(ref), err)
		}
		if forCluster {
			t.Cleanup(func() { clustertest.Delete(t, c, ref) })
		}
	}
	clustertest.AwaitPermission(t, c, "system:serviceaccount:"+namespace+":acme-nuon-runner", "create", "configmaps",
		namespace)
	deployment := api.ObjectRef{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: namespace,
		Name: "acme-nuon-runner"}
	clustertest.Create(t, c, namespace, "apiVersion: v1\nkind: Secret\nmetadata: {name: registry}\n"+
		"stringData: {username: acme, password: secret}\n")
	testtime.Until(t, "the pod of the runner is there", func() bool {
		ready, _, _ := unstructured.NestedInt64(clustertest.Get(t, c, deployment).Object, "status", "readyReplicas")
		return ready == 1
	})
}

// TestStartAsTheDeploymentSays starts runnerd with the arguments and the environment of the rendered pod. Only the
// directories and the address are others.
func TestStartAsTheDeploymentSays(t *testing.T) {
	bin, err := fleet.Programs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Path + " " + r.Header.Get("Authorization"):
		default:
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	with := everything()
	with["url"] = server.URL
	objects, err := render(t, "runners", with)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "etc/nuon/runner.toml"),
		objectOf[corev1.ConfigMap](t, objects, "ConfigMap").Data["runner.toml"])
	write(t, filepath.Join(root, "etc/nuon-registry/password"), "secret\n")
	write(t, filepath.Join(root, "var/lib/nuon/.keep"), "")
	container := objectOf[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec.Containers[0]
	command := exec.CommandContext(t.Context(), filepath.Join(bin, "runnerd"))
	for _, argument := range container.Args {
		for _, directory := range []string{"/var/lib/nuon", "/etc/nuon", "/etc/nuon-registry"} {
			if name, path, _ := strings.Cut(argument, "="); strings.HasPrefix(path, directory+"/") {
				argument = name + "=" + root + path
				break
			}
		}
		command.Args = append(command.Args, argument)
	}
	secrets := map[string]string{"username": "acme",
		"token": objectOf[corev1.Secret](t, objects, "Secret").StringData["token"]}
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root}
	for _, variable := range container.Env {
		value := variable.Value
		if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
			value = secrets[variable.ValueFrom.SecretKeyRef.Key]
		}
		if !strings.HasSuffix(variable.Name, "_PROXY") {
			command.Env = append(command.Env, variable.Name+"="+value)
		}
	}
	var output testbuffer.Buffer
	command.Stdout, command.Stderr = &output, &output
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }() // waits for the program
	select {
	case first := <-asked:
		if first != "/runner/v1/register/challenge Bearer nuon_reg_x" {
			t.Errorf("it asks for %s", first)
		}
	case err := <-ended:
		t.Fatalf("runnerd %s ended: %v\n%s", strings.Join(command.Args[1:], " "), err, output.String())
	case <-testtime.After():
		t.Fatalf("it does not register:\n%s", output.String())
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = testtime.Receive(t, ended, "runnerd ends")
}

// write writes a file, and the directories above it.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
