package kubernetes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nuon-toolkit/nuon/diff"
	"github.com/nuon-toolkit/nuon/diff/kubernetes"
	"github.com/nuon-toolkit/nuon/diff/kubernetes/manifest"
)

// The rendered manifests of a Deployment and of a Service, and a server's answers for them.
const (
	webRendered = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "shop/web:2"}]}
`
	webAnswer = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web}
  uid: UID
  resourceVersion: "VERSION"
  generation: 4
  creationTimestamp: "2026-02-01T10:00:00Z"
  managedFields: [{manager: nuon-runner, operation: Apply, time: "TIME", fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}}}}}]
  annotations: {deployment.kubernetes.io/revision: "3"}
spec:
  replicas: REPLICAS
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: "shop/web:TAG", imagePullPolicy: IfNotPresent, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
status: {observedGeneration: 4, readyReplicas: READY}
`
	serviceRendered = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
`
	serviceAnswer = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: UID, creationTimestamp: "TIME", labels: {mesh: injected}}
spec:
  clusterIP: 10.0.0.READY
  clusterIPs: [10.0.0.READY]
  internalTrafficPolicy: Cluster
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  selector: {app: web}
  sessionAffinity: None
  type: ClusterIP
  ports: [{port: 80, protocol: TCP, targetPort: 80}]
status: {loadBalancer: {}}
`
)

// told replaces the placeholders for values that differ between two answers of a server.
func told(template string, pairs ...string) string {
	defaults := []string{"UID", "0d1c9a1e", "VERSION", "1", "TIME", "2026-02-01T10:00:00Z", "REPLICAS", "1", "READY", "1",
		"TAG", "2"}
	return strings.NewReplacer(append(pairs, defaults...)...).Replace(template)
}

// asked returns a report against a cluster, with the server's answer.
func asked(t *testing.T, before, after, live, answer string, o kubernetes.Options) *diff.Report {
	t.Helper()
	o.ThreeWay, o.Live, o.Answers = true, source("live", []byte(live)), source("answer", []byte(answer))
	return compare(t, before, after, o)
}

func fieldPaths(c diff.Change) (out []string) {
	for _, f := range c.Fields {
		if f.Fold == "" {
			out = append(out, f.Path)
		}
	}
	return out
}

// fieldTexts returns the visible fields with their new values.
func fieldTexts(c diff.Change) string {
	var out []string
	for _, f := range c.Fields {
		if f.Fold == "" {
			out = append(out, f.Path+"="+f.After.Text)
		}
	}
	return strings.Join(out, " ")
}

// TestAnsweredCreate checks that the report shows the written fields and
// those that admission adds, and not those that every server defaults.
func TestAnsweredCreate(t *testing.T) {
	r := asked(t, "", serviceRendered, "", told(serviceAnswer), kubernetes.Options{})
	if len(r.Changes) != 1 || r.Changes[0].Action != diff.Create {
		t.Fatalf("got %+v", r.Changes)
	}
	if got, want := fieldTexts(r.Changes[0]),
		`metadata.labels.mesh=injected spec={"ports":[{"port":80}],"selector":{"app":"web"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(r.Folded) != 0 {
		t.Errorf("what the server fills in is counted: %v", r.Folded)
	}
	other := asked(t, "", serviceRendered, "", told(serviceAnswer, "UID", "ffff", "READY", "77", "TIME",
		"2027-01-01T10:00:00Z"), kubernetes.Options{})
	if r.Digest() != other.Digest() {
		t.Error("another address and uid of the same Service is another report")
	}
}

// TestMadeUpByTheServer checks that values that differ between two answers to
// one request are left out.
func TestMadeUpByTheServer(t *testing.T) {
	const rendered = `
apiVersion: v1
kind: Pod
metadata: {name: task, namespace: shop}
spec: {containers: [{name: task, image: "a:1"}]}
`
	answer := func(suffix string) string {
		return `
apiVersion: v1
kind: Pod
metadata: {name: task, namespace: shop, annotations: {stamp: "` + suffix + `"}}
spec:
  containers: [{name: task, image: "a:1", volumeMounts: [{name: kube-api-access-` + suffix +
			`, mountPath: /var/run/x}]}]
  volumes: [{name: kube-api-access-` + suffix + `, emptyDir: {}}, {name: proxy, emptyDir: {}}]
`
	}
	report := func(a, b string) *diff.Report {
		return asked(t, "", rendered, "", answer(a), kubernetes.Options{AnswersAgain: source("again", []byte(answer(b)))})
	}
	one, two := report("abc", "def"), report("ghi", "jkl")
	if one.Digest() != two.Digest() {
		t.Error("what the server makes up counts")
	}
	want := `spec={"containers":[{"image":"a:1","name":"task","volumeMounts":[{"mountPath":"/var/run/x"}]}],"volumes":[{"emptyDir":{},"name":"proxy"}]}`
	if got := fieldTexts(one.Changes[0]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestAnsweredUpdate checks that a field that an apply leaves is in both live
// and answer, and one that it removes in neither.
func TestAnsweredUpdate(t *testing.T) {
	live := told(strings.Replace(webAnswer, "labels: {app: web}", "labels: {app: web, old: gone, theirs: stays}", 1),
		"TAG", "1", "READY", "3")
	answer := told(strings.Replace(webAnswer, "labels: {app: web}", "labels: {app: web, theirs: stays}", 1),
		"VERSION", "2")
	r := asked(t, webRendered, webRendered, live, answer, kubernetes.Options{Manager: "nuon-runner"})
	if len(r.Changes) != 1 || r.Changes[0].Action != diff.Update {
		t.Fatalf("got %+v", r.Changes)
	}
	want := []string{"metadata.labels.old", "spec.template.spec.containers[web].image"}
	if got := fieldPaths(r.Changes[0]); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(r.Folded) != 0 {
		t.Errorf("what the server fills in is counted: %v", r.Folded)
	}
	written := strings.NewReplacer("readyReplicas: 3", "readyReplicas: 2, updatedReplicas: 1", "generation: 4",
		"generation: 9", `"3"`, `"4"`,
		`time: "2026-02-01T10:00:00Z"`, `time: "2026-02-02T10:00:00Z"`).Replace(live)
	if later := asked(t, webRendered, webRendered, written, answer,
		kubernetes.Options{Manager: "nuon-runner"}); later.Digest() != r.Digest() {
		t.Error("a status write makes another report")
	}
	edited := strings.Replace(live, "image: \"shop/web:1\"", "image: \"shop/web:edited\"", 1)
	if later := asked(t, webRendered, webRendered, edited, answer,
		kubernetes.Options{Manager: "nuon-runner"}); later.Digest() == r.Digest() {
		t.Error("an edit of what is compared makes no other report")
	}
	if same := asked(t, webRendered, webRendered, answer, answer, kubernetes.Options{}); same.Applyable ||
		len(same.Changes)+len(same.Drift) > 0 {
		t.Errorf("nothing differs, and there are %+v %+v", same.Changes, same.Drift)
	}
}

// TestOwnNotesReadNoLabel checks that a chart label folds although the server
// and kubectl record it in the object itself.
func TestOwnNotesReadNoLabel(t *testing.T) {
	const object = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  namespace: shop
  labels: {helm.sh/chart: shop-VERSION}
NOTES
data: {color: red}
`
	const notes = `  managedFields: [{manager: nuon-runner, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:helm.sh/chart": {}}}}}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"metadata":{"labels":{"helm.sh/chart":"shop-1"}}}'}`
	made := func(version, notes string) string {
		return strings.NewReplacer("VERSION", version, "NOTES", notes).Replace(object)
	}
	r := asked(t, made("1", ""), made("2", ""), made("1", notes), made("2", notes),
		kubernetes.Options{Manager: "nuon-runner"})
	if len(r.Changes) != 1 || len(r.Changes[0].Fields) != 1 || r.Changes[0].Fields[0].Fold != "chart label" {
		t.Errorf("the label of the chart's version does not fold: %+v", r.Changes)
	}
}

// TestDriftIsByOthers checks that the result of an interrupted attempt of the applier is not
// reported as drift.
func TestDriftIsByOthers(t *testing.T) {
	const object = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop, managedFields: [
  {manager: nuon-runner, operation: Update, fieldsV1: {"f:data": {"f:color": {}}}},
  {manager: kubectl-edit, operation: Update, fieldsV1: {"f:data": {"f:size": {}}}}]}
data: {color: COLOR, size: SIZE}
`
	made := func(color, size string) string {
		return strings.NewReplacer("COLOR", color, "SIZE", size).Replace(object)
	}
	r := asked(t, made("red", "small"), made("blue", "small"), made("blue", "large"), made("blue", "small"),
		kubernetes.Options{Manager: "nuon-runner"})
	if len(r.Drift) != 1 || len(r.Drift[0].Fields) != 1 || r.Drift[0].Fields[0].Path != "data.size" {
		t.Errorf("by others: %+v", r.Drift)
	}
	r = asked(t, made("red", "small"), made("blue", "small"), made("blue", "small"), made("blue", "small"),
		kubernetes.Options{Manager: "nuon-runner"})
	if len(r.Drift) != 0 {
		t.Errorf("by others: %+v", r.Drift)
	}
}

// TestReplicasOfAnAutoscaler checks that the current replicas never change a
// report, whether the manifest sets them or not.
func TestReplicasOfAnAutoscaler(t *testing.T) {
	const scale = `managedFields: [{manager: kube-controller-manager, operation: Update, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}, {manager: nuon-runner,`
	live := func(n string) string {
		return told(strings.Replace(webAnswer, "managedFields: [{manager: nuon-runner,", scale, 1), "REPLICAS", n, "TAG", "1")
	}
	set := strings.Replace(webRendered, "spec:\n  selector", "spec:\n  replicas: 2\n  selector", 1)
	for _, c := range []struct{ name, rendered, answerTo5, answerTo9 string }{
		{"the manifest leaves them out", webRendered, told(webAnswer, "REPLICAS", "5"), told(webAnswer, "REPLICAS", "9")},
		{"the manifest sets them", set, told(webAnswer, "REPLICAS", "2"), told(webAnswer, "REPLICAS", "2")},
	} {
		t.Run(c.name, func(t *testing.T) {
			five := asked(t, c.rendered, c.rendered, live("5"), c.answerTo5, kubernetes.Options{})
			nine := asked(t, c.rendered, c.rendered, live("9"), c.answerTo9, kubernetes.Options{})
			if five.Digest() != nine.Digest() {
				t.Error("what the autoscaler does in the meantime makes another report")
			}
			if got := fieldPaths(five.Changes[0]); !slices.Equal(got, []string{"spec.template.spec.containers[web].image"}) {
				t.Errorf("got %q", got)
			}
			if got := fieldPaths(five.Drift[0]); !slices.Equal(got, []string{"spec.template.spec.containers[web].image"}) {
				t.Errorf("drift %q", got)
			}
			if told := has(five.Changes[0], kubernetes.RuleScaled); told != (c.rendered == set) {
				t.Errorf("that it is scaled by others is told: %v", told)
			}
		})
	}
	person := strings.Replace(live("5"), "manager: kube-controller-manager", "manager: kubectl", 1)
	r := asked(t, set, set, person, told(webAnswer, "REPLICAS", "2", "TAG", "1"), kubernetes.Options{})
	if len(r.Changes) != 1 || !slices.Equal(fieldPaths(r.Changes[0]), []string{"spec.replicas"}) {
		t.Errorf("what a person scaled is not set back: %+v", r.Changes)
	}
}

// TestReplicasThatTheAuthorChanges checks that another number in the manifest is shown although an
// autoscaler scales the object, and that the report is the same for any number that it sets.
func TestReplicasThatTheAuthorChanges(t *testing.T) {
	const scale = `managedFields: [{manager: kube-controller-manager, operation: Update, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}, {manager: nuon-runner,`
	live := func(n string) string {
		return told(strings.Replace(webAnswer, "managedFields: [{manager: nuon-runner,", scale, 1), "REPLICAS", n)
	}
	set := func(n string) string {
		return strings.Replace(webRendered, "spec:\n  selector", "spec:\n  replicas: "+n+"\n  selector", 1)
	}
	for _, before := range []string{webRendered, set("2")} {
		five := asked(t, before, set("0"), live("5"), told(webAnswer, "REPLICAS", "0"), kubernetes.Options{})
		nine := asked(t, before, set("0"), live("9"), told(webAnswer, "REPLICAS", "0"), kubernetes.Options{})
		if len(five.Changes) != 1 || fieldTexts(five.Changes[0]) != "spec.replicas=0" {
			t.Errorf("got %+v", five.Changes)
		}
		if five.Digest() != nine.Digest() {
			t.Error("what the autoscaler does in the meantime makes another report")
		}
	}
}

// TestLabelsOfAJob checks that the labels that the server chooses for the pods of a Job are left out,
// and those that the author writes are shown.
func TestLabelsOfAJob(t *testing.T) {
	const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: task, namespace: shop}
spec:
  SELECTOR
  template:
    metadata: {labels: {app: task LABELS}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "a:1"}]}
`
	made := func(selector, labels string) string {
		return strings.NewReplacer("SELECTOR", selector, "LABELS", labels).Replace(job)
	}
	chosen := func(uid string) string {
		return made("selector: {matchLabels: {controller-uid: "+uid+"}}", ", controller-uid: "+uid+", job-name: task")
	}
	for name, live := range map[string]string{"new": "", "existing": chosen("a")} {
		r := asked(t, made("", ""), made("", ""), live, chosen("b"), kubernetes.Options{})
		for _, c := range r.Changes {
			if got := fieldTexts(c); strings.Contains(got, "uid") || strings.Contains(got, "job-name") {
				t.Errorf("%s: got %s", name, got)
			}
		}
	}
	r := asked(t, "", made("", ", job-name: mine"), "", made("", ", job-name: mine"), kubernetes.Options{})
	if got := fieldTexts(r.Changes[0]); !strings.Contains(got, "mine") {
		t.Errorf("got %s", got)
	}
}

func has(c diff.Change, rule string) bool {
	return slices.ContainsFunc(c.Findings, func(f diff.Finding) bool { return f.Rule == rule })
}

// TestRegeneratedWithAnswers checks that the two renderings are compared, and
// the result is marked in the answer.
func TestRegeneratedWithAnswers(t *testing.T) {
	secret := func(password string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\nstringData: {password: " +
			password + "}\n"
	}
	stored := func(base64 string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop, uid: x}\ntype: Opaque\ndata: {password: " +
			base64 + "}\n"
	}
	r := asked(t, secret("aaaaaaaa1"), secret("bbbbbbbb2"), stored("YWFhYWFhYWEx"), stored("YmJiYmJiYmIy"),
		kubernetes.Options{Again: source("again", []byte(secret("cccccccc3")))})
	if len(r.Changes) != 1 || !r.Changes[0].Fields[0].Regenerated || !r.Changes[0].Fields[0].After.Masked {
		t.Errorf("got %+v", r.Changes)
	}
}

// TestFindings checks that the caller's findings are added to their change,
// or else to a note, and count in the digest.
func TestFindings(t *testing.T) {
	web := manifest.ID{Group: "apps", Kind: "Deployment", Name: "web"}
	o := kubernetes.Options{
		Namespace: "shop", Plain: true, Notes: []string{"two objects stay"},
		Findings: map[manifest.ID][]diff.Finding{
			web: {kubernetes.Unchecked("its namespace is created by this change"),
				kubernetes.TakesOver("spec.replicas", "kubectl")},
			{Kind: "Service", Namespace: "shop", Name: "other"}: {kubernetes.TakenFrom("component api")},
		},
	}
	r := asked(t, "", webRendered, "", "", o)
	if len(r.Changes) != 1 || !has(r.Changes[0], kubernetes.RuleUnchecked) ||
		!has(r.Changes[0], kubernetes.RuleTakesOver) || r.Changes[0].Risk != diff.RiskInPlace {
		t.Errorf("got %+v", r.Changes)
	}
	want := []string{"two objects stay", "shop/Service/other: the object belongs to component api, and this apply " +
		"takes it over"}
	if !slices.Equal(r.Notes, want) {
		t.Errorf("got %q, want %q", r.Notes, want)
	}
	o.Notes = nil
	if asked(t, "", webRendered, "", "", o).Digest() == r.Digest() {
		t.Error("a note does not count in the digest")
	}
	o.Notes, o.Findings = []string{"two objects stay"}, nil
	if asked(t, "", webRendered, "", "", o).Digest() == r.Digest() {
		t.Error("a finding does not count in the digest")
	}
	o.Notes, o.Secrets = []string{"it is hunter2hunter2"}, func(text string) bool {
		return strings.Contains(text, "hunter2")
	}
	o.Findings = map[manifest.ID][]diff.Finding{web: {kubernetes.Unchecked("hunter2hunter2")}}
	if r := asked(t, "", webRendered, "", "", o); strings.Contains(r.Notes[0]+r.Changes[0].Findings[0].Message,
		"hunter2") {
		t.Error("a secret is shown")
	}
}

// TestRecreated checks that an object that the server cannot change in place
// is replaced, with the caller's reason.
func TestRecreated(t *testing.T) {
	o := kubernetes.Options{Plain: true, Recreated: map[manifest.ID]string{
		{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}: "spec.selector is immutable",
	}}
	o.Answers = []manifest.Source{}
	o.ThreeWay, o.Live = true, source("live", []byte(told(webAnswer, "TAG", "1")))
	r := compare(t, webRendered, webRendered, o)
	if len(r.Changes) != 1 {
		t.Fatalf("got %+v", r)
	}
	c := r.Changes[0]
	if c.Action != diff.Replace || c.Order != diff.DestroyFirst || c.Why != "spec.selector is immutable" ||
		c.Risk < diff.RiskReplace || !r.Destructive() {
		t.Errorf("got %+v", c)
	}
	o.Live = source("live", []byte(strings.Replace(told(webAnswer, "TAG", "1"), "status: {", "status: {more: 1, ", 1)))
	if compare(t, webRendered, webRendered, o).Digest() != r.Digest() {
		t.Error("a status write makes another report")
	}
}

// TestPlainKnowsNoHelm checks that Helm's annotations have no special meaning with Plain.
func TestPlainKnowsNoHelm(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop, annotations: {helm.sh/hook: " +
		"pre-install, helm.sh/resource-policy: keep}}\n"
	r := compare(t, "", object, kubernetes.Options{Plain: true})
	if len(r.Changes) != 1 || r.Changes[0].Action != diff.Create || r.Changes[0].Hook != "" {
		t.Errorf("it comes as %+v", r)
	}
	r = compare(t, object, "", kubernetes.Options{Plain: true, ThreeWay: true, Live: source("live", []byte(object))})
	if len(r.Changes) != 1 || r.Changes[0].Action != diff.Destroy {
		t.Errorf("it goes as %+v", r)
	}
}
